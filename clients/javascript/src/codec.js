// Canonical bytes -> a tree of nodes, in one pass; every defect is a WireError (wire.md, "Values").
//
// A node is { form, value, from, to }: what it is, what it says, and which bytes it stands in. So a
// part can be compared or digested as the bytes that it is. Each byte is read once; a value is made
// only of bytes that are there; depth and number of objects are bounded.

export const LARGEST = 4 << 20; // bytes of one message
const DEEPEST = 32;
const MOST_OBJECTS = 1 << 17;
const VERSION = 1;

export class WireError extends Error {}

/** Well-formed, perhaps, and nothing that this client takes part in. */
export class UnknownKind extends WireError {}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The content of a message: its node, or a WireError. */
export function decode(bytes, largest = LARGEST) {
  if (!(bytes.length <= largest)) throw new WireError(`a message must be at most ${largest} bytes`);
  if (!(bytes[0] === 0x92 && bytes[1] === VERSION)) {
    throw new WireError(`not a message of version ${VERSION}`);
  }
  const reader = new Reader(bytes);
  const node = reader.value(1);
  if (node.to !== bytes.length) throw new WireError("bytes are left over");
  return node;
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 2;
    this.objects = 0;
  }

  take(count) {
    const from = this.at;
    if (!(from + count <= this.bytes.length)) throw new WireError("the bytes end too early");
    this.at = from + count;
    return from;
  }

  /** A length of so many bytes, big-endian, which must not have fitted fewer. */
  length(size, least) {
    const from = this.take(size);
    const found =
      size === 1
        ? this.bytes[from]
        : size === 2
          ? this.view.getUint16(from)
          : this.view.getUint32(from);
    if (!(found >= least)) throw new WireError("not canonical: a length has a shorter form");
    return found;
  }

  value(depth) {
    const from = this.take(1);
    const first = this.bytes[from];
    const node = this.content(first, depth);
    node.from = from;
    node.to = this.at;
    return node;
  }

  content(first, depth) {
    if (first <= 0x7f) return { form: "whole", value: first };
    if (first >= 0xe0) return { form: "whole", value: first - 256 };
    if (first >= 0xa0 && first <= 0xbf) return this.text(first - 0xa0);
    if (first >= 0x90 && first <= 0x9f) return this.list(first - 0x90, depth);
    switch (first) {
      case 0xc0:
        return { form: "nothing", value: null };
      case 0xc2:
        return { form: "truth", value: false };
      case 0xc3:
        return { form: "truth", value: true };
      case 0xc4:
        return this.binary(this.length(1, 0));
      case 0xc5:
        return this.binary(this.length(2, 1 << 8));
      case 0xc6:
        return this.binary(this.length(4, 1 << 16));
      case 0xc7:
        return this.array(this.length(1, 0));
      case 0xc8:
        return this.array(this.length(2, 1 << 8));
      case 0xc9:
        return this.array(this.length(4, 1 << 16));
      case 0xcb:
        return this.float();
      case 0xcc:
        return this.unsigned(1, 128n);
      case 0xcd:
        return this.unsigned(2, 1n << 8n);
      case 0xce:
        return this.unsigned(4, 1n << 16n);
      case 0xcf:
        return this.unsigned(8, 1n << 32n);
      case 0xd0:
        return this.signed(1, -32n);
      case 0xd1:
        return this.signed(2, -(1n << 7n));
      case 0xd2:
        return this.signed(4, -(1n << 15n));
      case 0xd3:
        return this.signed(8, -(1n << 31n));
      case 0xd9:
        return this.text(this.length(1, 32));
      case 0xda:
        return this.text(this.length(2, 1 << 8));
      case 0xdb:
        return this.text(this.length(4, 1 << 16));
      case 0xdc:
        return this.list(this.length(2, 16), depth);
      case 0xdd:
        return this.list(this.length(4, 1 << 16), depth);
      default:
        throw new WireError("a value must be of a known form");
    }
  }

  unsigned(size, least) {
    const from = this.take(size);
    let found = 0n;
    for (let i = from; i < from + size; i++) found = (found << 8n) | BigInt(this.bytes[i]);
    if (!(found >= least)) throw new WireError("not canonical: a number has a shorter form");
    return { form: "whole", value: plain(found) };
  }

  signed(size, below) {
    const from = this.take(size);
    let found = 0n;
    for (let i = from; i < from + size; i++) found = (found << 8n) | BigInt(this.bytes[i]);
    found = BigInt.asIntN(8 * size, found);
    if (!(found < below)) throw new WireError("not canonical: a number has a shorter form");
    return { form: "whole", value: plain(found) };
  }

  float() {
    const found = this.view.getFloat64(this.take(8));
    if (!Number.isFinite(found)) throw new WireError("a number must be finite");
    return { form: "number", value: found };
  }

  text(length) {
    const from = this.take(length);
    try {
      return { form: "text", value: utf8.decode(this.bytes.subarray(from, from + length)) };
    } catch {
      throw new WireError("a text must be UTF-8");
    }
  }

  binary(length) {
    const from = this.take(length);
    return { form: "bytes", value: this.bytes.subarray(from, from + length) };
  }

  list(count, depth) {
    if (!(depth < DEEPEST)) throw new WireError(`a message must be nested at most ${DEEPEST} deep`);
    const items = [];
    for (let i = 0; i < count; i++) items.push(this.value(depth + 1)); // an entry is a byte at least
    if (count && items[0].form === "text") {
      this.objects += 1;
      if (!(this.objects <= MOST_OBJECTS)) throw new WireError(`at most ${MOST_OBJECTS} objects`);
    }
    return { form: "list", value: items };
  }

  /** Shape and little-endian values. */
  array(length) {
    const type = this.bytes[this.take(1)];
    const from = this.take(length);
    const axes = length ? this.bytes[from] : 0;
    if (!((type === 1 || type === 2) && axes >= 1 && axes <= 3 && length >= 1 + 4 * axes)) {
      throw new WireError("an array must have a known type and 1 to 3 axes");
    }
    const shape = [];
    for (let i = 0; i < axes; i++) shape.push(this.view.getUint32(from + 1 + 4 * i, true));
    const size = shape.reduce((product, each) => product * each, 1);
    const start = from + 1 + 4 * axes;
    if (!(from + length - start === 8 * size && (axes === 1 || size > 0))) {
      throw new WireError("an array must be as long as its shape says");
    }
    const values = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      values[i] = type === 1 ? this.view.getFloat64(start + 8 * i, true) : this.whole(start + 8 * i);
    }
    if (type === 1 && !values.every(Number.isFinite)) throw new WireError("arrays must be finite");
    return { form: type === 1 ? "numbers" : "wholes", value: { shape, values } };
  }

  whole(at) {
    const found = plain(this.view.getBigInt64(at, true));
    if (typeof found === "bigint") throw new WireError("a whole number of an array is too large");
    return found;
  }
}

/** A whole number as a Number where that is exact. */
function plain(found) {
  return found >= Number.MIN_SAFE_INTEGER && found <= Number.MAX_SAFE_INTEGER
    ? Number(found)
    : found;
}

export function fromHex(text) {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new WireError("not hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function sameBytes(one, other) {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

export const textBytes = (text) => new TextEncoder().encode(text);
