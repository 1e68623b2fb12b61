"""What paper B says of Table 2 and of first base learners (Figs. 2 to 6)."""

from collections.abc import Callable
from math import log, sqrt

from tacit_papers.a.published import EPSILONS
from tacit_papers.b.boosting_claims import CAUTIONS, REASONS, boosting_statements
from tacit_papers.b.published import published_square
from tacit_papers.claims import (
    Judge,
    Reason,
    Rows,
    Statement,
    average,
    exceeds,
    falls,
    percent,
    unit_factor,
)
from tacit_papers.shared.first_learner import MECHANISMS, FirstRow

_SETS = ("mnist", "fashion", "brazil")
_FACTOR = 0.25
_SLACK = 0.01  # of accuracy, where lines meet
_AHEAD = (
    " (behind nowhere by a point, ahead on average over epsilon by more than two standard errors)"
)
_SURE = 4  # standard errors: no ten runs give that
_FORMULA = (
    "what noise does is known in closed form, and does not depend on the images; the printed ratio "
    "of Duchi to Piecewise is half of what both laws, and paper A's Table IV, have"
)


def statements_b() -> list[Statement]:
    """All of them, in the paper's order."""
    return [*_table(), *_regressions(), *_centroids(), *boosting_statements()]


def _firsts(rows: Rows, where: str, dataset: str, mechanism: str) -> list[FirstRow]:
    """As published through a mechanism, by epsilon, then by owners."""
    own = rows.of(
        FirstRow,
        paper="b",
        where=where,
        dataset=dataset,
        variant="as published",
        mechanism=mechanism,
    )
    return sorted(own, key=lambda row: (row.epsilon or 0.0, row.owners))


def _table(where: str = "Table 2, Fig. 2") -> list[Statement]:
    found = []
    for dataset in _SETS:
        for mechanism in MECHANISMS:
            values = [published_square(dataset, mechanism, epsilon) for epsilon in EPSILONS]
            text = (
                f"{dataset}, {mechanism}: five mean squared errors in the unit of the Laplace row, "
                f"within {_FACTOR:.0%}"
            )
            stated = ", ".join(f"{value.mean:.4g}" for value in values if value is not None)
            known = mechanism == "piecewise" and dataset != "brazil"  # where the laws say more
            found.append(
                Statement(
                    "Table 2",
                    text,
                    stated,
                    judge=_squares(where, dataset, mechanism),
                    caution=_FORMULA if known else CAUTIONS[dataset],
                    reason=_off(where, dataset) if known else REASONS[dataset],
                )
            )
    text = "Piecewise has the smallest error in all settings but one"
    found.append(Statement("Table 2", text, "14 of 15", _smallest(where)))
    for dataset in ("mnist", "fashion"):
        text = (
            f"{dataset}: from epsilon 3 on Piecewise errs an order of magnitude less "
            "than Duchi (2 to 20 times)"
        )
        found.append(Statement("Table 2", text, "4 to 11", _orders(where, dataset, "duchi", 2, 20)))
        text = (
            f"{dataset}: from epsilon 3 on, two orders of magnitude less than Laplace (20 to "
            "200 times)"
        )
        found.append(
            Statement("Table 2", text, "26 to 86", _orders(where, dataset, "laplace", 20, 200))
        )
    return found


