"""Additive sharing between two servers, each adding its own exact noise. Proof: two_servers.md.

Claim: unit owner; adjacency one owner's rows replaced by any others, the owner present in both;
adversary either server alone, following the protocol or not, with all other owners and everybody
who sees the answer; epsilon exactly, for ONE sum. Each server adds the full noise, so this holds
even if the other adds none. Two servers that collude see every term: then there is no privacy at
all. Proof: one half of a term is uniform whatever the term; the other server's release adds
discrete Laplace noise. Variance: two draws, 2 / (2 sinh(1 / 2t)^2) steps^2 for each entry, twice
what one trusted server would need. Edges: owners heard by one server only are left out by both; the
sum of the others stays exact but for the noise. An owner that does not follow the protocol can
spoil the sum (halves cannot be seen to be in range), nobody's privacy.

An owner calls `split`; a server is a `SumServer`; whoever holds both releases calls `open_sum`.
What the literature calls a secret share is called a half here: in this package a share is what
never leaves its owner.
"""

from dataclasses import dataclass
from math import sinh

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.laplace import RUNS, draw_noise, survives
from tacit.mechanisms.streams import Stream
from tacit.sums.base import SecureSum, SumAnswer, SumRefusedError, blocks, decode, encode

_WORDS = 28  # coins per draw, unless it needs more
_OWN_PART = 40  # binary digits of the words that one of many draws from a tape may use


def two_sided_geometric(count: int, scale: int, stream: Stream) -> IntArray:
    """`count` draws; draw i is a function of tape i of `stream` alone.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric(count, 4, seeded(1)) for count in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    drawn = np.empty(count, dtype=np.int64)
    for rows in blocks(count):
        drawn[rows] = _draw_rows(np.arange(rows.start, rows.stop), np.uint64(scale), stream)
    return drawn


def two_sided_geometric_rows(rows: int, each: int, scale: int, stream: Stream) -> IntArray:
    """`each` draws for every row, (rows, each); row i is a function of tape i of `stream` alone.

    Draw j begins with its own few words near the start of the tape; if these are not enough, it
    goes on in a part of the tape that is its own.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric_rows(rows, 5, 4, seeded(1)) for rows in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    tape = stream.words(np.arange(rows), 0, each * _WORDS).reshape(rows * each, _WORDS)
    drawn, done = np.empty(len(tape), dtype=np.int64), np.empty(len(tape), dtype=np.bool_)
    _fill(tape, np.uint64(scale), drawn, done)
    for draw in np.flatnonzero(~done).tolist():
        row, longer, at = np.array([draw // each]), tape[draw], ((draw % each) + 1) << _OWN_PART
        while not done[draw]:
            longer = np.append(longer, stream.words(row, at, _WORDS)[0])
            drawn[draw], end = endless_laplace(longer, 0, np.uint64(scale))
            done[draw], at = end >= 0, at + _WORDS
    return drawn.reshape(rows, each)


def variance(scale: int) -> float:
    """Variance of one draw, in steps^2."""
    return 1 / (2 * sinh(1 / (2 * scale)) ** 2)


def _draw_rows(rows: IntArray, scale: np.uint64, stream: Stream) -> IntArray:
    """One draw per row. A longer tape begins with the shorter one: a draw is a function of it."""
    drawn, done = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.bool_)
    tape = stream.words(rows, 0, _WORDS)
    _fill(tape, scale, drawn, done)
    left = np.flatnonzero(~done)
    tape = tape[left]
    while left.size:
        tape = np.hstack([tape, stream.words(rows[left], tape.shape[1], _WORDS)])
        again, done = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.bool_)
        _fill(tape, scale, again, done)
        drawn[left[done]] = again[done]
        left, tape = left[~done], tape[~done]
    return drawn


@kernel
def endless_laplace(tape: WordArray, at: int, scale: np.uint64) -> tuple[int, int]:
    """One draw from place `at` on, and the next place on the tape, -1 when the tape has ended."""
    z, at = draw_noise(tape, at, scale)
    step = int(scale) if z > 0 else -int(scale)
    going = abs(z) >= RUNS * int(scale)
    while going and at >= 0:
        going, at = survives(tape, at, scale, scale)
        if going:
            z += step
    return z, at


@kernel
def _fill(tape: WordArray, scale: np.uint64, drawn: IntArray, done: BoolArray) -> None:
    for i in range(len(tape)):
        drawn[i], at = endless_laplace(tape[i], 0, scale)
        done[i] = at >= 0


