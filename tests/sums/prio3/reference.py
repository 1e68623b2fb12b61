"""Prio3 once more, for one report, in whole numbers and from the definitions: polynomials by
Lagrange's formula, TurboSHAKE128 by PyCryptodome. Slow, plain, and shares no code with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from Crypto.Hash import TurboSHAKE128

VERSION = 18  # of the draft
P64, P128 = 2**64 - 2**32 + 1, 2**128 - 7 * 2**66 + 1
_ORDERS = {P64: 2**32, P128: 2**66}


def root(p: int, n: int) -> int:
    """The principal n-th root of unity."""
    generator = pow(7, (p - 1) // _ORDERS[p], p)
    return pow(generator, _ORDERS[p] // n, p)


def lagrange(p: int, points: list[int], values: list[int], at: int) -> int:
    """The polynomial of least degree through the points, at another one."""
    total = 0
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        above = below = 1
        for j, other in enumerate(points):
            if j != i:
                above = above * (at - other) % p
                below = below * (x - other) % p
        total += y * above * pow(below, -1, p)
    return total % p


def up(n: int) -> int:
    power = 1
    while power < n:
        power *= 2
    return power


@dataclass
class Plain:
    """A circuit as functions of lists of whole numbers."""

    p: int
    meas_len: int
    joint_len: int
    arity: int
    degree: int
    calls: int
    checks: int
    inputs: Callable[..., list[list[int]]]  # (meas, joint, 1 / shares) -> inputs of each call
    gadget: Callable[..., int]  # (inputs, joint) -> result
    outputs: Callable[..., list[int]]  # (meas, results, 1 / shares) -> checks
    truncate: Callable[..., list[int]]

    @property
    def wire_points(self) -> int:
        return up(self.calls + 1)

    @property
    def poly_points(self) -> int:
        return self.degree * (self.wire_points - 1) + 1

    @property
    def proof_len(self) -> int:
        return self.arity + self.poly_points

    def wires(self, meas, seeds, joint, share):
        rows = self.inputs(meas, joint, share)
        padding = [0] * (self.wire_points - 1 - self.calls)
        return [[seeds[j], *(row[j] for row in rows), *padding] for j in range(self.arity)]

    def alphas(self, n: int) -> list[int]:
        return [pow(root(self.p, n), k, self.p) for k in range(n)]

    def prove(self, meas, seeds, joint):
        wires, small = self.wires(meas, seeds, joint, 1), self.alphas(self.wire_points)
        poly = []
        for x in self.alphas(up(self.poly_points))[: self.poly_points]:
            inputs = [lagrange(self.p, small, wire, x) for wire in wires]
            poly.append(self.gadget(inputs, joint) % self.p)
        return [*seeds, *poly]

    def query(self, meas, proof, rand, joint, shares):
        share = pow(shares, -1, self.p)
        seeds, poly = proof[: self.arity], proof[self.arity :]
        points, small = self.alphas(up(self.poly_points)), self.alphas(self.wire_points)
        known = points[: self.poly_points]
        results = [lagrange(self.p, known, poly, small[k + 1]) for k in range(self.calls)]
        out = self.outputs(meas, results, share)
        reduced = out[0]
        if self.checks > 1:
            reduced = sum(r * o for r, o in zip(rand, out, strict=False))
        t = rand[-1]
        wires = [lagrange(self.p, small, w, t) for w in self.wires(meas, seeds, joint, share)]
        return [reduced % self.p, *wires, lagrange(self.p, known, poly, t)]

    def decide(self, verifier, joint):
        again = self.gadget(verifier[1:-1], joint) % self.p
        return verifier[0] == 0 and again == verifier[-1]


@dataclass
class PlainPrio3:
    """One report through all steps, as bytes."""

    plain: Plain
    algorithm: int
    proofs: int
    shares: int

    @property
    def size(self) -> int:
        return 8 if self.plain.p == P64 else 16

    def xof(self, usage: int, context: bytes, seed: bytes, binder: bytes):
        tag = (
            bytes([VERSION, 0])
            + self.algorithm.to_bytes(4, "big")
            + usage.to_bytes(2, "big")
            + context
        )
        message = len(tag).to_bytes(2, "little") + tag + bytes([len(seed)]) + seed + binder
        return TurboSHAKE128.new(data=message, domain=1)

    def vector(self, usage, context, seed, binder, count) -> list[int]:
        stream = self.xof(usage, context, seed, binder)
        numbers: list[int] = []
        while len(numbers) < count:
            x = int.from_bytes(stream.read(self.size), "little")
            numbers += [x] if x < self.plain.p else []
        return numbers

    def encoded(self, numbers: list[int]) -> bytes:
        return b"".join(x.to_bytes(self.size, "little") for x in numbers)

    def decoded(self, data: bytes) -> list[int]:
        starts = range(0, len(data), self.size)
        return [int.from_bytes(data[k : k + self.size], "little") for k in starts]

    def each(self, numbers: list[int]) -> list[list[int]]:
        size = len(numbers) // self.proofs
        return [numbers[k * size : (k + 1) * size] for k in range(self.proofs)]

    def part(self, context, place, blind, meas, nonce) -> bytes:
        binder = bytes([place]) + nonce + self.encoded(meas)
        return bytes(self.xof(7, context, blind, binder).read(32))

    def joint(self, context, parts) -> tuple[bytes, list[int]]:
        if not self.plain.joint_len:
            return b"", []
        seed = self.xof(6, context, bytes(32), b"".join(parts)).read(32)
        count = self.plain.joint_len * self.proofs
        return seed, self.vector(3, context, seed, bytes([self.proofs]), count)

    def shard(self, context: bytes, meas: list[int], nonce: bytes, rand: bytes) -> dict[str, Any]:
        plain, p = self.plain, self.plain.p
        seeds = [rand[k : k + 32] for k in range(0, len(rand), 32)]
        wide, others = plain.joint_len > 0, self.shares - 1
        helpers = [seeds[2 * k] if wide else seeds[k] for k in range(others)]
        blinds = [seeds[-2], *(seeds[2 * k + 1] for k in range(others))] if wide else []
        shares = [
            self.vector(1, context, seed, bytes([k + 1]), plain.meas_len)
            for k, seed in enumerate(helpers)
        ]
        first = [(x - sum(column)) % p for x, *column in zip(meas, *shares, strict=True)]
        parts = [
            self.part(context, k, blind, share, nonce)
            for k, (blind, share) in enumerate(zip(blinds, [first, *shares], strict=wide))
        ]
        _, joint = self.joint(context, parts)
        rands = self.vector(4, context, seeds[-1], bytes([self.proofs]), plain.arity * self.proofs)
        proof = [
            x
            for rand_, joint_ in zip(self.each(rands), self.each(joint), strict=True)
            for x in plain.prove(meas, rand_, joint_)
        ]
        masks = [self.proof_mask(context, k + 1, seed) for k, seed in enumerate(helpers)]
        proof = [(x - sum(column)) % p for x, *column in zip(proof, *masks, strict=True)]
        leader = self.encoded(first) + self.encoded(proof) + b"".join(blinds[:1])
        rest = [a + b for a, b in zip(helpers, blinds[1:], strict=True)] if wide else helpers
        return {"public_share": b"".join(parts), "input_shares": [leader, *rest]}

    def proof_mask(self, context, place, seed) -> list[int]:
        count = self.plain.proof_len * self.proofs
        return self.vector(2, context, seed, bytes([self.proofs, place]), count)

    def verify_init(self, key, context, place, nonce, public, share) -> dict[str, Any]:
        plain = self.plain
        blind = share[-32:]
        if place:
            meas = self.vector(1, context, share[:32], bytes([place]), plain.meas_len)
            proof = self.proof_mask(context, place, share[:32])
        else:
            numbers = self.decoded(
                share[: (plain.meas_len + plain.proof_len * self.proofs) * self.size]
            )
            meas, proof = numbers[: plain.meas_len], numbers[plain.meas_len :]
        parts = [public[k : k + 32] for k in range(0, len(public), 32)]
        if plain.joint_len:
            parts[place] = self.part(context, place, blind, meas, nonce)
        seed, joint = self.joint(context, parts)
        count = (1 + (plain.checks if plain.checks > 1 else 0)) * self.proofs
        rand = self.vector(5, context, key, bytes([self.proofs]) + nonce, count)
        verifier = [
            x
            for one, two, three in zip(
                self.each(proof), self.each(rand), self.each(joint), strict=True
            )
            for x in plain.query(meas, one, two, three, self.shares)
        ]
        own = parts[place] if plain.joint_len else b""
        return {
            "verifier_share": self.encoded(verifier) + own,
            "seed": seed,
            "out_share": self.encoded([x % plain.p for x in plain.truncate(meas)]),
        }

    def combine(self, context, verifier_shares: list[bytes]) -> tuple[bytes, bool]:
        end = -32 if self.plain.joint_len else None
        columns = zip(*(self.decoded(share[:end]) for share in verifier_shares), strict=True)
        verifier = [sum(column) % self.plain.p for column in columns]
        parts = [share[-32:] for share in verifier_shares] if self.plain.joint_len else []
        seed, joint = self.joint(context, parts)
        pairs = zip(self.each(verifier), self.each(joint), strict=True)
        return seed, all(self.plain.decide(one, two) for one, two in pairs)
