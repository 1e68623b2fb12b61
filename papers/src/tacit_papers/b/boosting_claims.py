"""What paper B says of boosting by sums over all owners (Figs. 7, 10, 11) and of hitting rates
(Figs. 8 and 9).
"""

from tacit_papers.b.hits import HitRow
from tacit_papers.b.published import HITS
from tacit_papers.claims import Judge, Reason, Rows, Statement, percent
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
    """Centroids, hitting rates, stumps."""
    return [*_centroid_curves(), *_hits(), *_stump_curves()]


def _ends(
    rows: Rows, dataset: str, learner: str, epsilon: float | None, mechanism: str
) -> tuple[CurveRow, CurveRow]:
    own = rows.of(
        CurveRow,
        paper="b",
        dataset=dataset,
        learner=learner,
        variant="as published",
        mechanism=mechanism,
        epsilon=epsilon,
    )
    own.sort(key=lambda row: row.learners)
    return own[0], own[-1]


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
        text = f"{dataset}: hitting rates rise with epsilon, through Piecewise and through Duchi"
        found.append(Statement(figure, text, "", _hits_rise(dataset)))
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
        rates, rising = [], True
        for mechanism in ("piecewise", "duchi"):
            own = rows.of(HitRow, dataset=dataset, variant="as published", mechanism=mechanism)
            first, last = own[0], own[-1]
            rising = rising and last.top1 >= first.top1 and last.top3 > first.top3
            rates.append(percent(first.top1, first.top3, last.top1, last.top3))
        return rising, "; ".join(rates)

    return judge


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
                f"{dataset}, epsilon {epsilon:g}: ten private stumps are like ten without "
                "privacy, within 5 points"
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
        own = _ends(rows, dataset, "stump", epsilon, "piecewise")[1].mean
        free = _ends(rows, dataset, "stump", None, "none")[1].mean
        return own <= free + 0.05, percent(own, free)

    return judge
