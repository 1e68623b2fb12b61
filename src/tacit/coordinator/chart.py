"""The error curve of a campaign, against the data user's sample alone."""

from collections.abc import Sequence
from typing import Any

from tacit.coordinator.words import WORDS
from tacit.pages.chart import Chart, Line

BAR = 2.0  # standard errors that an error bar shows either way


def chart_of(status: dict[str, Any]) -> Chart | None:
    """What the page shows of these figures; None while there is nothing to show."""
    words = WORDS[status["kind"]]
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
        y_label="Wrong answers on the data user's sample, in percent",
        lines=tuple(lines),
        note=_note(status),
        steps=status["rounds"],
    )


def _percent(errors: Sequence[dict[str, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Errors and half the lengths of their bars."""
    return tuple(100 * each["error"] for each in errors), tuple(100 * BAR * each["stderr"] for each in errors)


def _note(status: dict[str, Any]) -> str:
    model, majority = status["public_model"], status["majority"]
    said = [f"The sample has {status['sample']:,} rows; bars and band reach two standard errors either way."]
    if model:
        said.append(f"Its own model is {model}, cross-validated.")
    if majority is not None:
        said.append(f"Always saying the most frequent class is wrong in {majority['error']:.1%}.")
    return " ".join(said)
