"""The campaign for people: figures to HTML, with what it promises to its owners in plain words and
the curve of its error against the data user's sample alone. All that is shown is in the status.
"""

from collections.abc import Sequence
from math import exp
from typing import Any, NamedTuple

from tacit.estimators.guarantee import Guarantee, under_two_servers
from tacit.estimators.measures import VARIANCE as VARIANCE_EXPLAINED
from tacit.estimators.measures import Figure, Measures, side_by_side
from tacit.learners.owners.sum_query import WHAT as SUM
from tacit.render.document import Chart, Line
from tacit.render.drawing import draw
from tacit.render.pages import environment
from tacit.service.coordinator.status import ROWS, VARIANCE
from tacit.service.coordinator.tables import (
    DECLINED,
    ENDED,
    ENDING,
    ENROLLING,
    OPEN,
    PAUSED,
    RUNNING,
)
from tacit.service.kinds import words_of
from tacit.service.kinds.campaign_file import Readers
from tacit.service.protocol.handshake import is_rehearsal
from tacit.sums import HOW

_TEMPLATES = environment("tacit.service.coordinator")
_REFUSED = ("malformed", "contradicted", "strange")
_STATES = {
    RUNNING: "Running",
    PAUSED: "Paused",
    ENDING: "Ending",
    ENDED: "Ended",
}


def page(status: dict[str, Any], root: str = "", readers: Readers = Readers()) -> str:  # noqa: B008 - frozen
    """The page of a campaign whose addresses begin with `root`; figures that are not for everybody
    are left out.
    """
    asked = [_question(question) for question in status["questions"]]
    bars = comparison_of(status)
    # a campaign of one step has no curve: two bars say all that one dot would
    has_curve = status["questions"] or status["state"] != ENDED  # it may come to one
    chart = chart_of(status) if has_curve and (bars is None or status["rounds"] > 1) else None
    return _TEMPLATES.get_template("campaign.html").render(
        status=status,
        here=root,
        readers=readers,
        title=status["name"],
        state=name_state(status),
        sentence=sentence(status),
        asked=asked,
        totals={
            name: sum(row[name] for row in asked if not row["sum"])
            for name in ("invited", "counted", "late", "refused")
        },
        bars=bars,
        about=f"The sample has {status['sample']:,} rows. {_about_sample(status)}",
        chart=None if chart is None else draw(chart),
        unasked=_unasked(status),
        present=status["owners"]["enrolled"] - status["owners"]["revoked"],
        gain=_gain(status),
        weighed=any(voice["weight"] is not None for voice in status["voices"]),
        until=max((row["deadline"] for row in asked if row["state"] == OPEN), default=None),
        **promise(status),
    )


def list_page(campaigns: Sequence[dict[str, Any]]) -> str:
    """The page of all campaigns."""
    return _TEMPLATES.get_template("campaigns.html").render(
        title="Campaigns",
        campaigns=[
            {
                **each,
                "words": words_of(each["kind"]),
                "shown": name_state(each) if each["state"] else "",
            }
            for each in campaigns
        ],
    )


def name_state(campaign: dict[str, Any]) -> str:
    """How a campaign stands, in a word or three."""
    if campaign.get("archived"):
        return "Archived"
    if campaign["state"] == ENROLLING:
        return f"{words_of(campaign['kind']).many.capitalize()} are enrolling"
    return _STATES[campaign["state"]]


def sentence(status: dict[str, Any]) -> str:
    """Where the campaign is, in one sentence: what a screen reader is told when it changes."""
    owners, done, words = (
        status["owners"],
        len(status["progress"]),
        words_of(status["kind"], status["mechanism"]),
    )
    rounds = f"{status['rounds']} {words.steps}"
    open_now = [question for question in status["questions"] if question["state"] == OPEN]
    present = owners["enrolled"] - owners["revoked"]
    if status["state"] == ENROLLING:
        return f"{present:,} of {status['start']:,} {words.many} needed to begin have enrolled."
    if status["state"] == PAUSED and not status["questions"]:
        return (
            f"Paused before anything was asked: {present:,} {words.many} have enrolled, and "
            "more may."
        )
    if status["state"] == PAUSED:
        return (
            f"Paused after {done} of {rounds}: no new question is put; reports to an open one "
            "still count."
        )
    if status["state"] == ENDING:
        return "It was ended by whoever runs it: nothing more is asked, the model is being made."
    if status["state"] == ENDED:
        return f"Ended: {status['ended']}. The model is published."
    if open_now:
        now = open_now[-1]
        return (
            f"{done} of {rounds} are done. Question {now['number']} is open: "
            f"{now['counted']:,} of {now['invited']:,} {words.many} have answered."
        )
    if not status["questions"] and present < status["needed"]:
        return (
            f"{present:,} {words.many} have enrolled; the first question needs "
            f"{status['needed']:,}."
        )
    return f"{done} of {rounds} are done. The next question is being prepared."


