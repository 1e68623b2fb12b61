// BLAKE2b (RFC 7693) with 32 bytes of output: what names every object of the protocol.
//
// Words of 64 bits are pairs of 32: low half first.

const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
// the fractional parts of the square roots of the first eight primes
const START = new Uint32Array([
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
]);
const BLOCK = 128;

/** 32 bytes; `person` is up to 16 bytes that tell one use from another. */
export function blake2b(data, person = new Uint8Array()) {
  const h = START.slice();
  h[0] ^= 0x01010000 ^ 32; // 32 bytes of output, no key, one leaf
  const salted = new Uint8Array(16);
  salted.set(person);
  const words = new DataView(salted.buffer);
  for (let i = 0; i < 4; i++) h[12 + i] ^= words.getUint32(4 * i, true);
  const block = new Uint8Array(BLOCK);
  const m = new Uint32Array(32);
  const v = new Uint32Array(32);
  let at = 0;
  do {
    const rest = Math.min(BLOCK, data.length - at);
    block.fill(0);
    block.set(data.subarray(at, at + rest));
    at += rest;
    compress(h, block, at, at === data.length, m, v);
  } while (at < data.length);
  const out = new Uint8Array(32);
  const view = new DataView(out.buffer);
  for (let i = 0; i < 8; i++) view.setUint32(4 * i, h[i], true);
  return out;
}

function compress(h, block, counted, isLast, m, v) {
  const view = new DataView(block.buffer);
  for (let i = 0; i < 32; i++) m[i] = view.getUint32(4 * i, true);
  v.set(h);
  v.set(START, 16);
  v[24] ^= counted >>> 0;
  v[25] ^= Math.floor(counted / 2 ** 32);
  if (isLast) {
    v[28] = ~v[28];
    v[29] = ~v[29];
  }
  for (let round = 0; round < 12; round++) {
    const s = SIGMA[round % 10];
    for (let i = 0; i < 4; i++) mix(v, i, 4 + i, 8 + i, 12 + i, m, s[2 * i], s[2 * i + 1]);
    for (let i = 0; i < 4; i++) {
      const b = 4 + ((i + 1) % 4);
      const c = 8 + ((i + 2) % 4);
      const d = 12 + ((i + 3) % 4);
      mix(v, i, b, c, d, m, s[8 + 2 * i], s[9 + 2 * i]);
    }
  }
  for (let i = 0; i < 16; i++) h[i] ^= v[i] ^ v[16 + i];
}

function mix(v, a, b, c, d, m, x, y) {
  add(v, a, v[2 * b], v[2 * b + 1]);
  add(v, a, m[2 * x], m[2 * x + 1]);
  turnRight(v, d, a, 32);
  add(v, c, v[2 * d], v[2 * d + 1]);
  turnRight(v, b, c, 24);
  add(v, a, v[2 * b], v[2 * b + 1]);
  add(v, a, m[2 * y], m[2 * y + 1]);
  turnRight(v, d, a, 16);
  add(v, c, v[2 * d], v[2 * d + 1]);
  turnRight(v, b, c, 63);
}

function add(v, place, low, high) {
  const sum = v[2 * place] + low;
  v[2 * place + 1] += high + (sum >= 2 ** 32 ? 1 : 0);
  v[2 * place] = sum;
}

/** v[place] = (v[place] xor v[other]) turned right by so many bits. */
function turnRight(v, place, other, bits) {
  const low = v[2 * place] ^ v[2 * other];
  const high = v[2 * place + 1] ^ v[2 * other + 1];
  if (bits === 32) {
    v[2 * place] = high;
    v[2 * place + 1] = low;
  } else if (bits === 63) {
    v[2 * place] = (low << 1) | (high >>> 31);
    v[2 * place + 1] = (high << 1) | (low >>> 31);
  } else {
    v[2 * place] = (low >>> bits) | (high << (32 - bits));
    v[2 * place + 1] = (high >>> bits) | (low << (32 - bits));
  }
}
