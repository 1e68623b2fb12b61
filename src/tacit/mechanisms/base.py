"""The protocol of a mechanism: share -> report -> totals -> unbiased estimate of known variance.

A mechanism is a specification (epsilon and space) that knows how to draw and how to read reports.
What all of them share is here: checking and clipping input, walking over owners in blocks, feeding
each owner's tape of coins to the kernel, adding reports up in whole numbers. A mechanism's own file
holds its kernel, its constants and its variance; its proof note (the .md beside it) says why it is
private. Totals are whole numbers like reports: adding them is exact, so the same reports give the
same bytes in any order, in blocks, or on several workers.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.kernels import pieces, spread
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.spaces import Space
from tacit.mechanisms.streams import Stream

# coins drawn at a time: small enough for the cache, large enough to amortise calls
_BLOCK_WORDS = 1 << 17
_BLOCK_LEAST = 4096  # rows: fewer are not worth a thread


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomised answers of some owners.

    Parameters
    ----------
    points : array of whole numbers, shape (n, slots)
        On the mechanism's public grid.
    indices : array of whole numbers, shape (n, slots) or (n, 0)
        Which coordinates were sampled; no columns where all are reported.
    """

    points: AnyArray
    indices: AnyArray

    @classmethod
    def of(cls, points: AnyArray) -> "Reports":
        """Reports of a mechanism that samples no coordinates."""
        return cls(points, np.zeros((len(points), 0), dtype=np.uint32))

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: slice | IntArray | BoolArray) -> "Reports":
        return Reports(self.points[rows], self.indices[rows])

    def __setitem__(self, rows: IntArray, other: "Reports") -> None:
        self.points[rows] = other.points
        self.indices[rows] = other.indices

    @property
    def form(self) -> tuple[object, ...]:
        """Types and widths, whatever the number of rows."""
        return tuple((array.dtype.str, array.shape[1:]) for array in (self.points, self.indices))

    @property
    def nbytes(self) -> int:
        return int(self.points.nbytes + self.indices.nbytes)


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over reports, kept apart by epsilon level (and by branch, for a mechanism that mixes
    two). A report decodes to whole numbers z; its estimate is scale * z + offset.

    Parameters
    ----------
    counts : array of whole numbers, shape (levels,)
        How many reports were added.
    sums, squares : arrays of Python integers, shape (levels * branches, dim)
        The sums of z and of z^2.
    scales, offsets : arrays of floats, shape (levels * branches,)
        What makes an estimate of z.
    weights : array of floats, shape (levels,)
        Inverse variances, by which `mean` weighs levels.
    """

    counts: IntArray
    sums: AnyArray
    squares: AnyArray
    scales: FloatArray
    offsets: FloatArray
    weights: FloatArray

    def __add__(self, other: Self) -> "Totals":
        if self.sums.shape != other.sums.shape or not np.array_equal(self.scales, other.scales):
            raise ValueError("totals of different mechanisms cannot be added")
        return replace(
            self,
            counts=self.counts + other.counts,
            sums=self.sums + other.sums,
            squares=self.squares + other.squares,
        )

    @property
    def n(self) -> int:
        """How many reports were added."""
        return int(self.counts.sum())

    @property
    def mean(self) -> FloatArray:
        """The estimated mean share, (dim,): levels weighted by inverse variance."""
        return np.asarray(self._shares_of_levels() @ self._level_means())

    @property
    def stderr(self) -> FloatArray:
        """Standard error of `mean`, (dim,), from the spread of the reports themselves.

        It covers the mechanism's noise and the owners' own spread. With one report in a level
        nothing is known of its spread: infinity.
        """
        per_branch = len(self.scales) // len(self.counts)
        scales = self.scales.reshape(-1, per_branch, 1)
        raw = self.squares.astype(np.float64).reshape(len(self.counts), per_branch, -1)
        centred = self._level_means() - self._level_offsets()
        spread = (scales**2 * raw).sum(axis=1) / self._at_least_one() - centred**2
        freedom = np.where(self.counts > 1, self.counts - 1, 0)[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(freedom > 0, np.maximum(spread, 0.0) / freedom, np.inf)
        shares = self._shares_of_levels()[:, np.newaxis]
        # a level without reports has no say, and no variance
        known = np.where(shares > 0, variance, 0.0)
        return np.asarray(np.sqrt(np.sum(shares**2 * known, axis=0)))

    def _at_least_one(self) -> FloatArray:
        return np.maximum(self.counts, 1).astype(np.float64)[:, np.newaxis]

    def _level_offsets(self) -> FloatArray:
        return self.offsets.reshape(len(self.counts), -1)[:, :1]

    def _level_means(self) -> FloatArray:
        scaled = self.scales[:, np.newaxis] * self.sums.astype(np.float64)
        summed = scaled.reshape(len(self.counts), -1, self.sums.shape[1]).sum(axis=1)
        return np.asarray(summed / self._at_least_one() + self._level_offsets())

    def _shares_of_levels(self) -> FloatArray:
        if not self.n:
            raise ValueError("no reports: there is no mean of nothing")
        pull = self.counts * self.weights
        return np.asarray(pull / pull.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(ABC):
    """A randomiser over a space.

    Rows of equal epsilon form a level; constants are computed once per level, and means weight
    levels by inverse variance. (If owners' choice of epsilon depends on their data, that mean leans
    towards the owners with larger epsilon; with one level there is no such effect.)

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report: one number for everybody, or one per row, as owners choose.
    space : Space
        Where shares live. What lies outside is clipped.
    menu : array of floats, default None
        All values of epsilon that may occur, so that parts of a cohort add up; left out when
        epsilon is one number.
    """

    epsilon: float | FloatArray
    space: Space
    menu: FloatArray | None = None
    levels: FloatArray = field(init=False, repr=False)  # the distinct values of epsilon, rising

    branches: ClassVar[int] = 1  # kinds of report that decode with different scales

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self._accept(self.epsilon))
        if not isinstance(self.space, Space):
            raise bad("space", "a Space such as Box(dim=50)", self.space)
        if self.menu is not None and isinstance(self.epsilon, float):
            raise bad("menu", "left out when epsilon is one number", self.menu)
        offered = self.epsilon if self.menu is None else self.menu
        object.__setattr__(self, "levels", np.unique(np.atleast_1d(offered)))
        self._prepare()

    @classmethod
    def over(cls, space: Space, epsilon: float | FloatArray, menu: FloatArray) -> "Mechanism":
        """For one epsilon, or for one per owner out of `menu`."""
        return cls(space=space, epsilon=epsilon, menu=None if isinstance(epsilon, float) else menu)

    # What a mechanism's own file provides

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the constants of all levels, refusing an epsilon that they cannot represent."""

    @abstractmethod
    def blank(self, n: int) -> Reports:
        """Room for n reports."""

    @abstractmethod
    def _words(self, level: int) -> int:
        """Coins that one owner of this level needs, unless some are rejected."""

    @abstractmethod
    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        """Fill `out`; answer which rows are done. The others are drawn again, on longer tapes."""

    @abstractmethod
    def _decode(self, level: int, reports: Reports) -> FloatArray:
        """Every report's estimate, (n, dim)."""

    @abstractmethod
    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        """Sums of z and of z^2 over the reports, whole numbers, each (branches, dim)."""

    @abstractmethod
    def _valid(self, level: int, reports: Reports) -> BoolArray:
        """Which reports lie on the mechanism's grid."""

    @abstractmethod
    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        """Variance of each coordinate's estimate for shares x inside the space, (n, dim)."""

    @property
    @abstractmethod
    def _scales(self) -> FloatArray:
        """What z is multiplied with, (levels * branches,)."""

    @property
    def _clips_itself(self) -> bool:
        """Whether `_draw` clips what it reads, so that shares it does not read need no touching."""
        return False

    @property
    def _offsets(self) -> FloatArray:
        """What is added to scale * z, (levels * branches,)."""
        return np.zeros(len(self.levels) * self.branches)

    @property
    @abstractmethod
    def risks(self) -> FloatArray:
        """Per level: the largest mean squared error ||estimate - x||^2 over the space."""

    @property
    @abstractmethod
    def spans(self) -> FloatArray:
        """Per level: at least the distance between the estimates of any two valid reports."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Bits of one report (the largest, where owners differ in epsilon)."""

    # What all mechanisms share

    def _accept(self, epsilon: object) -> float | FloatArray:
        """A finite float above zero, or a vector of such that nobody can change."""
        if np.ndim(epsilon) == 0:  # type: ignore[arg-type]
            scalar = isinstance(epsilon, np.generic | np.ndarray)
            return positive("epsilon", epsilon.item() if scalar else epsilon)  # type: ignore[attr-defined]
        array = np.array(epsilon)
        if array.dtype.kind not in "fiu" or array.ndim != 1:
            shape = f"{array.dtype} of shape {array.shape}"
            raise bad("epsilon", "a number or a vector of numbers", shape)
        wrong = array[~((array > 0) & (array < np.inf))]
        if wrong.size:
            raise bad("epsilon", "finite and > 0 in every row", wrong[0].item())
        array = array.astype(np.float64)
        array.setflags(write=False)
        return array

    @property
    def risk(self) -> float:
        """The largest mean squared error of one estimate, over the space and over owners."""
        return float(self.risks.max())

    @property
    def work(self) -> int:
        """Steps that randomising one share takes at most: what is clipped, drawn and packed."""
        return 16 * (self.space.dim + max(self._words(level) for level in range(len(self.levels))))

    def select(self, rows: slice | IntArray) -> Self:
        """The same mechanism for some of the rows (itself, when epsilon is one number)."""
        if isinstance(self.epsilon, float):
            return self
        return replace(self, epsilon=self.epsilon[rows], menu=self.levels)

    def randomize(self, shares: object, stream: Stream) -> Reports:
        """One report per row of `shares` (n, dim). Row i uses tape i of `stream`."""
        shares = matrix("shares", shares, self.space.dim)
        level_of_row = self._level_of_rows(len(shares))
        words, reports = self._words(len(self.levels) - 1), self.blank(len(shares))

        def release(rows: slice) -> None:
            for level, chosen in _split(level_of_row, rows):
                self._release(level, shares[chosen], reports, chosen, stream)

        # Blocks are independent, each row has its own tape: threads change nothing.
        spread(release, _blocks(len(shares), words))
        return reports

    def estimate(self, reports: Reports) -> FloatArray:
        """Unbiased estimates of the shares, (n, dim), dense; for millions of owners: `totals`."""
        level_of_row = self._level_of_rows(len(reports))
        estimates = np.empty((len(reports), self.space.dim))
        for level, chosen in _split(level_of_row, slice(0, len(reports))):
            estimates[chosen] = self._decode(level, self._require_valid(level, reports[chosen]))
        return estimates

    def totals(self, reports: Reports) -> Totals:
        """The reports added up in whole numbers; needs memory for one block, whatever n."""
        level_of_row, offsets = self._level_of_rows(len(reports)), self._offsets
        shape = (len(self.levels), self.branches, self.space.dim)
        sums, squares = np.zeros(shape, dtype=object), np.zeros(shape, dtype=object)
        counts = np.zeros(len(self.levels), dtype=np.int64)
        for rows in _blocks(len(reports), 1):
            for level, chosen in _split(level_of_row, rows):
                block = self._require_valid(level, reports[chosen])
                block_sums, block_squares = self._add(level, block)
                sums[level] += block_sums.astype(object)
                squares[level] += block_squares.astype(object)
                counts[level] += len(block)
        weights = np.array([1 / risk if risk > 0 else 1.0 for risk in self.risks])
        return Totals(
            counts=counts,
            sums=sums.reshape(-1, self.space.dim),
            squares=squares.reshape(-1, self.space.dim),
            scales=self._scales,
            offsets=offsets,
            weights=weights,
        )

    def mean(self, reports: Reports) -> FloatArray:
        """The estimated mean share, (dim,), without a dense matrix."""
        return self.totals(reports).mean

    def influence(self, n: int) -> float:
        """How far one of n reports can move their mean, whatever it says, in Euclidean length.

        Claim: replacing one valid report by another moves `mean` by at most this. Proof: with one
        level the mean is that of n estimates, two of which are at most `spans` apart. With several,
        a report of level l weighs w_l = 1 / risk, and all of them n min(w) at least. In place of
        one of its own level it moves the mean by w_l spans_l / (n min(w)). One of level a in place
        of one of level b moves it from where the others are, and back: by w_a d_a and w_b d_b over
        n min(w), with d_l the distance from an estimate of level l to a mean of others. Estimates
        of every level surround the space, so that from one to a share is no farther than `spans`,
        and d_l is at most spans_l + max(spans).

        >>> from tacit import Box, Duchi
        >>> round(Duchi(epsilon=1.0, space=Box(dim=1)).influence(1000) * 1000, 2)
        4.33
        """
        weights = 1 / self.risks if (self.risks > 0).all() else np.ones(len(self.levels))
        same = weights * self.spans
        other = np.sort(weights * (self.spans + self.spans.max()))[-2:].sum()
        most = max(same.max(), other) if len(self.levels) > 1 else same.max()
        return float(most / weights.min() / whole("n", n, 1))

    def variance(self, x: object) -> FloatArray:
        """Variance of each coordinate's estimate, (n, dim), for shares x as clipped."""
        inside = self.space.clip(matrix("x", x, self.space.dim))
        variances = np.empty_like(inside)
        for level, chosen in _split(self._level_of_rows(len(inside)), slice(0, len(inside))):
            variances[chosen] = self._variance(level, inside[chosen])
        return variances

    def valid(self, reports: Reports) -> BoolArray:
        """Which reports an honest owner could have sent; the others must not be estimated."""
        ok = np.zeros(len(reports), dtype=np.bool_)
        if reports.form == self.blank(0).form:
            for level, chosen in _split(self._level_of_rows(len(reports)), slice(0, len(reports))):
                ok[chosen] = self._valid(level, reports[chosen])
        return ok

    def _release(
        self,
        level: int,
        shares: FloatArray,
        reports: Reports,
        chosen: slice | IntArray,
        stream: Stream,
    ) -> None:
        """Clip and draw some rows of one level. A longer tape begins with the shorter one."""
        words = self._words(level)
        rows = np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen
        tape = stream.words(rows, 0, words)
        fresh = reports[chosen] if isinstance(chosen, slice) else self.blank(len(rows))
        inside = shares if self._clips_itself else self.space.clip(shares)
        done = self._draw(level, inside, tape, fresh)
        left = _NOBODY if done.all() else np.flatnonzero(~done)
        tape = tape[left] if left.size else tape
        while left.size:
            tape = np.hstack([tape, stream.words(rows[left], tape.shape[1], words)])
            again = self.blank(left.size)
            done = self._draw(level, inside[left], tape, again)
            fresh[left[done]] = again[done]
            left, tape = left[~done], tape[~done]
        if not isinstance(chosen, slice):
            reports[chosen] = fresh

    def _level_of_rows(self, n: int) -> IntArray | None:
        """Each row's level; None when there is only one."""
        if isinstance(self.epsilon, float):
            return None
        if n != len(self.epsilon):
            raise ValueError(
                f"epsilon has {len(self.epsilon)} rows, but {n} were given; use select(rows)"
            )
        return self._level_of_each

    @cached_property
    def _level_of_each(self) -> IntArray:
        """Where epsilon is one per row, the level of each."""
        level = np.searchsorted(self.levels, self.epsilon).clip(max=len(self.levels) - 1)
        if not np.array_equal(self.levels[level], self.epsilon):
            raise bad("epsilon", "a value of the menu in every row", self.menu)
        return level

    def _latest(self, level: int, tape: WordArray) -> WordArray:
        """The words of this attempt, where a rejected word makes a row be drawn again whole."""
        return np.ascontiguousarray(tape[:, -self._words(level) :])

    def _require_valid(self, level: int, reports: Reports) -> Reports:
        if reports.form != self.blank(0).form:
            raise ValueError("reports have another form than this mechanism's; see valid()")
        wrong = np.count_nonzero(~self._valid(level, reports))
        if wrong:
            some = f"{wrong} of {len(reports)} reports"
            raise ValueError(f"{some} are not of this mechanism; see valid()")
        return reports


_NOBODY = np.zeros(0, dtype=np.int64)


def _blocks(n: int, words: int) -> list[slice]:
    """Blocks of rows: as many as cache and cores like, none smaller than is worth a thread."""
    return pieces(n, least=_BLOCK_LEAST, most=max(1, _BLOCK_WORDS // words))


def _split(level_of_row: IntArray | None, rows: slice) -> Iterator[tuple[int, slice | IntArray]]:
    """The rows of a block, by level; one level needs no copy."""
    part = np.zeros(1, dtype=np.int64) if level_of_row is None else level_of_row[rows]
    if len(part) == 1 or (len(part) and (part == part[0]).all()):
        yield int(part[0]), rows
    else:
        for level in np.unique(part).tolist():
            yield level, rows.start + np.flatnonzero(part == level)


def matrix(name: str, value: object, columns: int) -> FloatArray:
    """`value` as a C-contiguous (n, columns) array of float64; entries may be anything, NaN
    included.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (n, {columns}), got {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)
