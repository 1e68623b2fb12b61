"""What paper C says of Figs. 1 to 3; their values are lost."""

from math import exp, hypot, sqrt

from tacit_papers.c.experiment import SiteRow
from tacit_papers.c.span import DIM, SpanRow
from tacit_papers.claims import Judge, Mean, Rows, Statement, average, climbs, exceeds, percent

_SETS = {"mnist": ("Fig. 1", "abc"), "covertype": ("Fig. 2", "def")}
_VARIED = ("epsilon", "records", "sites")
_SLACK = 0.01  # of error, where lines meet
_NOISE = "as far as ten runs can tell"


def statements_c() -> list[Statement]:
    """All of them, in the paper's order."""
    found = [
        Statement(
            "Fig. 1", "MNIST, no privacy: both methods are nearly equal (1 point)", "", _equal
        ),
        Statement(
            "Fig. 2",
            "Covertype, no privacy: the feature method is better, on average over points by two "
            "standard errors",
            "",
            _better("covertype", "N"),
            _NOISE,
        ),
    ]
    for dataset, (figure, letters) in _SETS.items():
        text = (
            f"{dataset}: privacy increases the error of both methods significantly (at the "
            "smallest epsilon, 2 points)"
        )
        found.append(Statement(figure, text, "", _costs(dataset)))
        for varied, letter in zip(_VARIED, letters, strict=True):
            where = f"Fig. 3{letter}"
            text = (
                f"{dataset}: with privacy the feature method is better than the average "
                f"whatever {varied} is, on average over points by two standard errors"
            )
            found.append(Statement(where, text, "", _better(dataset, "L", varied), _NOISE))
        text = (
            f"{dataset}: with privacy the feature method varies less between runs, on average "
            "over points (two standard errors of spreads)"
        )
        found.append(Statement("Fig. 3", text, "", _steadier(dataset, _VARIED), _NOISE))
        text = (
            f"{dataset}: over records per site, too, it varies less between runs, on average over "
            "points (two standard errors of spreads)"
        )
        judge = _steadier(dataset, ("records",))
        found.append(Statement(f"Fig. 3{letters[1]}", text, "", judge, _NOISE))
        text = (
            f"{dataset}: noise costs the feature method less than the average, at every epsilon "
            "(two standard errors)"
        )
        found.append(Statement(f"Fig. 3{letters[0]}", text, "", _less_affected(dataset), _NOISE))
        text = f"{dataset}: both private methods get better with epsilon (two standard errors)"
        judge = _improves(dataset, "epsilon")
        found.append(Statement(f"Fig. 3{letters[0]}", text, "", judge, _NOISE))
        text = f"{dataset}: both private methods get better with records (two standard errors)"
        judge = _improves(dataset, "records")
        found.append(Statement(f"Fig. 3{letters[1]}", text, "", judge, _NOISE))
        text = (
            f"{dataset}: under a proper choice of N, increasing N makes the feature method better "
            "(two standard errors)"
        )
        found.append(Statement(f"Fig. 3{letters[2]}", text, "", _more_sites(dataset), _NOISE))
        text = (
            f"{dataset}: with more sites of the same data, each site's own model is worse (no "
            "privacy; two standard errors)"
        )
        found.append(Statement(f"Fig. 3{letters[2]}", text, "", _worse_alone(dataset), _NOISE))
    return [*found, *_theorem()]


def _theorem() -> list[Statement]:
    """Theorem 1: how far the feature method is from f*_span, and that from f*."""
    where = "Theorem 1"
    better = "as records get more, sites' models come close to the best one, and so does their span"
    return [
        Statement(
            where,
            "no privacy: more public rows bring the feature method nearer to f*_span",
            "N / m0",
            _shrinks("public"),
        ),
        Statement(
            where,
            "no privacy: so do more records per site",
            "N / m",
            _shrinks("records"),
        ),
        Statement(
            where,
            "no privacy: with more sites it is farther from f*_span (ten times as many, at least "
            "twice)",
            "N",
            _farther,
        ),
        Statement(
            where,
            f"f*_span lies apart from the best model while sites are fewer than {DIM} dimensions, "
            "and nowhere else",
            "C_N",
            _gap_of_sites,
        ),
        Statement(
            where,
            "C_N does not depend on the records of a site (a factor of 2)",
            "",
            judge=_constant_gap,
            caution=better,
            reason="paper contradicts itself",
        ),
        *(
            Statement(
                where,
                f"with privacy, more {name} bring the feature method nearer to the best model",
                "1 / (m epsilon)^2",
                _nearer(varied),
            )
            for varied, name in (("epsilon", "epsilon"), ("records, private", "records"))
        ),
    ]


def _span(rows: Rows, varied: str) -> list[SpanRow]:
    return rows.of(SpanRow, varied=varied)


