"""Test vectors of sums of two servers: shares in whole numbers, batches, and what leaves."""

from dataclasses import asdict, replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.learners.owners.sum_query import SharesQuery
from tacit.mechanisms.spaces import Ball
from tacit.sums.discrete_gaussian import turn_back, turn_signs
from tacit.sums.halves import Batch, SumTerms, seal_reports
from tacit.sums.vector_terms import VectorTerms, round_shares
from tacit.wire import encode
from tests.vectors.checks import WrittenTape, hexed

SERVERS = tuple(bytes(range(first, first + 32)) for first in (64, 96))
_COINS = 26  # words: nonce, four seeds, a secret for each half


def make_sums(asked):
    """Cases over the question `asked`, whose shares are summed, and over vectors of other sizes,
    one of which no draw of coins makes short enough.
    """
    rng = np.random.default_rng(len(SERVERS))
    space = asked.learner.space(asked.facts)
    cases = [_case(VectorTerms.of(space, 1.0, 1e-6, answers=6), asked, rng)]
    for dim, delta in ((1, 1e-6), (7, 1e-6), (24, 1e-9), (5, 0.0)):
        cases.append(_case(VectorTerms.of(Ball(dim, 0.875), 2.0, delta), asked, rng))
    law = VectorTerms.of(Ball(24, 0.875), 2.0, 1e-9)
    even = np.full((1, law.dim), 0.999 * law.radius / law.dim**0.5)
    turn_back(even, turn_signs(law.dim))
    cases.append(_case(law, asked, rng, share=even[0], words=0))
    return cases


def _public(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def _case(law, asked, rng, share=None, words=1):
    """The batch is that of the question where the law can be its own."""
    keys = _public(SERVERS[0]), _public(SERVERS[1])
    fits = law.dim == asked.learner.space(asked.facts).dim
    query = SharesQuery.of(replace(asked, terms=law), 3, keys) if fits else None
    if share is None:
        share = 0.9 * law.radius * rng.uniform(-1, 1, law.dim) / law.dim**0.5
    tape = words * rng.integers(1 << 63, size=4 * ((law.dim + 1) // 2), dtype=np.uint64)
    coins = rng.integers(1 << 63, size=_COINS, dtype=np.uint64)
    batch = Batch(bytes(range(32)), 2, 1, SumTerms(law, *keys)) if query is None else query.batch
    entries = round_shares(share[np.newaxis], law, WrittenTape(tape))
    report = seal_reports(entries, batch, WrittenTape(coins))[0].tobytes()
    return {
        "query": "" if query is None else encode(query).hex(),
        "law": asdict(law),
        "coordinator": keys[0].hex(),
        "helper": keys[1].hex(),
        "batch": encode(batch).hex(),
        "share": hexed(share),
        "tape": [f"{int(word):016x}" for word in tape],
        "entries": entries[0].tolist(),
        "coins": coins.astype("<u8").tobytes().hex(),
        "report": report.hex(),
    }