@dataclass(frozen=True, kw_only=True)
class TwoServers(SecureSum):
    """The default sum.

    >>> from tacit import seeded
    >>> answer = TwoServers(epsilon=1.0).total(np.full((1000, 2), 0.25), seeded(7))
    >>> answer.n, answer.stderr.round(3)
    (1000, array([4., 4.]))
    >>> bool((abs(answer.sums - 250) < 8 * answer.stderr).all())
    True
    """

    def total(self, terms: object, stream: Stream) -> SumAnswer:
        rows = self.accept(terms)
        a, b = SumServer(self, *rows.shape), SumServer(self, *rows.shape)
        for block in blocks(len(rows)):
            owners = np.arange(block.start, block.stop)
            half_a, half_b = split(owners, rows[block], self.steps, stream.child("masks"))
            a.receive(half_a)
            b.receive(half_b)
        release_a = a.release(b.present, stream.child("noise", "a"))
        release_b = b.release(a.present, stream.child("noise", "b"))
        return open_sum(release_a, release_b)


@dataclass(frozen=True, eq=False)
class Half:
    """What one server receives: for each of `owners` (m,) a row of `words` (m, k), uniform on
    its own.
    """

    owners: IntArray
    words: WordArray


def split(owners: IntArray, terms: FloatArray, steps: int, stream: Stream) -> tuple[Half, Half]:
    """At the owner: a mask for one server, the encoded term minus the mask, modulo 2^64, for the
    other.

    Owner o reads the first k words of tape o, which must serve no second term.
    """
    mask = stream.words(owners, 0, terms.shape[1])
    return Half(owners, mask), Half(owners, encode(terms, steps) - mask)


@dataclass(frozen=True, eq=False)
class Release:
    """What a server publishes, once: who was counted (owners,), and the noisy sum of their
    halves (k,).
    """

    spec: TwoServers
    counted: BoolArray
    words: WordArray


class SumServer:
    """One of the two servers, for one batch of owners 0 .. owners-1 with k entries each.

    `present` says whose halves have arrived; `duplicates` counts the halves refused because their
    owner's had. It keeps 8 k + 1 bytes per owner, until the release.
    """

    def __init__(self, spec: TwoServers, owners: int, k: int) -> None:
        self.spec = spec
        self.duplicates = 0
        self.present = np.zeros(whole("owners", owners, 0), dtype=np.bool_)
        self._words: WordArray | None = np.zeros(
            (len(self.present), whole("k", k, 1)), dtype=np.uint64
        )
        self._scale = spec.scale(k)

    def receive(self, half: Half) -> None:
        """Keep the first half of each owner; count and refuse any other."""
        words = self._open_batch()
        fits = (
            half.owners.dtype.kind in "iu"
            and half.owners.ndim == 1
            and half.words.dtype == np.uint64
        )
        if not fits or half.words.shape != (len(half.owners), words.shape[1]):
            raise bad(
                "half",
                f"one row of {words.shape[1]} words per numbered owner",
                f"shape {half.words.shape}",
            )
        if not np.all((half.owners >= 0) & (half.owners < len(words))):
            raise ValueError(f"owners of a half must lie in 0 .. {len(words) - 1}")
        first = np.unique(half.owners, return_index=True)[1]
        fresh = first[~self.present[half.owners[first]]]
        words[half.owners[fresh]] = half.words[fresh]
        self.present[half.owners[fresh]] = True
        self.duplicates += len(half.owners) - len(fresh)

    def release(self, at_other: BoolArray, stream: Stream) -> Release:
        """The noisy sum over the owners present here and at the other server. Once; then the
        halves are forgotten.
        """
        words = self._open_batch()
        if at_other.dtype != np.bool_ or at_other.shape != self.present.shape:
            raise bad(
                "at_other",
                f"{len(self.present)} truth values",
                f"{at_other.dtype} of shape {at_other.shape}",
            )
        counted = self.present & at_other
        if not np.count_nonzero(counted) >= self.spec.minimum:
            found = np.count_nonzero(counted)
            raise SumRefusedError(
                f"a sum needs at least minimum={self.spec.minimum} owners at both servers, "
                f"got {found}"
            )
        self._words = None
        words[~counted] = 0
        noise = two_sided_geometric(words.shape[1], self._scale, stream)
        return Release(self.spec, counted, words.sum(axis=0) + noise.view(np.uint64))

    def _open_batch(self) -> WordArray:
        if self._words is None:
            raise SumRefusedError("this batch was released; a server releases a batch once")
        return self._words


def open_sum(a: Release, b: Release) -> SumAnswer:
    """Both releases together: the sum of the counted owners' terms, with the noise of both
    servers.
    """
    if (
        a.spec != b.spec
        or a.words.shape != b.words.shape
        or not np.array_equal(a.counted, b.counted)
    ):
        raise SumRefusedError(
            "the two releases are not of the same batch: owners counted and parameters must "
            "be equal"
        )
    k = len(a.words)
    error = np.sqrt(2 * variance(a.spec.scale(k))) / a.spec.steps
    return SumAnswer(
        decode(a.words + b.words, a.spec.steps), np.full(k, error), int(np.count_nonzero(a.counted))
    )
