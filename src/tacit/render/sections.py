"""Pieces that documents are put together from: shares in percent, what is promised and what not."""

from collections.abc import Iterable

from tacit.render.chart import Kind, Line
from tacit.render.document import Paragraph, Section

SPREAD = "Bars: one standard deviation over runs."


def percent(mean: float, std: float | None = None) -> str:
    """A share for people.

    >>> percent(0.123, 0.004), percent(0.5)
    ('12.3 ± 0.4', '50.0')
    """
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def percents(name: str, points: Iterable[tuple[float, float, float]], kind: Kind) -> Line:
    """A line of shares in percent: (x, mean, standard deviation)."""
    x, means, stds = zip(*points, strict=True)
    return Line(
        name, tuple(x), tuple(100 * mean for mean in means), tuple(100 * std for std in stds), kind
    )


def mark_unsound(method: str, unsound: str) -> str:
    """A method's name, with the mark of one that may only be simulated."""
    return f"{method} (unsound)" if unsound else method


def protection(
    claim: str, terms: tuple[tuple[str, str], ...], limits: tuple[str, ...], unsound: Iterable[str]
) -> Section:
    """What the methods promise where they really run, what they do not, and why some may only be
    simulated.
    """
    reasons = tuple(sorted({reason for reason in unsound if reason}))
    parts = [
        Paragraph(
            "All numbers here come from seeded simulations: reproducible, not private. Public "
            "data only was used.",
            "warning",
        ),
        Paragraph(claim, "promise", terms),
        Paragraph("Not protected, whatever the method:", "limits", items=limits),
    ]
    if reasons:
        text = "Methods marked unsound are there for comparison and cannot run at an owner. Why:"
        parts.append(Paragraph(text, "limits", items=reasons))
    return Section("What is promised, and what is not", parts=tuple(parts))
