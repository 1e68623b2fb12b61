"""What paper D says of Figs. 3 to 6, and of participants that come or are not wanted; the
figures' values are lost.
"""

from itertools import pairwise

from tacit_papers.claims import Judge, NoRowsError, Reason, Rows, Statement, percent
from tacit_papers.d.edge import EdgeRow
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import EPSILONS, PeerRow

_SETS = {"adult": ("Fig. 3", "Fig. 5"), "gss": ("Fig. 4", "Fig. 6")}
_OWN, _OTHER = "random stumps, as published", "passed trees (InPriv)"
_MAJORITY = "the published scheme hardly leaves the majority class"
_REBUILT: Reason = "data replaced"  # the method it is compared with
_SLACK = 0.002  # of accuracy


def statements_d() -> list[Statement]:
    """All of them, in the paper's order."""
    found = []
    for dataset, (over_rounds, over_epsilon) in _SETS.items():
        text = f"{dataset}: accuracy rises with epsilon, from 0.1 to 4, for any number of rounds"
        found.append(Statement(over_rounds, text, "", _with_epsilon(dataset), _MAJORITY))
        text = f"{dataset}: at epsilon 4 accuracy rises with the number of rounds"
        found.append(Statement(over_rounds, text, "", _with_rounds(dataset), _MAJORITY))
        text = f"{dataset}: at epsilon 0.1 more rounds may do harm"
        found.append(Statement(over_rounds, text, "", _harm(dataset), _MAJORITY))
        text = f"{dataset}: privacy costs accuracy at every epsilon"
        found.append(Statement(over_epsilon, text, "", _costs(dataset), _MAJORITY))
        text = f"{dataset}: on average over epsilon, better than InPriv"
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
        text = f"{dataset}: especially at small epsilon (up to 0.5)"
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
    text = "in some situations InPriv is a little better"
    found.append(Statement("Figs. 5 and 6", text, "", _sometimes))
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
    return [*found, *_costs_of_a_participant()]


def _costs_of_a_participant() -> list[Statement]:
    """Complexity, and whether it suits the edge."""
    found = []
    for dataset in _SETS:
        for what, factor in (("rounds", 4), ("rows", 4), ("participants", 2)):
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


def _accuracy(row: PeerRow) -> float:
    """Of the participants' own models where there are such, else of the served one."""
    value = row.own if row.own is not None else row.served
    if value is None:
        raise NoRowsError(f"no accuracy of {row.method}")
    return value


def _at(
    rows: Rows, dataset: str, method: str, epsilon: float | None, rounds: int | None = None
) -> float:
    """Accuracy at an epsilon, after so many rounds, or after the most."""
    own = rows.of(PeerRow, dataset=dataset, method=method, epsilon=epsilon)
    wanted = max(row.rounds for row in own) if rounds is None else rounds
    return _accuracy(
        rows.one(PeerRow, dataset=dataset, method=method, epsilon=epsilon, rounds=wanted)
    )


def _rounds(rows: Rows, dataset: str, epsilon: float) -> list[int]:
    return sorted(
        row.rounds for row in rows.of(PeerRow, dataset=dataset, method=_OWN, epsilon=epsilon)
    )


def _with_epsilon(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        ends = [
            (_at(rows, dataset, _OWN, 0.1, rounds), _at(rows, dataset, _OWN, 4.0, rounds))
            for rounds in _rounds(rows, dataset, 4.0)
        ]
        return all(last > first for first, last in ends), "; ".join(percent(*each) for each in ends)

    return judge


def _with_rounds(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        means = [_at(rows, dataset, _OWN, 4.0, rounds) for rounds in _rounds(rows, dataset, 4.0)]
        return means[-1] > means[0] + _SLACK, percent(*means)

    return judge


def _harm(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        means = [_at(rows, dataset, _OWN, 0.1, rounds) for rounds in _rounds(rows, dataset, 0.1)]
        return any(after < before for before, after in pairwise(means)), percent(*means)

    return judge


def _costs(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        free = _at(rows, dataset, _OWN, None)
        means = [_at(rows, dataset, _OWN, epsilon) for epsilon in EPSILONS]
        return all(
            mean <= free + _SLACK for mean in means
        ), f"{percent(*means)} against {percent(free)}"

    return judge


def _better(dataset: str, epsilons: tuple[float, ...]) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own, other = (
            sum(_at(rows, dataset, method, epsilon) for epsilon in epsilons) / len(epsilons)
            for method in (_OWN, _OTHER)
        )
        return own > other, percent(own, other)

    return judge


def _sometimes(rows: Rows) -> tuple[bool, str]:
    pairs = [
        [_at(rows, dataset, method, epsilon) for method in (_OWN, _OTHER)]
        for dataset in _SETS
        for epsilon in EPSILONS
    ]
    ahead = sum(other > own for own, other in pairs)
    return ahead > 0, f"in {ahead} of {len(pairs)}"


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
