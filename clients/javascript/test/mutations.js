// node test/mutations.js FILE COUNT: greetings and questions of the vectors with random bytes
// changed, cut off or put in. Each must be read or refused as a WireError, in time in proportion to
// its bytes; prints how many were read and refused, and the slowest in microseconds a byte.
import { readFileSync } from "node:fs";
import { WireError, decode, fromHex } from "../src/codec.js";
import { read } from "../src/messages.js";
import { objectionToQuestion } from "../src/template.js";

const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
const greeting = fromHex(vectors.greetings[0].bytes);
const length = new DataView(greeting.buffer).getUint32(32, true);
const template = greeting.slice(36 + 64, 36 + length);
const agreed = read(decode(template), template, "template");
const sources = [
  ["template", template],
  ...vectors.questions.map((each) => ["invitation", fromHex(each.bytes).slice(64)]),
];
const seed = { word: 12345 };
const below = (bound) => {
  seed.word = (Math.imul(seed.word, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed.word / 2 ** 32) * bound);
};

function mutate(bytes) {
  const changed = bytes.slice();
  for (let i = 0; i <= below(3); i++) {
    const at = 2 + below(changed.length - 2);
    changed[at] = below(4) ? below(256) : [0xdd, 0xc9, 0xdb, 0xcf][below(4)];
  }
  return below(5) ? changed : changed.slice(0, below(changed.length));
}

const counts = { read: 0, refused: 0 };
let slowest = 0;
for (let i = 0; i < Number(process.argv[3]); i++) {
  const [kind, bytes] = sources[below(sources.length)];
  const changed = mutate(bytes);
  const began = performance.now();
  try {
    const made = read(decode(changed), changed, kind);
    if (kind === "invitation") objectionToQuestion(agreed, made);
    counts.read += 1;
  } catch (problem) {
    if (!(problem instanceof WireError)) throw problem;
    counts.refused += 1;
  }
  if (i > 200) slowest = Math.max(slowest, (performance.now() - began) / bytes.length);
}
console.log(JSON.stringify({ ...counts, slowest: 1000 * slowest }));
