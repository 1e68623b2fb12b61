"""Sums of two servers as docs/reference/wire.md has them, word for word in plain Python: a share in
its ball, a tape and coins to the bytes of a report. Nothing of the package is used but primitives
of others: X25519, HKDF, ChaCha20-Poly1305, AES, BLAKE2b.
"""

from hashlib import blake2b
from math import floor, sqrt

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

P = 2**64 - 2**32 + 1
GENERATOR = pow(7, 2**32 - 1, P)  # of order 2^32
PROOFS = 3
ROUNDS = (1 << 64) - 1


def rounded(law, share, tape):
    """A share in its ball as whole numbers that keep the law."""
    d, largest = law["dim"], 2 ** (law["bits"] - 1) - 1
    row = [x / law["step"] for x in share]
    if law["law"] == "discrete gaussian":
        turn(row, *signs(d))
    words = (d + 1) // 2
    for attempt in range(4):
        found = []
        for j, x in enumerate(row):
            word = tape[attempt * words + j // 2]
            coin = word >> 32 if j % 2 else word & 0xFFFFFFFF
            value = min(max(x, -float(largest)), float(largest))
            found.append(floor(value) + (coin < (value - floor(value)) * 2.0**32))
        if fits(law, found):
            return found
    found = [min(floor(abs(x)), largest) * (1 if x >= 0 else -1) for x in row]
    while not fits(law, found):
        sizes = [abs(x) for x in found]
        place = sizes.index(max(sizes))
        found[place] -= 1 if found[place] > 0 else -1
    return found


def fits(law, entries):
    squares, sizes = sum(x * x for x in entries), sum(abs(x) for x in entries)
    return squares <= law["bound"] and sizes <= law["reach"]


def signs(d):
    key = stream_key(b"tacit seeded stream", ("i", "0"))
    key = stream_key(key, ("s", "turn"), ("i", str(d)))
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    low = [cipher.update(j.to_bytes(8, "little") + bytes(8))[0] for j in range(d)]
    return [1.0 - 2.0 * (x & 1) for x in low], [1.0 - 2.0 * (x >> 1 & 1) for x in low]


def stream_key(data, *parts):
    digest = blake2b(data, digest_size=32, person=b"tacit.streams")
    for kind, text in parts:
        digest.update(kind.encode() + len(text).to_bytes(8, "little") + text.encode())
    return digest.digest()


def turn(row, first, second):
    size = 1 << (len(row).bit_length() - 1)
    row[:] = [x * s for x, s in zip(row, first, strict=True)]
    row[:size] = hadamard(row[:size])
    row[:] = [x * s for x, s in zip(row, second, strict=True)]
    row[-size:] = hadamard(row[-size:])


def hadamard(row):
    half = 1
    while half < len(row):
        for start in range(0, len(row), 2 * half):
            for j in range(start, start + half):
                row[j], row[j + half] = row[j] + row[j + half], row[j] - row[j + half]
        half *= 2
    scale = 1.0 / sqrt(float(len(row)))
    return [x * scale for x in row]


class Circuit:
    """The sizes of a proof for entries of so many bits and a squared length of at most `bound`."""

    def __init__(self, length, bound, bits):
        self.length, self.bound, self.bits = length, bound, bits
        self.largest = 2 ** (bits - 1) - 1
        self.base = 2 * self.largest + 1
        self.weights = [1]
        while self.weights[-1] * self.base <= bound:
            self.weights.append(self.weights[-1] * self.base)
        choices = [2**k - 1 for k in range(1, length.bit_length() + 2)]
        self.calls = min(choices, key=self.elements)
        self.entries, self.arity, self.points = self.shape(self.calls)

    def shape(self, calls):
        entries = -(-self.length // calls)
        return entries, entries - (-len(self.weights) // calls), self.base * calls + 1

    def elements(self, calls):
        _, arity, points = self.shape(calls)
        return calls + PROOFS * (arity + points) + 2 * PROOFS * (arity + 2)

    def encode(self, entries):
        """Entries, digits of the slack, squared lengths of the calls' entries."""
        told = [sum(x * x for x in entries[i :: self.calls]) for i in range(self.calls)]
        slack = self.bound - sum(told)
        digits = [slack // weight % self.base - self.largest for weight in self.weights]
        return [x % P for x in (*entries, *digits, *told)]

    def prove(self, measurement, seeds, joint):
        n = self.calls + 1
        size = 1 << (self.points - 1).bit_length()
        ends = self.length, self.length + len(self.weights)
        wires = by_call(measurement[: ends[0]], self.calls)
        wires += by_call(measurement[ends[0] : ends[1]], self.calls)
        small, large = pow(GENERATOR, 2**32 // n, P), pow(GENERATOR, 2**32 // size, P)
        at = [pow(large, k, P) for k in range(self.points)]
        values = [0] * self.points
        for j, (seed, wire) in enumerate(zip(seeds, wires, strict=True)):
            given = [seed, *wire]
            coefficients = [
                sum(y * pow(small, -i * k % n, P) for k, y in enumerate(given)) * pow(n, -1, P) % P
                for i in range(n)
            ]
            power = pow(joint, j + 1, P)
            for place, point in enumerate(at):
                x = 0
                for coefficient in reversed(coefficients):
                    x = (x * point + coefficient) % P
                zero = power * x
                for k in range(1, self.largest + 1):
                    zero = zero * (x * x - k * k) % P
                values[place] += zero + (x * x if j < self.entries else 0)
        return [*seeds, *(value % P for value in values)]


def by_call(values, calls):
    inputs = -(-len(values) // calls)
    padded = [*values, *[0] * (inputs * calls - len(values))]
    return [padded[j * calls : (j + 1) * calls] for j in range(inputs)]


def report(case):
    """The two sealed halves."""
    law, coins = case["law"], bytes.fromhex(case["coins"])
    batch = bytes.fromhex(case["batch"])
    circuit = Circuit(law["dim"], law["bound"], law["bits"])
    parameters = (
        f"BoundedVector(bits={circuit.bits},bound={circuit.bound},calls={circuit.calls},"
        f"length={circuit.length},proofs={PROOFS},shares=2)"
    )
    name = blake2b(batch, digest_size=32).digest()
    context = parameters.encode() + b"\x00" + b"tacit sum " + name
    nonce, seed, blind, own, prover = (
        coins[:16],
        *(coins[16 + 32 * k : 48 + 32 * k] for k in range(4)),
    )
    measurement = circuit.encode(case["entries"])
    theirs = expand(1, context, seed, bytes([1]), len(measurement))
    mine = [(a - b) % P for a, b in zip(measurement, theirs, strict=True)]
    parts = b"".join(
        derive(7, context, hidden, bytes([place]) + nonce + elements(share))
        for place, (hidden, share) in enumerate(((own, mine), (blind, theirs)))
    )
    joint = expand(3, context, derive(6, context, bytes(32), parts), bytes([PROOFS]), PROOFS)
    rands = expand(4, context, prover, bytes([PROOFS]), PROOFS * circuit.arity)
    proofs = []
    for k in range(PROOFS):
        some = rands[k * circuit.arity : (k + 1) * circuit.arity]
        proofs += circuit.prove(measurement, some, joint[k])
    other = expand(2, context, seed, bytes([PROOFS, 1]), len(proofs))
    proofs = [(a - b) % P for a, b in zip(proofs, other, strict=True)]
    shared = nonce + parts
    return b"".join(
        (
            seal(shared + elements(mine) + elements(proofs) + own, case, 0, coins[144:176]),
            seal(shared + seed + blind, case, 1, coins[176:208]),
        )
    )


def seal(plain, case, place, secret):
    to = bytes.fromhex(case[("coordinator", "helper")[place]])
    context = (b"coordinator", b"helper")[place] + b"\n" + bytes.fromhex(case["batch"])
    key = X25519PrivateKey.from_private_bytes(secret)
    made = key.public_key().public_bytes_raw()
    agreed = key.exchange(X25519PublicKey.from_public_bytes(to))
    cipher = HKDF(SHA256(), 32, salt=None, info=b"tacit sealed" + made + to).derive(agreed)
    return made + ChaCha20Poly1305(cipher).encrypt(bytes(12), plain, context)


def elements(values):
    return b"".join(value.to_bytes(8, "little") for value in values)


def expand(usage, context, seed, binder, count):
    stream = xof(usage, context, seed, binder, 8 * (count + 8))
    words = (int.from_bytes(stream[k : k + 8], "little") for k in range(0, len(stream), 8))
    return [word for word in words if word < P][:count]


def derive(usage, context, seed, binder):
    return xof(usage, context, seed, binder, 32)


def xof(usage, context, seed, binder, size):
    tag = bytes([18, 0]) + (0xFFFF0001).to_bytes(4, "big") + usage.to_bytes(2, "big") + context
    return turboshake128(
        len(tag).to_bytes(2, "little") + tag + bytes([len(seed)]) + seed + binder, 1, size
    )


def turboshake128(data, domain, size):
    """RFC 9861: Keccak-p[1600, 12], blocks of 168 bytes."""
    padded = bytearray(data + bytes([domain]))
    padded += bytes(-len(padded) % 168)
    padded[-1] ^= 0x80
    state = [0] * 25
    for start in range(0, len(padded), 168):
        for lane in range(21):
            place = start + 8 * lane
            state[lane] ^= int.from_bytes(padded[place : place + 8], "little")
        state = keccak(state)
    out = b""
    while len(out) < size:
        out += b"".join(lane.to_bytes(8, "little") for lane in state[:21])
        state = keccak(state)
    return out[:size]


def keccak(a):
    """The last twelve rounds."""
    for constant in constants()[12:]:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        a = [a[i] ^ c[(i - 1) % 5] ^ left(c[(i + 1) % 5], 1) for i in range(25)]
        moved, x, y, lane = [a[0], *[0] * 24], 1, 0, a[1]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lane, moved[x + 5 * y] = a[x + 5 * y], left(lane, (t + 1) * (t + 2) // 2 % 64)
        a = [
            moved[i] ^ (~moved[i - i % 5 + (i + 1) % 5] & moved[i - i % 5 + (i + 2) % 5])
            for i in range(25)
        ]
        a[0] ^= constant
    return a


def constants():
    found, register = [], 1
    for _ in range(24):
        constant = 0
        for bit in range(7):
            if register & 1:
                constant |= 1 << ((1 << bit) - 1)
            register = register << 1 ^ (0x171 if register >> 7 else 0)
        found.append(constant)
    return found


def left(word, by):
    return (word << by | word >> (64 - by)) & ROUNDS
