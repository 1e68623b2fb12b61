"""Owners that lie: reports whose measurement, proof or bytes are not what an honest owner makes.

A cheat here follows the protocol but for its lie, which is the strongest it can do without knowing
the servers' key: its measurement goes through the same sharding as an honest one.
"""

import numpy as np

from tacit.sums.prio3 import instances
from tacit.sums.prio3.batch import Sent, Server, coins_size, make_reports
from tacit.sums.prio3.instances import bound_context
from tacit.sums.prio3.prio3 import NONCE

APPLICATION, KEY = b"liars", bytes(range(32, 64))


def coins_of(prio3, n, seed):
    return np.random.default_rng(seed).integers(0, 256, (n, coins_size(prio3)), dtype=np.uint8)


def honest(prio3, measurements, seed=1):
    coins = coins_of(prio3, len(measurements), seed)
    return make_reports(prio3, APPLICATION, measurements, coins)


def shares_of(prio3, encoded, seed=2):
    """Reports, before they are bytes, of any encoded measurement: whole numbers (n, meas_len)."""
    coins = coins_of(prio3, len(encoded), seed)
    meas = prio3.circuit.field.array(encoded)
    nonces = coins[:, :NONCE]
    return nonces, prio3.shard(bound_context(prio3, APPLICATION), meas, nonces, coins[:, NONCE:])


def sent_of(prio3, nonces, made):
    inputs = tuple(instances.encode_input(prio3, share) for share in made.inputs)
    return Sent(nonces, instances.encode_public(made.public), inputs)


def cheat(prio3, encoded, seed=2):
    return sent_of(prio3, *shares_of(prio3, encoded, seed))


def together(*blocks):
    """Several blocks as one."""
    inputs = zip(*(block.inputs for block in blocks), strict=True)
    return Sent(
        np.concatenate([block.nonces for block in blocks]),
        np.concatenate([block.public for block in blocks]),
        tuple(np.concatenate(each) for each in inputs),
    )


def servers_of(prio3, application=APPLICATION):
    return [Server(prio3, application, place, key=KEY) for place in range(prio3.shares)]


def flipped(block, row, part, place, bit):
    """One bit of one report changed: `part` is "nonce", "public" or a server's number."""
    arrays = {"nonce": block.nonces.copy(), "public": block.public.copy()}
    inputs = [each.copy() for each in block.inputs]
    target = inputs[part] if isinstance(part, int) else arrays[part]
    target[row, place] ^= 1 << bit
    return Sent(arrays["nonce"], arrays["public"], tuple(inputs))
