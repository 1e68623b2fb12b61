// A share and a tape of coins -> a report (wire.md, "Draws"): PrivUnit and Piecewise.
//
// `tape(start, count)` gives words of 64 bits as BigInts, the same ones whenever it is asked for
// the same places. Probabilities are whole numbers; no double takes part in one.

import { bestCap } from "./caps.js";
import { Fraction, highOdds } from "./numbers.js";

const WORD = (1n << 64n) - 1n;
const HALF = (1n << 32n) - 1n;

/** A report's numbers, as the bytes behind its header; `share` is inside the ball already. */
export async function draw(terms, level, share, radius, tape) {
  const drawOnce = { privunit: drawCodeword, piecewise: drawPoints }[terms.mechanism];
  if (!drawOnce) throw new RangeError("this client draws by PrivUnit and Piecewise only");
  const law = lawOf(terms, level, share.length);
  for (let attempt = 0; ; attempt++) {
    const words = await tape(attempt * law.words, law.words);
    const report = drawOnce(law, share, radius, words);
    if (report) return report;
  }
}

/** The constants of one level of a question's terms. */
export function lawOf(terms, level, dim) {
  const epsilon = Fraction.of(terms.epsilons[level]);
  if (terms.mechanism === "privunit") {
    const low = 1n << 32n;
    const high = highOdds(epsilon, low);
    const { candidates, favoured } = bestCap(dim, high, low);
    const total = BigInt(favoured) * high + BigInt(candidates - favoured) * low;
    return { words: 3, candidates, favoured, high, low, total };
  }
  const counts = terms.epsilons.map((each) => Math.max(1, Math.min(dim, Math.floor(each / 2.5))));
  const slots = Math.max(...counts);
  const count = counts[level];
  const steps = 1n << 20n;
  const high = highOdds(epsilon.over(new Fraction(BigInt(count))), steps);
  const doubled = root((4n * steps * steps * steps) / high);
  const width = doubled >= 1n ? (doubled + 1n) / 2n : 1n;
  return { words: 2 * count, count, slots, steps, high, width, total: width * high + steps * steps };
}

/** Bytes of a report behind its header. */
export function reportBytes(terms, dim) {
  if (terms.mechanism === "privunit") return 8;
  return lawOf(terms, 0, dim).slots * (4 + indexBytes(dim));
}

const indexBytes = (dim) => (dim <= 1 << 8 ? 1 : dim <= 1 << 16 ? 2 : 4);

function root(square) {
  let found = BigInt(Math.floor(Math.sqrt(Number(square))));
  while (found * found > square) found--;
  while ((found + 1n) * (found + 1n) <= square) found++;
  return found;
}

/** A number below `bound` from one word; null: the word is rejected. */
function below(word, bound) {
  const product = word * bound;
  return (product & WORD) < (1n << 64n) % bound ? null : product >> 64n;
}

// PrivUnit ----------------------------------------------------------------------------------

function drawCodeword(law, share, radius, [first, second, third]) {
  let length = 0;
  for (const each of share) length += each * each;
  length = Math.sqrt(length);
  const unit = Number(first >> 11n) / 2 ** 53;
  const sign = unit < 0.5 + (0.5 * length) / radius ? 1 : -1;
  const direction = Float32Array.from(share, (each, j) =>
    length > 0 ? sign * (each / length) : sign * (j === 0 ? 1 : 0),
  );
  const name = second & ~(BigInt(law.candidates) - 1n) & WORD;
  const inner = closeness(name >> 1n, law.candidates / 2, direction);
  const u = below(third, law.total);
  if (u === null) return null;
  const near = BigInt(law.favoured) * law.high;
  const place = u < near ? u / law.high : BigInt(law.favoured) + (u - near) / law.low;
  const report = new Uint8Array(8);
  const chosen = name | BigInt(inPlace(inner, Number(place)));
  new DataView(report.buffer).setBigUint64(0, chosen, true);
  return report;
}

