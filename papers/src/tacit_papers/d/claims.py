"""What paper D says of Figs. 3 to 6, and of participants that come or are not wanted; the
figures' values are lost.
"""

from collections.abc import Sequence
from itertools import pairwise

from tacit_papers.claims import (
    Judge,
    Mean,
    NoRowsError,
    Reason,
    Rows,
    Statement,
    average,
    exceeds,
    percent,
)
from tacit_papers.d.edge import EdgeRow
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import ALONE, EPSILONS, PeerRow

_SETS = {"adult": ("Fig. 3", "Fig. 5"), "gss": ("Fig. 4", "Fig. 6")}
_OWN, _OTHER = "random stumps, as published", "passed trees (InPriv)"
_MAJORITY = "the published scheme hardly leaves the majority class"
_REBUILT: Reason = "data replaced"  # the method it is compared with
_SLACK = 0.002  # of accuracy
_HARM = "more rounds have less of epsilon each, and more of them to vote: here that makes up for it"
_OUTVOTED = (
    "by eq. 10 one's own stump has a say of at least eta_p / eta_min, so at least 1, all others "
    "together have less than 1: the vote is one's own stump's, whatever is shared"
)


def statements_d() -> list[Statement]:
    """All of them, in the paper's order."""
    found = []
    for dataset, (over_rounds, over_epsilon) in _SETS.items():
        text = (
            f"{dataset}: accuracy rises with epsilon, from 0.1 to 4, for any number of rounds (two "
            "standard errors)"
        )
        found.append(Statement(over_rounds, text, "", _with_epsilon(dataset), _MAJORITY))
        text = f"{dataset}: at epsilon 4 accuracy rises with rounds (two standard errors)"
        found.append(Statement(over_rounds, text, "", _with_rounds(dataset), _MAJORITY))
        text = f"{dataset}: at epsilon 0.1 more rounds may do harm (two standard errors)"
        found.append(Statement(over_rounds, text, "", _harm(dataset), _HARM))
        text = (
            f"{dataset}: privacy costs accuracy at the smallest epsilon (two standard errors), and "
            "brings none at any (0.2 points)"
        )
        found.append(Statement(over_epsilon, text, "", _costs(dataset), _MAJORITY))
        text = f"{dataset}: on average over epsilon, better than InPriv (two standard errors)"
        caution = (
            "InPriv is rebuilt from its description, with exact noise; it serves one model, "
            "the scheme one to each"
        )
        found.append(
            Statement(
                over_epsilon,
                text,
                "",
                judge=_better(dataset, EPSILONS),
                caution=caution,
                reason=_REBUILT,
            )
        )
        text = f"{dataset}: especially at small epsilon (up to 0.5; two standard errors)"
        found.append(
            Statement(
                over_epsilon,
                text,
                "",
                judge=_better(dataset, EPSILONS[:3]),
                caution=caution,
                reason=_REBUILT,
            )
        )
    text = "in some situations InPriv is a little better (two standard errors, less than 5 points)"
    found.append(Statement("Figs. 5 and 6", text, "", _sometimes, caution, reason=_REBUILT))
    for dataset in _SETS:
        text = (
            f"{dataset}: a newcomer joins without anybody being trained again, and "
            "nobody loses "
            "(1 point)"
        )
        found.append(Statement("section 4", text, "", _newcomer(dataset)))
        text = (
            f"{dataset}: models of a participant with poisoned labels are left out by the "
            "selection (by most others)"
        )
        caution = (
            "with the paper's threshold nobody is ever left out; ours judges by released models"
        )
        found.append(
            Statement(
                "section 4",
                text,
                "",
                judge=_judge_left_out(dataset),
                caution=caution,
                reason="paper contradicts itself",
            )
        )
    return [*found, *_what_sharing_brings(), *_costs_of_a_participant()]


def _what_sharing_brings() -> list[Statement]:
    """The adaptive ensemble: own models with the others' stumps, and without."""
    found = []
    for dataset in _SETS:
        text = (
            f"{dataset}: the base model of one iteration is better with the others' stumps than "
            "alone, at every epsilon (two standard errors)"
        )
        found.append(_against_eq_10(text, _base_model(dataset)))
        text = (
            f"{dataset}: and so is what a participant has after all rounds, on average over "
            "epsilon (two standard errors)"
        )
        found.append(_against_eq_10(text, _in_the_end(dataset)))
    return found


def _against_eq_10(text: str, judge: Judge) -> Statement:
    reason: Reason = "paper contradicts itself"
    return Statement("section 5", text, "", judge=judge, caution=_OUTVOTED, reason=reason)


def _costs_of_a_participant() -> list[Statement]:
    """Complexity, and whether it suits the edge."""
    found = []
    for dataset in _SETS:
        for what, factor in (("rounds", 4), ("rows", 4), ("participants", 2), ("attributes", 2)):
            text = (
                f"{dataset}: a participant's time grows at most linearly with {what} (times "
                f"{factor}, a quarter to spare)"
            )
            statement = Statement("section 5", text, f"{factor}", _linear(dataset, what, factor))
            found.append(statement)
        text = (
            f"{dataset}: random stumps suit devices at the edge: all rounds take a participant "
            "less than a second of processor, 10 megabytes of memory, 100 kilobytes sent"
        )
        found.append(Statement("section 1", text, "", _light(dataset)))
    text = "and an install of less than 200 megabytes"
    caution = (
        "a plain install brings NumPy, SciPy, scikit-learn, numba and Arrow along; what was tried: "
        "a client without dependencies for browsers, which has no stumps"
    )
    return [
        *found,
        Statement("section 1", text, "", judge=_small, caution=caution, reason="ours weaker"),
    ]


