// Where coins come from: the operating system, or, in rehearsals and tests, a seed (wire.md,
// "Tapes"). A tape gives words start .. start + count - 1; the same place, the same word.

import { blake2b } from "./blake2b.js";
import { concat, textBytes } from "./codec.js";

/** Coins that nobody can repeat. */
export function secureTape() {
  const drawn = [];
  return async (start, count) => {
    while (drawn.length < start + count) {
      drawn.push(crypto.getRandomValues(new BigUint64Array(1))[0]);
    }
    return drawn.slice(start, start + count);
  };
}

/** Words that were written down: of test vectors. */
export function writtenTape(words) {
  return async (start, count) => {
    if (!(start + count <= words.length)) throw new RangeError("the tape has ended");
    return words.slice(start, start + count);
  };
}

/** Reproducible, not private: the coins of one owner of a rehearsal for one question. */
export async function rehearsalTape(seed, owner, round, attempt) {
  const start = derive(textBytes("tacit seeded stream"), [["i", String(seed)]]);
  const path = [["s", "round"], ["i", String(round)], ["i", String(attempt)]]; // prettier-ignore
  const raw = derive(start, path);
  const key = await crypto.subtle.importKey("raw", raw, "AES-CTR", false, ["encrypt"]);
  const block = async (position) => {
    const counter = new Uint8Array(16);
    const view = new DataView(counter.buffer);
    view.setBigUint64(0, BigInt(owner), true);
    view.setBigUint64(8, BigInt(position), true);
    const how = { name: "AES-CTR", counter, length: 64 };
    return new DataView(await crypto.subtle.encrypt(how, key, new Uint8Array(16)));
  };
  return async (start, count) => {
    const words = [];
    for (let at = start; at < start + count; at++) {
      words.push((await block(Math.floor(at / 2))).getBigUint64(8 * (at % 2), true));
    }
    return words;
  };
}

function derive(key, path) {
  const parts = path.map(([kind, text]) => {
    const raw = textBytes(text);
    const length = new Uint8Array(8);
    new DataView(length.buffer).setUint32(0, raw.length, true);
    return concat(textBytes(kind), length, raw);
  });
  return blake2b(concat(key, ...parts), textBytes("tacit.streams"));
}
