"""A document with every kind of part, and text that tries to be markup."""

from tacit.estimators.guarantee import Guarantee
from tacit.render.document import (
    Chart,
    Document,
    Figures,
    Line,
    Paragraph,
    Section,
    Table,
    protection,
)

EVIL = '<script>alert("x")</script> & <img src=http://elsewhere.example/x.png> **bold** | `code`'
EPSILONS = (0.025, 0.05, 0.1, 0.15, 0.2, 0.25)

CURVES = Chart(
    "Error against epsilon",
    "epsilon",
    "test error, %",
    (
        Line(
            "tacit",
            EPSILONS,
            (1.9, 1.8, 1.8, 1.8, 1.8, 1.7),
            (0.3, 0.2, 0.2, 0.2, 0.2, 0.2),
            "ours",
        ),
        Line(
            "as published (unsound)",
            EPSILONS,
            (8.2, 9.0, 13.6, 12.0, 11.0, 10.8),
            (2.7, 3, 5.2, 3, 4, 3.8),
            "paper",
        ),
        Line("exact noise", EPSILONS, (8.9, 6.0, 4.6, 4.0, 3.5, 3.2), None, "other"),
        Line("printed", (0.025, 0.25), (9.0, 11.0), None, "published"),
        Line("public rows alone", (), (1.85,), (0.2,), "public"),
    ),
    note="Bars: one standard deviation over 10 runs.",
)
OWNERS = Chart(
    "Where it pays",
    "owners",
    "points of accuracy",
    (
        Line("predicted", (1e3, 1e5, 1e7), (-0.1, 1.0, 2.5), None, "ours"),
        Line("measured", (1e4,), (0.4,), (0.2,)),
    ),
    x_scale="log",
)
DISTANCES = Chart(
    "Distances",
    "epsilon",
    "l2",
    (Line("laplace", (1, 9), (90.0, 2.0), (8.0, 3.0), "paper"),),
    y_scale="log",
)
GUARANTEE = Guarantee(
    epsilon=(1.0, 1.0),
    mechanism="privunit",
    stream="secure",
    not_protected=("Who the owners are is public.",),
)
DOCUMENT = Document(
    title="Four hospitals",
    lead=f"What was found: {EVIL}",
    sections=(
        Section(
            "The result",
            "",
            (Figures((("Accuracy", "82.1 %", "± 0.7"), ("Owners", "12,500", ""))),),
        ),
        Section("Side by side", "Two charts.", (OWNERS, DISTANCES)),
        Section("One chart", "", (CURVES,)),
        Section(
            "A table",
            "",
            (
                Table(
                    "Error",
                    ("method", "0.1", "1"),
                    (("ours", "1.8", "1.7"), (EVIL, "2", "")),
                    EVIL,
                    (0,),
                ),
            ),
        ),
        Section(
            "A warning",
            "",
            (Paragraph("Seeded: reproducible, not private.", "warning", items=(EVIL,)),),
        ),
        protection(
            GUARANTEE.headline,
            (("Unit", GUARANTEE.unit), ("Adjacency", GUARANTEE.adjacency)),
            GUARANTEE.not_protected,
            (),
        ),
    ),
    command="tacit reproduce c --seed 1",
    settings=(("seed", "1"), ("tacit", "0.1.0")),
)
