"""Duchi's mechanism as the papers compare with it: ties count as agreement.

Claim: for even dimensions a sign vector that agrees with the input in half of the coordinates
weighs A, like those that agree in more (Wang et al. 2019, who mend Duchi's law so); tacit's own
`Duchi` lets it weigh B. Proof: every vector weighs A or B for every input, and how many weigh A
does not depend on the input, so that both are epsilon-LDP with A / B <= e^epsilon. Variance:
scale^2 - x_j^2 in every coordinate. Both laws have the same E[output] times their total, and more
ties at weight A make the total larger: at equal epsilon tacit's own has the smaller scale, 4.75
against 6.75 for 20 dimensions at epsilon 5. Edges: for odd dimensions both are the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.duchi import Duchi, DuchiLaw
from tacit.mechanisms.streams import high_half, high_product, low_half, round_up, unfair_below


@dataclass(frozen=True)
class TextbookLaw(DuchiLaw):
    """Vectors that agree with the input in at least half of the coordinates weigh A.

    >>> from tacit.mechanisms.streams import Odds
    >>> TextbookLaw(dim=2, odds=Odds(high=3, low=1)).weights((1, -1))
    {(-1, -1): 3, (-1, 1): 1, (1, -1): 3, (1, 1): 3}
    """

    def weights(self, signs: Any) -> dict[tuple[int, ...], int]:
        agreement = {
            out: sum(a * b for a, b in zip(out, signs, strict=True)) for out in self.inputs
        }
        return {
            out: self.odds.high if lean >= 0 else self.odds.low for out, lean in agreement.items()
        }

    @property
    def total(self) -> int:
        ties = comb(self.dim, self.dim // 2) if self.dim % 2 == 0 else 0
        leaning = ((1 << self.dim) + ties) // 2
        return self.odds.high * leaning + self.odds.low * ((1 << self.dim) - leaning)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextbookDuchi(Duchi):
    """Duchi's mechanism with ties on the heavy side."""

    @cached_property
    def laws(self) -> list[DuchiLaw]:
        return [TextbookLaw(law.dim, law.odds) for law in super().laws]

    @property
    def _kernel(self) -> Callable[..., None]:
        return _draw_signs


def as_published(kind: type[Mechanism]) -> type[Mechanism]:
    """The mechanism that papers mean by the name of one of ours."""
    return TextbookDuchi if kind is Duchi else kind


@kernel
def _draw_signs(
    shares: FloatArray, tape: WordArray, law: Any, signs: WordArray, done: BoolArray
) -> None:
    """Draw fair signs. A tie is kept; else, of 2 A equally likely numbers, the first A turn all
    signs towards the input, the next B away from it, and the others draw again: A : A : B.
    """
    high, low, radius, mask = law
    dim = shares.shape[1]
    first_limb = (dim + 1) // 2
    bound = high + high
    unfair = unfair_below(bound)
    for i in range(len(shares)):
        lean = 0
        for j in range(dim):
            coins = tape[i, j // 2]
            coin = low_half(coins) if j % 2 == 0 else high_half(coins)
            plus = round_up((shares[i, j] / radius + 1.0) * 0.5, coin)
            sign = int((tape[i, first_limb + j // 64] >> np.uint64(j % 64)) & np.uint64(1))
            lean += 1 if plus == sign else -1
        word = tape[i, first_limb + len(mask)]
        u = high_product(word, bound)
        if lean != 0 and (word * bound < unfair or u >= high + low):
            done[i] = False
        turn = (lean > 0) != (u < high) and lean != 0
        for limb in range(len(mask)):
            drawn = tape[i, first_limb + limb]
            signs[i, limb] = (~drawn if turn else drawn) & mask[limb]
