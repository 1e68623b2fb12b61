"""What papers A and B say of errors and costs: bounds, complexity, and the sizes that noise is held
against.
"""

from math import sqrt

from tacit_papers.a.bounds import BoundRow, RoundCostRow, ScaleRow
from tacit_papers.a.measurements import TableRow
from tacit_papers.a.published import EPSILONS
from tacit_papers.a.splitting import SplitRow
from tacit_papers.claims import Judge, Rows, Statement, percent
from tacit_papers.shared.first_learner import FirstRow

PRINTED_SCALES = {
    ("mnist", "l2"): 1.01,
    ("fashion", "l2"): 1.12,
    ("synthetic", "l2"): 0.5,
    ("mnist", "impurity"): 0.2,
    ("fashion", "impurity"): 0.17,
    ("synthetic", "impurity"): 0.3,
}
_WHAT = {
    "l2": ("Table II", "the classes' centroids are apart"),
    "impurity": ("Table III", "the impurities of two features differ on average by"),
}
_APART = "visual words fitted anew: patches that cross-validation chooses set classes farther apart"
_FACTOR = 1.5  # up to which a ratio counts as that of the bound


def bound_statements() -> list[Statement]:
    """In the order of the paper."""
    found = [
        Statement(
            "section III-B",
            f"the error of a mean grows with sqrt(d log d) / (epsilon sqrt(H)): over {varied}, "
            f"the ratio changes by less than {_FACTOR:g} times",
            "",
            _judge_bound(varied),
        )
        for varied in ("dimensions", "owners", "epsilon")
    ]
    found += [
        Statement(
            "section III-B",
            "an owner that takes part in all m rounds, with epsilon / m in each, adds m times the "
            "noise (m = 4, within a quarter)",
            "4",
            _times,
        ),
        Statement(
            "section V-A",
            "a round of centroids costs O(N H d): four times the dimensions or four times the "
            "owners take 2.5 to 6 times as long",
            "",
            _linear,
        ),
    ]
    for (dataset, measure), stated in PRINTED_SCALES.items():
        where, text = _WHAT[measure]
        judge = _scale(dataset, measure, stated)
        why = _APART if dataset != "synthetic" else "another draw of make_classification"
        statement = f"{dataset}: {text}, within 25 %"
        found.append(
            Statement(
                where, statement, f"{stated:g}", judge=judge, caution=why, reason="data replaced"
            )
        )
    text = (
        "hypothesis: where the error of coefficients is below their size, a regression through "
        "Piecewise is as accurate as without privacy (5 points)"
    )
    why = "what counts is the direction: coefficients that lie apart by their size still agree"
    return [
        *_splitting(),
        *found,
        Statement(
            "section V-C",
            text,
            "",
            judge=_hypothesis,
            caution=why,
            reason="paper contradicts itself",
        ),
    ]


def _splitting() -> list[Statement]:
    """What sampling attributes saves."""
    return [
        Statement(
            "section II-D",
            "sampling attributes (Algorithm 3) has less noise than epsilon / d for each of them, "
            "with any number of dimensions",
            "",
            _less_than_split,
        ),
        Statement(
            "section II-D",
            "the noise of epsilon / d for each attribute grows faster than d, that of Algorithm 3 "
            "slower (16 times the dimensions)",
            "16",
            _super_linear,
        ),
    ]


def _splits(rows: Rows) -> list[SplitRow]:
    return sorted(rows.of(SplitRow), key=lambda row: row.dimensions)


def _less_than_split(rows: Rows) -> tuple[bool, str]:
    own = _splits(rows)
    told = "; ".join(f"{row.dimensions}: {row.sampled:.3g}, {row.split:.3g}" for row in own)
    return all(row.sampled < row.split for row in own), told


def _super_linear(rows: Rows) -> tuple[bool, str]:
    few, *_, many = _splits(rows)
    split, sampled = many.split / few.split, many.sampled / few.sampled
    return sampled < many.dimensions / few.dimensions < split, f"{split:.1f}, {sampled:.1f}"


def _judge_bound(varied: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = sorted(rows.of(BoundRow, varied=varied), key=lambda row: row.at)
        ratios = [row.error / row.bound for row in own]
        told = ", ".join(f"{row.at:g}: {ratio:.2f}" for row, ratio in zip(own, ratios, strict=True))
        return max(ratios) < _FACTOR * min(ratios), told

    return judge


def _times(rows: Rows) -> tuple[bool, str]:
    errors = {row.epsilon: row.error for row in rows.of(BoundRow, varied="epsilon")}
    ratio = errors[0.25] / errors[1.0]
    return 3 <= ratio <= 5, f"{ratio:.2f}"


def _linear(rows: Rows) -> tuple[bool, str]:
    own = rows.of(RoundCostRow)
    least = min(own, key=lambda row: (row.dimensions, row.owners))
    ratios = [row.seconds / least.seconds for row in own if row != least]
    size = f"; {least.bytes} bytes of {least.dimensions} numbers"
    return all(2.5 <= ratio <= 6 for ratio in ratios), ", ".join(
        f"{ratio:.1f}" for ratio in ratios
    ) + size


def _scale(dataset: str, measure: str, stated: float) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        value = rows.one(ScaleRow, dataset=dataset, measure=measure).value
        return abs(value - stated) <= 0.25 * stated, f"{value:.3g}"

    return judge


def _hypothesis(rows: Rows) -> tuple[bool, str]:
    """Over data sets and epsilon: in how many of the cells where it speaks it is right."""
    right, told = [], []
    for dataset in ("mnist", "fashion", "brazil"):
        size = rows.one(ScaleRow, dataset=dataset, measure="theta").value
        lines = {
            row.epsilon: row.mean
            for row in rows.of(
                FirstRow,
                paper="a",
                where="Table IV, Fig. 9",
                dataset=dataset,
                variant="as published",
            )
            if row.mechanism in ("piecewise", "none")
        }
        for epsilon in EPSILONS:
            error = rows.one(
                TableRow,
                table="IV",
                dataset=dataset,
                mechanism="piecewise",
                epsilon=epsilon,
                measure="mse",
            ).mean
            if sqrt(error) < size:
                right.append(lines[epsilon] >= lines[None] - 0.05)
                told.append(f"{dataset} {epsilon:g}: {percent(lines[epsilon], lines[None])}")
    return bool(right) and all(right), f"{sum(right)} of {len(right)}: " + "; ".join(told)