def _linear(dataset: str, what: str, factor: int) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = rows.of(EdgeRow, dataset=dataset)
        usual = own[0]
        (other,) = [row for row in own if getattr(row, what) != getattr(usual, what)]
        few, many = sorted((usual, other), key=lambda row: float(getattr(row, what)))
        ratio = many.seconds / few.seconds
        return ratio <= 1.25 * factor, f"{ratio:.1f}"

    return judge


def _light(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        row = rows.of(EdgeRow, dataset=dataset)[0]
        met = row.seconds < 1 and row.megabytes < 10 and row.sent < 100_000
        return met, (
            f"{row.seconds:.2f} s, {row.megabytes:.1f} MB, {row.sent / 1e3:.1f} kB sent, "
            f"{row.heard / 1e3:.0f} kB heard, {row.rows:,} rows, {row.rounds} rounds"
        )

    return judge


def _small(rows: Rows) -> tuple[bool, str]:
    size = rows.of(EdgeRow)[0].installed
    return size < 200, f"{size:.0f} MB"


def _accuracy(row: PeerRow) -> Mean:
    """Of the participants' own models where there are such, else of the served one."""
    if row.own is not None:
        return Mean(row.own, row.own_std, row.runs)
    if row.served is not None:
        return Mean(row.served, row.served_std, row.runs)
    raise NoRowsError(f"no accuracy of {row.method}")


def _means(points: Sequence[Mean]) -> str:
    return percent(*(point.mean for point in points))


def _at(
    rows: Rows, dataset: str, method: str, epsilon: float | None, rounds: int | None = None
) -> Mean:
    """Accuracy at an epsilon, after so many rounds, or after the most."""
    own = rows.of(PeerRow, dataset=dataset, method=method, epsilon=epsilon)
    wanted = max(row.rounds for row in own) if rounds is None else rounds
    return _accuracy(
        rows.one(PeerRow, dataset=dataset, method=method, epsilon=epsilon, rounds=wanted)
    )


def _rounds(rows: Rows, dataset: str, epsilon: float) -> list[int]:
    """Numbers of rounds that were tried, but for one, which is the base model."""
    own = rows.of(PeerRow, dataset=dataset, method=_OWN, epsilon=epsilon)
    return sorted(row.rounds for row in own if row.rounds > 1)


def _with_epsilon(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        ends = [
            (_at(rows, dataset, _OWN, 0.1, rounds), _at(rows, dataset, _OWN, 4.0, rounds))
            for rounds in _rounds(rows, dataset, 4.0)
        ]
        return all(exceeds(last, first) for first, last in ends), "; ".join(map(_means, ends))

    return judge


def _with_rounds(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = [_at(rows, dataset, _OWN, 4.0, rounds) for rounds in _rounds(rows, dataset, 4.0)]
        return exceeds(own[-1], own[0]), _means(own)

    return judge


def _harm(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = [_at(rows, dataset, _OWN, 0.1, rounds) for rounds in _rounds(rows, dataset, 0.1)]
        return any(exceeds(before, after) for before, after in pairwise(own)), _means(own)

    return judge


def _costs(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        free = _at(rows, dataset, _OWN, None)
        own = [_at(rows, dataset, _OWN, epsilon) for epsilon in EPSILONS]
        none_gains = all(point.mean <= free.mean + _SLACK for point in own)
        return exceeds(free, own[0]) and none_gains, f"{_means(own)} against {percent(free.mean)}"

    return judge


def _better(dataset: str, epsilons: tuple[float, ...]) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own, other = (
            average([_at(rows, dataset, method, epsilon) for epsilon in epsilons])
            for method in (_OWN, _OTHER)
        )
        return exceeds(own, other), _means([own, other])

    return judge


def _sometimes(rows: Rows) -> tuple[bool, str]:
    pairs = [
        [_at(rows, dataset, method, epsilon) for method in (_OWN, _OTHER)]
        for dataset in _SETS
        for epsilon in EPSILONS
    ]
    ahead = [other.mean - own.mean for own, other in pairs if exceeds(other, own)]
    most = f", by up to {percent(max(ahead))} points" if ahead else ""
    met = bool(ahead) and min(ahead) < 0.05
    return met, f"in {len(ahead)} of {len(pairs)}{most}"


def _base_model(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        pairs = [
            [_at(rows, dataset, method, epsilon, rounds=1) for method in (_OWN, ALONE)]
            for epsilon in EPSILONS
        ]
        return all(exceeds(own, alone) for own, alone in pairs), "; ".join(map(_means, pairs))

    return judge


def _in_the_end(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own, alone = (
            average([_at(rows, dataset, method, epsilon) for epsilon in EPSILONS])
            for method in (_OWN, ALONE)
        )
        return exceeds(own, alone), _means([own, alone])

    return judge


def _newcomer(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        before, after = (
            rows.one(EventRow, dataset=dataset, method="stumps", event=event).own
            for event in ("nothing", "one joins later")
        )
        return after >= before - 0.01, percent(before, after)

    return judge


def _judge_left_out(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        row = rows.one(EventRow, dataset=dataset, method="stumps", event="one is poisoned")
        return row.left_out > 0.5, percent(row.left_out)

    return judge