def _shrinks(varied: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        values = [row.estimation for row in _span(rows, varied)]
        return values[-1] < values[0] / 2, ", ".join(f"{value:.4f}" for value in values)

    return judge


def _farther(rows: Rows) -> tuple[bool, str]:
    values = [row.estimation for row in _span(rows, "sites")]
    return values[-1] > 2 * values[0], ", ".join(f"{value:.4f}" for value in values)


def _gap_of_sites(rows: Rows) -> tuple[bool, str]:
    own = _span(rows, "sites")
    met = all((row.gap > 1e-3) == (row.sites < DIM) for row in own)
    return met, ", ".join(f"{row.sites}: {row.gap:.4f}" for row in own)


def _constant_gap(rows: Rows) -> tuple[bool, str]:
    gaps = [row.gap for row in _span(rows, "records")]
    return max(gaps) <= 2 * min(gaps), ", ".join(f"{gap:.4f}" for gap in gaps)


def _nearer(varied: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        values = [row.estimation + row.gap for row in _span(rows, varied)]
        return values[-1] < values[0] / 2, ", ".join(f"{value:.4f}" for value in values)

    return judge


def _line(rows: Rows, dataset: str, varied: str, letters: str) -> list[SiteRow]:
    """A curve by its letters: FL, AL (as published), FN, AN."""
    own = [
        row
        for row in rows.of(SiteRow, dataset=dataset, varied=varied)
        if row.method.startswith(f"{letters} ")
    ]
    kept = [row for row in own if row.method.endswith(("as published", "no privacy"))]
    return sorted(kept, key=lambda row: row.at)


def _equal(rows: Rows) -> tuple[bool, str]:
    pairs = list(
        zip(*(_line(rows, "mnist", "records", name) for name in ("FN", "AN")), strict=True)
    )
    gaps = [abs(one.mean - other.mean) for one, other in pairs]
    return max(gaps) <= _SLACK, "; ".join(percent(one.mean, other.mean) for one, other in pairs)


def _better(dataset: str, kind: str, varied: str = "records") -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        pairs = list(
            zip(*(_line(rows, dataset, varied, name + kind) for name in "FA"), strict=True)
        )
        less = [one.mean < other.mean for one, other in pairs]
        feature, mean = (average(line) for line in zip(*pairs, strict=True))
        told = "; ".join(percent(one.mean, other.mean) for one, other in pairs)
        return all(less) and exceeds(mean, feature), told

    return judge


def _costs(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        ends = {
            name: _line(rows, dataset, "epsilon", name)[0].mean for name in ("FL", "FN", "AL", "AN")
        }
        dearer = ends["FL"] > ends["FN"] + 0.02 and ends["AL"] > ends["AN"] + 0.02
        return dearer, ", ".join(f"{name} {percent(value)}" for name, value in ends.items())

    return judge


def _steadier(dataset: str, over: tuple[str, ...]) -> Judge:
    """The spread of n runs is itself known to a part 1 / sqrt(2 (n - 1)) of it, the mean of p
    spreads to 1 / sqrt(p) of that, and of two of them the ratio.
    """

    def judge(rows: Rows) -> tuple[bool, str]:
        lines = [
            [row for varied in over for row in _line(rows, dataset, varied, name)]
            for name in ("FL", "AL")
        ]
        feature, mean = (sum(row.std for row in line) / len(line) for line in lines)
        known = sum(row.runs - 1 for row in lines[0])
        return feature < mean * exp(-2 / sqrt(known)), percent(feature, mean)

    return judge


def _improves(dataset: str, varied: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        ends = [
            (line[0], line[-1])
            for line in (_line(rows, dataset, varied, name) for name in ("FL", "AL"))
        ]
        told = "; ".join(percent(first.mean, last.mean) for first, last in ends)
        return all(exceeds(first, last) for first, last in ends), told

    return judge


def _less_affected(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        costs = [_cost_of_noise(rows, dataset, letter) for letter in "FA"]
        pairs = list(zip(*costs, strict=True))
        told = "; ".join(percent(one.mean, other.mean) for one, other in pairs)
        return all(exceeds(other, one) for one, other in pairs), told

    return judge


def _cost_of_noise(rows: Rows, dataset: str, letter: str) -> list[Mean]:
    """By epsilon: how much more a method errs with privacy than without."""
    private, free = (_line(rows, dataset, "epsilon", letter + kind) for kind in "LN")
    return [
        Mean(one.mean - other.mean, hypot(one.std, other.std), one.runs)
        for one, other in zip(private, free, strict=True)
    ]


def _more_sites(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        first, *more = _line(rows, dataset, "sites", "FL")
        told = percent(*(row.mean for row in (first, *more)))
        return any(exceeds(first, row) for row in more), told

    return judge


def _worse_alone(dataset: str) -> Judge:
    def judge(rows: Rows) -> tuple[bool, str]:
        own = rows.of(SiteRow, dataset=dataset, varied="sites", method="one site, no privacy")
        own.sort(key=lambda row: row.at)
        return climbs(own), percent(*(row.mean for row in own))

    return judge