def _question(question: dict[str, Any]) -> dict[str, Any]:
    """One row of the table of questions."""
    outcomes, answer = question["outcomes"], question["answer"] or {}
    measured, predicted = answer.get("measured"), answer.get("predicted")
    declined = outcomes.get(DECLINED, 0)
    return {
        "number": question["number"],
        "round": question["round"],
        "sum": question["what"] == SUM,
        "state": question["state"],
        "invited": question["invited"],
        "counted": question["counted"],
        "declined": declined,
        "silent": question["invited"] - question["counted"] - declined,
        "late": outcomes.get("late", 0),
        "refused": sum(outcomes.get(kind, 0) for kind in _REFUSED),
        "signal": answer.get("signal"),
        "measured": measured,
        "predicted": predicted,
        "ratio": measured / predicted if measured is not None and predicted else None,
        "deadline": 60 * round(question["deadline"] / 60),  # to the minute, so that it stands still
    }


def _gain(status: dict[str, Any]) -> str:
    """Whether the private answers have helped, said without hope."""
    test = status["test"]
    if test is None and (not status["progress"] or status["public_only"] is None):
        return ""
    now = status["progress"][-1] if test is None else test["ours"]
    alone = status["public_only"] if test is None else test["alone"]
    difference = alone["error"] - now["error"]
    doubt = 2 * (now["stderr"] ** 2 + alone["stderr"] ** 2) ** 0.5
    ours = words_of(status["kind"], status["mechanism"]).model
    when = "In the end" if status["state"] == ENDED else "So far"
    if abs(difference) <= doubt:
        return f"{when} {ours} and the data user's sample alone cannot be told apart."
    better, worse = ours, "the data user's sample alone"
    if difference < 0:
        better, worse = worse, better
    part = measure_of(status).part
    return f"{when} {better} is better than {worse}, by {abs(difference):.1%} of {part}."


def _unasked(status: dict[str, Any]) -> str:
    """What there is, where a campaign ended before anybody was asked."""
    alone, measure = status["public_only"], measure_of(status)
    said = "Nobody's answers are in what is published."
    if alone is None:
        return said
    right, doubt = 100 * (1 - alone["error"]), 100 * BAR * alone["stderr"]
    return f"{said} The data user's sample alone: {right:.1f} ± {doubt:.1f} % {measure.right}."


_IN_HALVES = (
    "Your rows stay with you. What leaves is a report in two sealed halves, one for each of two "
    "servers: a half alone says nothing, and all that the servers ever open is a sum over many, "
    "with the noise of both. If both of them work together against you, they see your report."
)


def promise(status: dict[str, Any]) -> dict[str, Any]:
    """The guarantee with its unit, adjacency, adversary and epsilon, and sentences about what it
    means.
    """
    low, high = min(status["epsilons"]), max(status["epsilons"])
    words = words_of(status["kind"], status["mechanism"])
    void = status["unsound"] or (
        "shares leave as they are" if status["mechanism"] == "none" else ""
    )
    if is_rehearsal(status["name"]):
        void = "this is a rehearsal: its coins can be repeated"
    guarantee = Guarantee(
        epsilon=None if void else (low, high),
        mechanism=status["mechanism"],
        stream="from each owner's operating system, without a seed",
        not_protected=words.not_protected,
        void=void,
        error_epsilon=None if void else status["sum_epsilon"],
        unit=status["unit"],
        adjacency=status["adjacency"],
        notion=words.notion,
        influence=status["influence"],
    )
    summed = status["mechanism"] == HOW
    if summed and not void:
        guarantee = under_two_servers(guarantee, high, status["delta"], status["answers"])
    return {
        "guarantee": guarantee,
        "words": words,
        "leaving": _IN_HALVES if summed else words.leaving,
        "low": low,
        "high": high,
        "odds": exp(min(high, 700.0)),
    }


