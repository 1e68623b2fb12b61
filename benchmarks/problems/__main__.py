"""Does what owners say count? Public only, private only and combined on made-up problems.

python -m benchmarks.problems --runs 3 --owners 10000 100000 --public 50 300 1000 --epsilon 0.25 1 4
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.problems.families import FAMILIES
from benchmarks.problems.problem import Setting
from benchmarks.problems.trial import CHOOSING, JUDGING, Trial, Verdict, trials

_FACTOR, _SMALL = 1.5, 5e-3  # plan and measurement agree within the factor, or within half a point


def main() -> None:
    """A line per setting as soon as its runs are done, then what all of them say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.problems", description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--owners", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--public", nargs="*", type=int, default=[50, 300, 1000])
    parser.add_argument("--epsilon", nargs="*", type=float, default=[0.25, 1.0, 4.0])
    parser.add_argument("--rows", type=int, default=1, help="rows of an owner")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--choosing", action="store_true", help="seeds that constants saw")
    parser.add_argument("--out", type=Path, help="write the lines here as well")
    asked = parser.parse_args()
    first, found, lines = CHOOSING if asked.choosing else JUDGING, list[Verdict](), list[str]()
    for family in asked.families:
        for owners in asked.owners:
            for rows in asked.public:
                seen = [
                    trial
                    for seed in range(first, first + asked.runs)
                    for trial in trials(
                        Setting(family, seed, owners, rows, asked.rows), asked.epsilon
                    )
                ]
                for verdict in _verdicts(seen):
                    found.append(verdict)
                    lines.append(_line(verdict))
                    print(lines[-1], flush=True)
    lines += _summary(found)
    print("\n".join(lines[-6:]))
    if asked.out is not None:
        asked.out.write_text("\n".join(lines) + "\n")


def _verdicts(seen: Sequence[Trial]) -> list[Verdict]:
    places = dict.fromkeys(trial.place for trial in seen)
    return [Verdict.of([trial for trial in seen if trial.place == place]) for place in places]


def _line(verdict: Verdict) -> str:
    family, owners, rows, epsilon = verdict.place
    return (
        f"{family:22} {owners:>9,} owners, {rows:>5} rows, epsilon {epsilon:<5g}"
        f" public {verdict.public:.3f} private {verdict.private:.3f}"
        f" combined {verdict.combined:.3f} best {verdict.best:.3f}"
        f" lead {100 * verdict.lead:+.2f} +- {100 * verdict.lead_error:.2f}"
        f" rise {100 * verdict.rise:+.2f} +- {100 * verdict.rise_error:.2f}"
        f" promised {100 * verdict.promised:+.2f}{'' if verdict.collect else ' (do not collect)'}"
        f"{'' if verdict.not_behind else ' BEHIND'}{'' if verdict.harmless else ' HARM'}"
    )


def _summary(found: Sequence[Verdict]) -> list[str]:
    """What all settings say together."""
    rise, promised = (np.array([getattr(v, name) for v in found]) for name in ("rise", "promised"))
    near = (np.abs(rise - promised) <= _SMALL) | (
        (promised <= _FACTOR * rise) & (rise <= _FACTOR * promised)
    )
    errors = np.array([v.rise_error for v in found])
    sign = (rise >= -2 * errors) | (promised <= _SMALL)
    missed = [v for v in found if v.collect == 0 and v.rise > max(2 * v.rise_error, _SMALL)]
    falls = [
        (a, b)
        for a in found
        for b in found
        if a.place[:3] == b.place[:3]
        and a.place[3] < b.place[3]
        and a.combined - b.combined > 2 * max(np.hypot(a.rise_error, b.rise_error), 1e-3)
    ]
    rank = float(spearmanr(rise, promised).statistic) if len(found) > 2 else float("nan")
    return [
        f"settings: {len(found)}, runs of each: {min(v.runs for v in found)}",
        f"not below the better beyond one standard error: {_part(v.not_behind for v in found)}",
        f"below public only beyond two: {sum(not v.harmless for v in found)}",
        f"pairs of epsilons where accuracy falls beyond noise: {len(falls)}",
        f"plan within {_FACTOR:g} times or half a point: {_part(near)}, in sign: {_part(sign)}",
        f"rank correlation {rank:.2f}, 'do not collect' where it would have paid: {len(missed)}",
    ]


def _part(flags: object) -> str:
    listed = [bool(flag) for flag in flags]  # type: ignore[attr-defined]
    return f"{sum(listed)} of {len(listed)}"


if __name__ == "__main__":
    main()
