"""By which state of the code rows were measured, and whether that is the present one.

    state = the papers' code behind a cell, module by module, and what the product's parts give for
    fixed seeds, case by case (tests/golden, where the repository is there)

Claim: rows of an equal state are what would be measured now, as far as the golden cases tell:
other files of the product may be moved, renamed and rewritten meanwhile, cases may be added, and a
long measurement is as good as new. Edges: outside of a clone there are no golden cases, so such
rows are of the present state only where nothing of the product's is asked for; and a state believes
that the golden cases are those of the sources beside them, which their own test says.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import tacit
from tacit_papers.sources import code_digests, imports_of, is_as_read

Golden = Mapping[str, Mapping[str, str]]  # a case of tests/golden, with digests of its parts

FILE = Path("tests") / "golden" / "digests.json"
_CLONE = Path(tacit.__file__).parents[2]  # src/tacit is in it; an installed package is in none
_GUESSES = "guesses"  # of a golden case: what the fitted model says of fixed rows
_MACHINERY = {
    f"tacit_papers.{name}" for name in ("runner", "costs", "rows_file", "sources", "state")
}  # run cells and keep their rows, and measure nothing


@dataclass(frozen=True)
class State:
    """`code` has a digest of each module of the papers, `golden` of each golden case; an empty one
    is of what changed while it was measured.
    """

    code: Mapping[str, str]
    golden: Mapping[str, str]

    def is_present(self, module: str, families: Collection[str], golden: Golden) -> bool:
        """Whether a cell of this module would be measured by the same code, with the same results
        in the golden cases whose names begin like this; of each family some must be known.
        """
        code = code_behind(module)
        now = {case: digest for case, digest in digests_of(golden).items() if case in self.golden}
        return self.code == code != {} and all(
            any(case.startswith(family) for case in now)
            and all(self.golden[case] == now[case] for case in now if case.startswith(family))
            for family in families
        )


def state_of(module: str) -> State:
    """The state of the sources at hand, for cells of a module."""
    return State(code_digests(papers_behind([module])), digests_of(golden_of_product()))


def what_stayed(state: State) -> State:
    """A state with nothing said of what is no longer so on disk: who edits or merges while a cell
    runs may get a mixture.
    """
    try:
        now = digests_of(golden_of_product())
    except (OSError, ValueError):  # it is being written just now
        now = {}
    return State(
        {name: digest if is_as_read(name) else "" for name, digest in state.code.items()},
        {case: digest if now.get(case) == digest else "" for case, digest in state.golden.items()},
    )


def code_behind(module: str) -> dict[str, str]:
    """Digests of the papers' code that runs when this module does; nothing of a module that is
    gone.
    """
    try:
        return code_digests(papers_behind([module]))
    except ValueError:
        return {}


def papers_behind(modules: Iterable[str]) -> set[str]:
    """All that these import and that measures, but for the product."""
    return {
        name
        for module in modules
        for name in imports_of(module)
        if name.partition(".")[0] != "tacit" and name not in _MACHINERY
    }


def digest_of_state(modules: Iterable[str], families: Iterable[str], golden: Golden) -> str:
    """One digest of the code behind these modules and of the golden cases that begin like this."""
    code, beginnings = code_digests(papers_behind(modules)), tuple(families)
    digest = blake2b(" ".join(code.values()).encode(), digest_size=6)
    for case, told in digests_of(golden).items():
        if case.startswith(beginnings):
            digest.update(f"{case} {told}".encode())
    return digest.hexdigest()


def digests_of(golden: Golden) -> dict[str, str]:
    """A digest of each golden case: of a fit what its model says, of others all parts."""
    return {case: _digest_of_case(golden[case]) for case in sorted(golden)}


def _digest_of_case(parts: Mapping[str, str]) -> str:
    told = {_GUESSES: parts[_GUESSES]} if _GUESSES in parts else dict(parts)
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=6).hexdigest()


def golden_of_product() -> Golden:
    """What the product's parts give for fixed seeds, as the clone that it runs from has it; nothing
    where it was installed.
    """
    return golden_in(_CLONE) if (_CLONE / FILE).is_file() else {}


def golden_in(clone: Path) -> Golden:
    """The golden cases of a clone."""
    found: Golden = json.loads((clone / FILE).read_text(encoding="utf-8"))
    return found