class Measure(NamedTuple):
    """What errors are parts of, and in words what is right and what is wrong."""

    part: str
    right: str
    wrong: str


_MEASURES = {
    ROWS: Measure("rows", "right answers", "Wrong answers"),
    VARIANCE: Measure("the variance", "variance explained", "Variance that is not explained"),
}


def measure_of(status: dict[str, Any]) -> Measure:
    """How models are measured; what was archived before there were two ways is of rows."""
    return _MEASURES[status.get("measure", ROWS)]


BAR = 2.0  # standard errors that an error bar shows either way


class ComparedModel(NamedTuple):
    """One model of two that are compared: the part that it gets right, with its standard error."""

    name: str
    look: str
    right: float
    stderr: float


class Comparison(NamedTuple):
    """What is published beside the data user's sample alone, on the same rows; `measures` are lines
    of a table, what else people measure of either.
    """

    caption: str
    bars: tuple[ComparedModel, ComparedModel]
    measures: tuple[tuple[Figure, Figure | None], ...] = ()


def comparison_of(status: dict[str, Any]) -> Comparison | None:
    """On test rows, where the campaign has some; of a single step on the sample; else None."""
    test, progress, alone = status["test"], status["progress"], status["public_only"]
    right = measure_of(status).right
    if test is not None:
        both, where = (test["ours"], test["alone"]), f"{test['rows']:,} test rows that neither"
        caption = f"On {where} has seen, {right} in percent; two standard errors either way"
    elif status["rounds"] == 1 and progress and alone is not None:
        both = progress[-1], alone
        caption = f"On the data user's sample, {right} in percent; two standard errors either way"
    else:
        return None
    ours = words_of(status["kind"], status["mechanism"]).model.capitalize()
    names = (ours, "ours"), ("The data user's sample alone", "alone")
    one, other = (
        ComparedModel(name, look, 1 - each["error"], each["stderr"])
        for (name, look), each in zip(names, both, strict=True)
    )
    return Comparison(caption, (one, other), _other_measures(test or {}))


def _other_measures(test: dict[str, Any]) -> tuple[tuple[Figure, Figure | None], ...]:
    """All that was measured on test rows but what bars show."""
    if "measures" not in test:  # none, or archived before there were any
        return ()
    ours, alone = (Measures.read(test["rows"], test["measures"][who]) for who in ("ours", "alone"))
    return tuple(
        each
        for each in side_by_side(ours.figures, alone.figures)
        if each[0].name not in ("accuracy", VARIANCE_EXPLAINED)
    )


def chart_of(status: dict[str, Any]) -> Chart | None:
    """What the page shows of these figures; None while there is nothing to show."""
    words = words_of(status["kind"], status["mechanism"])
    progress, alone = status["progress"], status["public_only"]
    lines = []
    if progress:
        steps = tuple(float(number) for number in range(1, len(progress) + 1))
        lines.append(Line(words.model.capitalize(), steps, *_percent(progress), kind="ours"))
    if alone is not None:
        lines.append(Line("The data user's sample alone", (), *_percent([alone]), kind="public"))
    if not lines:
        return None
    return Chart(
        title=f"Error after each {words.step}",
        x_label=words.step,
        y_label=f"{measure_of(status).wrong} on the data user's sample, in percent",
        lines=tuple(lines),
        note=_note(status),
        steps=status["rounds"],
    )


def _percent(errors: Sequence[dict[str, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Errors and half the lengths of their bars."""
    return tuple(100 * each["error"] for each in errors), tuple(
        100 * BAR * each["stderr"] for each in errors
    )


def _note(status: dict[str, Any]) -> str:
    reach = "bars and band reach two standard errors either way"
    return f"The sample has {status['sample']:,} rows; {reach}. {_about_sample(status)}".strip()


def _about_sample(status: dict[str, Any]) -> str:
    """What the data user's own model is, and what needs none."""
    model, majority = status["public_model"], status["majority"]
    sentences = [f"Its own model is {model}, cross-validated."] if model else []
    if majority is not None:
        wrong = f"{majority['error']:.1%}"
        sentences.append(f"Always saying the most frequent class is wrong in {wrong}.")
    return " ".join(sentences)
