"""What paper B says of boosting by sums over all owners (Figs. 7, 10, 11) and of hitting rates
(Figs. 8 and 9).
"""

from math import sqrt

from tacit_papers.b.hits import HitRow
from tacit_papers.b.published import HITS
from tacit_papers.claims import Judge, Mean, Reason, Rows, Statement, climbs, percent
from tacit_papers.shared.curves import CurveRow, errs_less

CAUTIONS = {
    "mnist": "visual words fitted anew; one regression per digit, each with all of epsilon",
    "fashion": "two classes of ten: the training images of the others are not at hand",
    "brazil": "the census is generated, with a tenth of the owners; paper A has the same numbers "
    "as root mean squares",
    "synthetic": "another draw of make_classification",
}

_CUTS = "attributes are cut at the median, which is nearest to the stated rates (How we read it)"
REASONS: dict[str, Reason] = {
    "mnist": "tolerance",
    "fashion": "data replaced",
    "brazil": "data replaced",
    "synthetic": "tolerance",
}


def boosting_statements() -> list[Statement]:
    """Regressions, centroids, hitting rates, stumps."""
    return [*_boosted_regressions(), *_centroid_curves(), *_hits(), *_stump_curves()]


def _boosted_regressions() -> list[Statement]:
    text = "MNIST: boosting brings regressions nothing (less than 2 points), "
    gain = "averaging the votes of noisy regressions takes noise out: here they do gain"
    return [
        Statement("section 4.1", text + "without privacy", "", _no_gain(None)),
        Statement(
            "section 4.1",
            text + "with it",
            "",
            judge=_no_gain(5.0),
            caution=gain,
            reason="ours better",
        ),
    ]


def _no_gain(epsilon: float | None) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        mechanism = "none" if epsilon is None else "piecewise"
        own = _line(rows, "mnist", "logistic", epsilon, mechanism)
        first, last, boosted = own[0], own[-1], len([row for row in own if row.reached]) > 1
        return boosted and first.mean - last.mean < 0.02, percent(first.mean, last.mean)

    return judge


def _ends(
    rows: Rows, dataset: str, learner: str, epsilon: float | None, mechanism: str
) -> tuple[CurveRow, CurveRow]:
    own = _line(rows, dataset, learner, epsilon, mechanism)
    return own[0], own[-1]


def _line(
    rows: Rows, dataset: str, learner: str, epsilon: float | None, mechanism: str
) -> list[CurveRow]:
    """By the number of base learners."""
    own = rows.of(
        CurveRow,
        paper="b",
        dataset=dataset,
        learner=learner,
        variant="as published",
        mechanism=mechanism,
        epsilon=epsilon,
    )
    return sorted(own, key=lambda row: row.learners)


def _centroid_curves() -> list[Statement]:
    found = []
    for dataset in ("mnist", "fashion", "brazil"):
        text = f"{dataset}: without noise boosting gains 3 to 4 points (2 to 6 here)"
        found.append(
            Statement(
                "Fig. 7",
                text,
                "3 to 4",
                judge=_gains(dataset),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
        for epsilon in (3.0, 5.0):
            text = (
                f"{dataset}, epsilon {epsilon:g}: boosted centroids err less than the first (two "
                "standard errors)"
            )
            found.append(
                Statement(
                    "Fig. 7",
                    text,
                    "",
                    judge=_less(dataset, "centroid", epsilon),
                    caution=CAUTIONS[dataset],
                    reason=REASONS[dataset],
                )
            )
    return found


def _gains(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        first, last = _ends(rows, dataset, "centroid", None, "none")
        gain = first.mean - last.mean
        return 0.02 <= gain <= 0.06, percent(first.mean, last.mean)

    return judge


def _less(dataset: str, learner: str, epsilon: float | None) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        first, last = _ends(
            rows, dataset, learner, epsilon, "none" if epsilon is None else "piecewise"
        )
        return errs_less(last, first), percent(first.mean, last.mean)

    return judge


def _hits() -> list[Statement]:
    found = []
    for (dataset, epsilon, k), stated in HITS.items():
        figure = "Fig. 8" if dataset == "mnist" else "Fig. 9"
        text = (
            f"{dataset}, epsilon {epsilon:g}: top-{k} hitting rate of Piecewise, within 15 points"
        )
        found.append(
            Statement(
                figure,
                text,
                percent(stated),
                judge=_judge_hit(dataset, epsilon, k, stated),
                caution=_CUTS,
                reason=REASONS[dataset],
            )
        )
    for dataset, figure in (("mnist", "Fig. 8"), ("synthetic", "Fig. 9")):
        text = (
            f"{dataset}: hitting rates rise with epsilon, through Piecewise and through Duchi (two "
            "standard errors)"
        )
        caution = "as far as a hundred runs can tell; a rate of 100 % cannot rise"
        found.append(Statement(figure, text, "", _hits_rise(dataset), caution))
    return found


def _judge_hit(dataset: str, epsilon: float, k: int, stated: float) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        row = rows.one(
            HitRow, dataset=dataset, variant="as published", mechanism="piecewise", epsilon=epsilon
        )
        rate = row.top1 if k == 1 else row.top3
        return abs(rate - stated) <= 0.15, percent(rate)

    return judge


def _hits_rise(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        told, rising = [], []
        for mechanism in ("piecewise", "duchi"):
            own = rows.of(HitRow, dataset=dataset, variant="as published", mechanism=mechanism)
            own.sort(key=lambda row: row.epsilon or 0.0)
            for rates in ([row.top1 for row in own], [row.top3 for row in own]):
                rising.append(climbs([_rate(rate, own[0].runs) for rate in rates]))
                told.append(percent(*rates))
        return all(rising), "; ".join(told)

    return judge


def _rate(rate: float, runs: int) -> Mean:
    """The share of runs that hit, each of which does or does not."""
    return Mean(rate, sqrt(rate * (1 - rate)), runs)


def _stump_curves() -> list[Statement]:
    found = []
    for dataset, figure in (("mnist", "Fig. 10"), ("synthetic", "Fig. 11")):
        text = (
            f"{dataset}: boosted stumps err less than the first, without privacy (two standard "
            "errors)"
        )
        found.append(
            Statement(
                figure,
                text,
                "",
                judge=_less(dataset, "stump", None),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
        for epsilon in (3.0, 5.0):
            text = (
                f"{dataset}, epsilon {epsilon:g}: private stumps are like as many without "
                "privacy, from two to ten of them, within 5 points"
            )
            found.append(
                Statement(
                    figure,
                    text,
                    "",
                    judge=_similar(dataset, epsilon),
                    caution=CAUTIONS[dataset],
                    reason=REASONS[dataset],
                )
            )
    return found


def _similar(dataset: str, epsilon: float) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = _line(rows, dataset, "stump", epsilon, "piecewise")[1:]
        free = _line(rows, dataset, "stump", None, "none")[1:]
        gaps = [one.mean - other.mean for one, other in zip(own, free, strict=True)]
        told = (
            f"{percent(own[0].mean, own[-1].mean)} against {percent(free[0].mean, free[-1].mean)}"
        )
        return max(map(abs, gaps)) <= 0.05, told

    return judge
