"""Does what owners say count? Public only, private only and combined on made-up problems.

python -m benchmarks.problems --sample 28   (a subset of all sizes and kinds, by a fixed seed)
python -m benchmarks.problems --runs 3 --owners 30000 --public 50 300 --epsilon 0.25 1 4
python -m benchmarks.problems --trust "two servers" --owners 3000 --public 50 300 --epsilon 1
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.problems.families import FAMILIES
from benchmarks.problems.problem import KINDS, Setting
from benchmarks.problems.trial import CHOOSING, JUDGING, Trial, Verdict, trials
from tacit.sums import NOBODY, TRUSTS

_FACTOR, _SMALL = 1.5, 5e-3  # plan and measurement agree within the factor, or within half a point
_OWNERS, _PUBLIC = (1_000, 10_000, 100_000, 1_000_000), (20, 50, 200, 1_000, 2_000)
_OFTEN = (0.3, 0.3, 0.3, 0.1)  # a million owners take minutes: fewer of them, of one row each
_LEAST_FOR_TREES = 50  # public rows
_ROWS = (1, 1, 4)
_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def main() -> None:
    """A line per setting as soon as its runs are done, then what all of them say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.problems", description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--owners", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--public", nargs="*", type=int, default=[50, 300, 1000])
    parser.add_argument("--epsilon", nargs="*", type=float, default=_EPSILONS)
    parser.add_argument("--rows", type=int, default=1, help="rows of an owner")
    parser.add_argument("--kind", default="alike", choices=KINDS)
    parser.add_argument("--trust", default=NOBODY, choices=TRUSTS, help="whom owners trust")
    parser.add_argument("--sample", type=int, help="so many settings of all sizes and kinds")
    parser.add_argument("--most-owners", type=int, default=_OWNERS[-1], help="in the sample")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--choosing", action="store_true", help="seeds that constants saw")
    parser.add_argument("--out", type=Path, help="write the lines here as well")
    asked = parser.parse_args()
    if asked.trust != NOBODY and (asked.sample is not None or asked.kind == "own epsilons"):
        parser.error("sums of two servers have one epsilon for everybody")
    first, found, lines = CHOOSING if asked.choosing else JUDGING, list[Verdict](), list[str]()
    for setting in _settings(asked):
        seeds = range(first, first + asked.runs)
        placed = (replace(setting, seed=k) for k in seeds)
        seen = [trial for each in placed for trial in trials(each, asked.epsilon, asked.trust)]
        for verdict in _verdicts(seen):
            found.append(verdict)
            lines.append(_line(verdict))
            print(lines[-1], flush=True)
    lines += _summary(found)
    print("\n".join(lines[-7:]))
    if asked.out is not None:
        asked.out.write_text("\n".join(lines) + "\n")


def _settings(asked: argparse.Namespace) -> list[Setting]:
    """All that was asked for, or a sample of all sizes: families in turn, the rest drawn by a seed
    that is the same in every run.
    """
    if asked.sample is None:
        return [
            Setting(family, 0, owners, rows, rows=asked.rows, kind=asked.kind)
            for family in asked.families
            for owners in asked.owners
            for rows in asked.public
        ]
    coins, found = np.random.default_rng(0), list[Setting]()
    for place in range(asked.sample):
        family = asked.families[place % len(asked.families)]
        owners = int(coins.choice(_OWNERS, p=_OFTEN))
        public, each = (int(coins.choice(some)) for some in (_PUBLIC, _ROWS))
        kind = KINDS[int(coins.integers(0, len(KINDS)))]
        if kind == "trees":
            public = max(public, _LEAST_FOR_TREES)
        if kind == "skewed":
            owners, each = min(owners, _OWNERS[-2]), max(_ROWS)
        if owners == _OWNERS[-1]:
            each = 1
        few = min(owners, asked.most_owners)
        found.append(Setting(family, 0, few, public, rows=each, kind=kind))
    return found


def _verdicts(seen: Sequence[Trial]) -> list[Verdict]:
    places = dict.fromkeys(trial.place for trial in seen)
    return [Verdict.of([trial for trial in seen if trial.place == place]) for place in places]


def _line(verdict: Verdict) -> str:
    setting, epsilon = verdict.place
    owners = f"{setting.owners:>9,} x {setting.rows} {setting.kind}"
    return (
        f"{setting.family:22} {owners:26} {setting.public_rows:>5} rows, epsilon {epsilon:<5g}"
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
    unclear = (rise - 2 * errors <= _FACTOR * promised) & (
        promised <= _FACTOR * (rise + 2 * errors)
    )
    sign = (rise >= -2 * errors) | (promised <= _SMALL)
    missed = [  # what public rows alone bring is promised, too, where nobody is to be asked
        v for v in found if v.collect == 0 and v.rise - v.promised > max(2 * v.rise_error, _SMALL)
    ]
    falls = [
        (a, b)
        for a in found
        for b in found
        if a.place[0] == b.place[0]
        and a.place[1] < b.place[1]
        and a.combined - b.combined > 2 * max(np.hypot(a.rise_error, b.rise_error), 1e-3)
    ]
    rank = float(spearmanr(rise, promised).statistic) if len(found) > 2 else float("nan")
    return [
        f"settings: {len(found)}, runs of each: {min(v.runs for v in found)}",
        f"not below the better beyond one standard error: {_part(v.not_behind for v in found)}",
        f"below public only beyond two: {sum(not v.harmless for v in found)}",
        f"pairs of epsilons where accuracy falls beyond noise: {len(falls)}",
        f"plan within {_FACTOR:g} times or half a point: {_part(near)}, within two standard errors "
        f"of that: {_part(near | unclear)}",
        f"wrong in sign beyond noise: {int((~sign).sum())}, 'do not collect' where it would have "
        f"paid: {len(missed)}",
        f"rank correlation of plan and measurement: {rank:.2f}",
    ]


def _part(flags: Iterable[object]) -> str:
    listed = [bool(flag) for flag in flags]
    return f"{sum(listed)} of {len(listed)} ({100 * sum(listed) / len(listed):.0f} %)"


if __name__ == "__main__":
    main()