def _squares(where: str, dataset: str, mechanism: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        errors = _errors(rows, where, dataset)
        unit = unit_factor(_published_means(dataset, "laplace"), errors["laplace"])
        values = [unit * error for error in errors[mechanism]]
        papers = _published_means(dataset, mechanism)
        met = all(
            abs(value - paper) <= _FACTOR * paper
            for value, paper in zip(values, papers, strict=True)
        )
        return met, ", ".join(f"{value:.4g}" for value in values) + f" (measured times {unit:.3g})"

    return judge


def _off(where: str, dataset: str) -> Callable[[Rows], Reason]:
    """Whether the printed Piecewise row is off the formula by which Laplace's and Duchi's are
    right: its ratio to Duchi's is another than the two laws have, at most values of epsilon, by
    more than ten runs can be wrong.
    """

    def reason(rows: Rows) -> Reason:
        own = {name: _firsts(rows, where, dataset, name) for name in ("duchi", "piecewise")}
        beyond = []
        for epsilon, duchi, piecewise in zip(EPSILONS, *own.values(), strict=True):
            printed = [published_square(dataset, name, epsilon) for name in own]
            pairs = [(cell.mean, cell.std) for cell in printed if cell is not None]
            pairs += [(row.error or 0.0, row.error_std) for row in (duchi, piecewise)]
            spread = sqrt(sum((std / mean) ** 2 / duchi.runs for mean, std in pairs))
            logs = [log(mean) for mean, _ in pairs]
            beyond.append(abs(logs[0] - logs[1] - logs[2] + logs[3]) > _SURE * spread)
        return "paper contradicts itself" if sum(beyond) > len(beyond) / 2 else "tolerance"

    return reason


def _published_means(dataset: str, mechanism: str) -> list[float]:
    cells = (published_square(dataset, mechanism, epsilon) for epsilon in EPSILONS)
    return [cell.mean for cell in cells if cell is not None]


def _errors(rows: Rows, where: str, dataset: str) -> dict[str, list[float]]:
    return {
        name: [row.error or 0.0 for row in _firsts(rows, where, dataset, name)]
        for name in MECHANISMS
    }


def _smallest(where: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        found = [_errors(rows, where, dataset) for dataset in _SETS]
        least = [
            piecewise <= min(laplace, duchi)
            for each in found
            for laplace, duchi, piecewise in zip(*each.values(), strict=True)
        ]
        return sum(least) >= len(least) - 1, f"{sum(least)} of {len(least)}"

    return judge


def _orders(where: str, dataset: str, other: str, low: float, high: float) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        found = _errors(rows, where, dataset)
        ratios = [
            theirs / own for theirs, own in zip(found[other], found["piecewise"], strict=True)
        ][1:]
        return all(
            low <= ratio <= high for ratio in ratios
        ), f"{min(ratios):.2g} to {max(ratios):.2g}"

    return judge


def _regressions() -> list[Statement]:
    found = []
    for dataset in _SETS:
        text = (
            f"{dataset}: regressions get more accurate with epsilon, through every mechanism (two "
            "standard errors)"
        )
        found.append(
            Statement(
                "Fig. 2",
                text,
                "",
                judge=_improves("Table 2, Fig. 2", dataset),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
        text = f"{dataset}: regressions are most accurate through Piecewise{_AHEAD}"
        found.append(
            Statement(
                "Fig. 2",
                text,
                "",
                judge=_best("Table 2, Fig. 2", dataset),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
        text = (
            f"{dataset}: regressions are least accurate through Laplace (1 point; on average over "
            "epsilon by more than that)"
        )
        found.append(
            Statement(
                "Fig. 2",
                text,
                "",
                judge=_worst("Table 2, Fig. 2", dataset),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
    text = (
        "MNIST: with any number of owners Piecewise has less error than Duchi, and more "
        "accuracy (behind nowhere by a point, ahead on average by two standard errors)"
    )
    found.append(Statement("Fig. 4", text, "", _ahead_of_duchi("Fig. 4", "mnist")))
    text = "MNIST: the error falls with the number of owners"
    found.append(Statement("Fig. 4", text, "", _falls("Fig. 4", "mnist")))
    text = "Brazil: with 10,000 owners both mechanisms are equally accurate (1 point)"
    found.append(Statement("Fig. 5", text, "", _meets("Fig. 5", "brazil")))
    text = (
        "Brazil: from hundreds of owners to tens of thousands the error falls "
        "substantially (at least 10 times)"
    )
    found.append(Statement("Fig. 5", text, "", _falls("Fig. 5", "brazil", 10)))
    text = "Brazil: meanwhile accuracy improves by little (less than 10 points)"
    found.append(Statement("Fig. 5", text, "", _little("Fig. 5", "brazil")))
    return found


def _improves(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        ends = []
        for mechanism in MECHANISMS:
            own = _firsts(rows, where, dataset, mechanism)
            ends.append((own[0], own[-1]))
        told = "; ".join(percent(first.mean, last.mean) for first, last in ends)
        return all(exceeds(last, first) for first, last in ends), told

    return judge


def _best(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        lines = [_firsts(rows, where, dataset, name) for name in MECHANISMS]
        ahead = [
            own.mean >= max(other.mean for other in others) - _SLACK
            for *others, own in zip(*lines, strict=True)
        ]
        *rest, first = map(average, lines)
        told = f"at {sum(ahead)} of {len(ahead)} values of epsilon; "
        told += percent(*(point.mean for point in (first, *rest)))
        return all(ahead) and all(exceeds(first, other) for other in rest), told

    return judge


def _worst(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        laplace, *others = (
            [row.mean for row in _firsts(rows, where, dataset, name)]
            for name in ("laplace", "duchi", "piecewise")
        )
        last = [own <= min(rest) + _SLACK for own, *rest in zip(laplace, *others, strict=True)]
        means = [sum(line) / len(line) for line in (laplace, *others)]
        return all(last) and means[0] < min(means[1:]) - _SLACK, percent(*means)

    return judge


def _ahead_of_duchi(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        pairs = list(
            zip(
                *(_firsts(rows, where, dataset, name) for name in ("piecewise", "duchi")),
                strict=True,
            )
        )
        ahead = [
            (one.error or 0.0) < (two.error or 0.0) and one.mean >= two.mean - _SLACK
            for one, two in pairs
        ]
        first, other = (average(line) for line in zip(*pairs, strict=True))
        told = f"for {sum(ahead)} of {len(ahead)} numbers; {percent(first.mean, other.mean)}"
        return all(ahead) and exceeds(first, other), told

    return judge


def _falls(where: str, dataset: str, least: float = 1.0) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        lines = [
            [row.error or 0.0 for row in _firsts(rows, where, dataset, name)]
            for name in ("piecewise", "duchi")
        ]
        ends = "; ".join(f"{line[0]:.3g} to {line[-1]:.3g}" for line in lines)
        return all(falls(line) and line[0] >= least * line[-1] for line in lines), ends

    return judge


def _meets(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        one, other = (
            _firsts(rows, where, dataset, name)[-1].mean for name in ("piecewise", "duchi")
        )
        return abs(one - other) <= _SLACK, percent(one, other)

    return judge


def _little(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        means = [row.mean for row in _firsts(rows, where, dataset, "piecewise")]
        return 0 <= means[-1] - means[0] < 0.1, percent(means[0], means[-1])

    return judge


def _centroids() -> list[Statement]:
    found = []
    for dataset in _SETS:
        text = f"{dataset}: centroids are most accurate through Piecewise{_AHEAD}"
        found.append(
            Statement(
                "Fig. 3",
                text,
                "",
                judge=_best("Fig. 3", dataset),
                caution=CAUTIONS[dataset],
                reason=REASONS[dataset],
            )
        )
    text = (
        "MNIST: the distance between Piecewise and Duchi is larger than for regressions, on "
        "average over epsilon (by a point)"
    )
    found.append(Statement("Fig. 3", text, "", _wider))
    text = (
        "Brazil: with a million samples centroids are well preserved even at epsilon 1 (3 points)"
    )
    found.append(
        Statement(
            "Fig. 3",
            text,
            "",
            judge=_survive_noise,
            caution=CAUTIONS["brazil"],
            reason=REASONS["brazil"],
        )
    )
    text = "MNIST, epsilon 3: more samples (1,000 to 9,000), less error"
    found.append(Statement("Fig. 6", text, "", _falls("Fig. 6", "mnist")))
    text = "MNIST, epsilon 3: and more accuracy, through Piecewise by at least 5 points"
    found.append(Statement("Fig. 6", text, "", _rises("Fig. 6", "mnist")))
    text = (
        "MNIST: nine times the samples bring centroids more accuracy than ten times the owners "
        "bring regressions (Fig. 4)"
    )
    return [*found, Statement("Fig. 6", text, "", _more_sensitive)]


def _more_sensitive(rows: Rows) -> tuple[bool, str]:
    gains = []
    for where in ("Fig. 6", "Fig. 4"):
        own = [row.mean for row in _firsts(rows, where, "mnist", "piecewise")]
        gains.append(own[-1] - own[0])
    return gains[0] > gains[1] + _SLACK, percent(*gains)


def _wider(rows: Rows) -> tuple[bool, str]:
    gaps = []
    for where in ("Fig. 3", "Table 2, Fig. 2"):
        one, other = (
            [row.mean for row in _firsts(rows, where, "mnist", name)]
            for name in ("piecewise", "duchi")
        )
        gaps.append(sum(one) / len(one) - sum(other) / len(other))
    return gaps[0] > gaps[1] + _SLACK, percent(*gaps)


def _survive_noise(rows: Rows) -> tuple[bool, str]:
    own, free = (_firsts(rows, "Fig. 3", "brazil", name)[0].mean for name in ("piecewise", "none"))
    return own >= free - 0.03, percent(own, free)


def _rises(where: str, dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        means = [row.mean for row in _firsts(rows, where, dataset, "piecewise")]
        return means[-1] >= means[0] + 0.05, percent(*means)

    return judge