/** The number of the candidate in this place of the order of closeness. */
function inPlace(inner, place) {
  const axes = inner.length;
  const isFar = place >= axes;
  const ahead = isFar ? 2 * axes - 1 - place : place;
  const order = Array.from(inner.keys());
  order.sort((a, b) => Math.abs(inner[b]) - Math.abs(inner[a]) || a - b);
  const axis = order[ahead];
  return 2 * axis + Number(inner[axis] < 0 !== isFar);
}

const round = Math.fround;
const BEND = [0.10357, 0.28702, -0.61922, 0.76565].map((c, i) => round(c * 2 ** (-18 * (i + 1))));

/** Inner products of a direction with the axes first, first + 1, ...: floats of 32 bits. */
export function closeness(first, axes, direction) {
  const inner = new Float32Array(axes);
  for (let c = 0; c < axes; c++) {
    const word = mix((first + BigInt(c) + 0x9e3779b97f4a7c15n) & WORD);
    const low = Number(word & HALF);
    const high = Number(word >> 32n) | 1;
    let sum = 0;
    let square = 0;
    for (let j = 0; j < direction.length; j++) {
      const z = coordinate(low, high, j);
      sum = round(sum + round(z * direction[j]));
      square = round(square + round(z * z));
    }
    inner[c] = round(sum / round(Math.sqrt(square)));
  }
  return inner;
}

/** The finaliser of SplitMix64. */
function mix(word) {
  word = ((word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
  word = ((word ^ (word >> 27n)) * 0x94d049bb133111ebn) & WORD;
  return word ^ (word >> 31n);
}

/** A normal coordinate from two seeds. */
function coordinate(low, high, j) {
  let word = (low + Math.imul(j, 0x9e3779b9)) | 0;
  word = Math.imul(word ^ (word >>> 16), high);
  word = (word ^ (word >>> 15)) | 1;
  const pairs = (word & 0x00ff00ff) + ((word >>> 8) & 0x00ff00ff);
  const t = (pairs & 0xffff) + (pairs >>> 16) - 510.5;
  const v = round(t * t);
  let bend = round(round(BEND[3] * v) + BEND[2]);
  bend = round(round(bend * v) + BEND[1]);
  bend = round(round(bend * v) + BEND[0]);
  return round(round(round(bend * v) + 1) * t);
}

// Piecewise ---------------------------------------------------------------------------------

function drawPoints(law, share, radius, words) {
  const indices = chooseCoordinates(words, law.count, share.length);
  if (!indices) return null;
  const size = indexBytes(share.length);
  const report = new Uint8Array(law.slots * (4 + size));
  const view = new DataView(report.buffer);
  for (let s = 0; s < law.count; s++) {
    const step = stepOf(share[indices[s]], radius, Number(law.steps), Number(words[s] >> 32n));
    const u = below(words[law.count + s], law.total);
    if (u === null) return null;
    view.setUint32(4 * s, pointOf(BigInt(step), u, law), true);
    for (let byte = 0; byte < size; byte++) {
      report[4 * law.slots + size * s + byte] = (indices[s] >>> (8 * byte)) & 255;
    }
  }
  return report;
}

/** Floyd's sampling: `count` different coordinates, from the low halves of words. */
function chooseCoordinates(words, count, dim) {
  const chosen = [];
  for (let s = 0; s < count; s++) {
    const last = dim - count + s;
    const bound = BigInt(last) + 1n;
    const product = (words[s] & HALF) * bound;
    if ((product & HALF) < ((1n << 32n) - bound) % bound) return null;
    const found = Number(product >> 32n);
    chosen.push(chosen.includes(found) ? last : found);
  }
  return chosen;
}

/** A value on the grid of steps, rounded by a coin of 32 bits so that its mean is kept. */
function stepOf(value, radius, steps, coin) {
  const inside = value > radius ? radius : value < -radius ? -radius : value === value ? value : 0;
  const position = Math.min((inside + radius) * ((0.5 * steps) / radius), steps);
  const floor = Math.floor(position);
  return floor + (coin < (position - floor) * 2 ** 32 ? 1 : 0);
}

function pointOf(step, u, law) {
  const near = law.width * law.high;
  if (u < near) return Number(step + u / law.high);
  const beyond = (u - near) / law.steps;
  return Number(beyond >= step ? beyond + law.width : beyond);
}
