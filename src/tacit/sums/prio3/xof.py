"""XofTurboShake128 of the draft, over many owners at once: seeds from seeds, field elements from
seeds.

Inputs are bytes of everybody's own, (n, length), or of all, `bytes`. Section "Extendable Output
Functions".
"""

import numpy as np

from tacit._util.types import ByteArray, WordArray
from tacit.sums.prio3.fields import Field
from tacit.sums.prio3.keccak import turboshake128

SEED = 32
_DOMAIN = 1
_SPARE = 8  # elements more than are wanted, for rows in which some are refused

Bytes = bytes | ByteArray


def derive_seeds(seeds: Bytes, tag: bytes, binders: Bytes) -> ByteArray:
    """A fresh seed (n, 32) from each seed."""
    return _squeeze(seeds, tag, binders, SEED // 8).view(np.uint8)


def expand(field: Field, seeds: Bytes, tag: bytes, binders: Bytes, length: int) -> WordArray:
    """Each seed as a vector (n, length, words) of field elements: candidates of the stream that are
    below p, in order.

    A candidate of Field64 is refused with probability 2^-32, one of Field128 with 2^-59: only then
    is more asked for.
    """
    wanted = length
    while True:
        stream = _squeeze(seeds, tag, binders, wanted * field.words)
        vectors = keep_elements(field, stream.reshape(len(stream), wanted, field.words), length)
        if vectors is not None:
            return vectors
        wanted += _SPARE


def keep_elements(field: Field, candidates: WordArray, length: int) -> WordArray | None:
    """The first `length` candidates (n, k, words) of each row that are below p; None if a row has
    too few.
    """
    fits = field.below(candidates)
    if fits[:, :length].all():
        return candidates[:, :length]
    if fits.sum(axis=1).min() < length:
        return None
    return np.stack([row[fit][:length] for row, fit in zip(candidates, fits, strict=True)])


def _squeeze(seeds: Bytes, tag: bytes, binders: Bytes, words: int) -> WordArray:
    """TurboSHAKE128 of: length of tag in two bytes, tag, length of seed in one, seed, binder."""
    seed_size, binder_size = _width(seeds), _width(binders)
    if not (len(tag) < 2**16 and seed_size < 2**8):
        raise ValueError(
            f"tag and seed must have at most 65535 and 255 bytes, got {len(tag)} and {seed_size}"
        )
    prefix = len(tag).to_bytes(2, "little") + tag + bytes([seed_size])
    n = max(_rows(seeds), _rows(binders))
    message = np.empty((n, len(prefix) + seed_size + binder_size), np.uint8)
    message[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    message[:, len(prefix) : len(prefix) + seed_size] = _as_rows(seeds)
    message[:, len(prefix) + seed_size :] = _as_rows(binders)
    return turboshake128(message, _DOMAIN, words)


def _as_rows(part: Bytes) -> ByteArray:
    return np.frombuffer(part, np.uint8)[None] if isinstance(part, bytes) else part


def _rows(part: Bytes) -> int:
    return 1 if isinstance(part, bytes) else len(part)


def _width(part: Bytes) -> int:
    return len(part) if isinstance(part, bytes) else part.shape[1]
