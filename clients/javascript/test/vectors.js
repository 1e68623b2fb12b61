// Every case of the wire's test vectors against this client: in Node and in browsers alike.
// `check(vectors)` gives { passed, failures }.

import { blake2b } from "../src/blake2b.js";
import { bestCap } from "../src/caps.js";
import { WireError, decode, fromHex, toHex } from "../src/codec.js";
import { OwnerKey, openSigned, preimage, readGreeting, requestPreimage, sha256 } from "../src/keys.js";
import { draw, reportBytes } from "../src/mechanisms.js";
import { digestOf, read } from "../src/messages.js";
import { Fraction, contrasts, exponential, highOdds, turn } from "../src/numbers.js";
import { encodeRows } from "../src/rows.js";
import { intoBall, shareOf } from "../src/shares.js";
import { rehearsalTape, writtenTape } from "../src/tapes.js";
import { objectionToQuestion, objectionToTemplate, sizesOf } from "../src/template.js";

export const floats = (hex) => {
  const bytes = fromHex(hex);
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
};
/** Doubles as the digits of their bytes: -0 is not 0, and all that are no number are one. */
export const hexed = (values) => {
  const bytes = new Uint8Array(8 * values.length);
  const view = new DataView(bytes.buffer);
  Array.from(values).forEach((each, i) => view.setFloat64(8 * i, each, true));
  return toHex(bytes);
};
const words = (tape) => tape.map((each) => BigInt(`0x${each}`));

/** Whether something is read, or refused for what it is. */
async function outcome(work) {
  try {
    await work();
    return "read";
  } catch (problem) {
    if (!(problem instanceof WireError)) throw problem;
    return "refused";
  }
}

const SECTIONS = {
  blake2b: (c, same) => same(toHex(blake2b(fromHex(c.data), fromHex(c.person))), c.digest),

  messages: async (c, same) => {
    const bytes = fromHex(c.bytes);
    same(await outcome(() => read(decode(bytes), bytes, c.kind)), c.is);
    if (c.digest) same(toHex(digestOf(bytes.slice(2))), c.digest);
  },

  signatures: async (c, same) => {
    const signed = fromHex(c.signed);
    same(await outcome(() => openSigned(signed, c.purpose, fromHex(c.key))), c.is);
    if (c.preimage) same(toHex(preimage(c.purpose, signed.slice(64))), c.preimage);
  },

  requests: async (c, same) => {
    const hash = await sha256(fromHex(c.body));
    same(toHex(hash), c.hash);
    const request = { ...c, campaign: fromHex(c.campaign), hash };
    same(toHex(requestPreimage(request)), c.preimage);
    const pkcs8 = fromHex(`302e020100300506032b657004220420${c.secret}`);
    const key = await OwnerKey.fromPkcs8(pkcs8, c.owner);
    same(toHex(await key.sign(fromHex(c.preimage))), c.signature);
  },

  greetings: async (c, same) => {
    const pinned = c.pinned ? fromHex(c.pinned) : null;
    same(await outcome(() => readGreeting(fromHex(c.bytes), pinned)), c.is);
    if (c.is !== "read") return;
    const found = await readGreeting(fromHex(c.bytes), pinned);
    same(toHex(found.first), c.first);
    same(toHex(found.key), c.key);
    same(found.terms.name, c.campaign);
    same(objectionToTemplate(found.template, found.terms), "");
  },

  questions: async (c, same, vectors) => {
    const greeting = await readGreeting(fromHex(vectors.greetings[0].bytes));
    const body = await openSigned(fromHex(c.bytes), "invitation", greeting.key);
    const invitation = read(decode(body), body, "invitation");
    same(toHex(digestOf(invitation.bytes)), c.digest);
    same(JSON.stringify(sizesOf(invitation.query)), JSON.stringify(c.sizes));
    same(objectionToQuestion(greeting.template, invitation) ? "outside" : "within", c.is);
  },

  numbers: ([name, given, ...expected], same) => {
    if (name === "exponential") same(hexed(floats(given).map(exponential)), expected[0]);
    if (name === "contrasts") same(hexed(contrasts(given).flatMap((row) => [...row])), expected[0]);
    if (name !== "turn") return;
    const turned = Array.from(floats(given), turn);
    same(hexed(turned.map(([cosine]) => cosine)), expected[0]);
    same(hexed(turned.map(([, sine]) => sine)), expected[1]);
  },

  odds: ([epsilon, base, high], same) =>
    same(String(highOdds(Fraction.of(epsilon), BigInt(base))), high),

  caps: ([dim, epsilon, candidates, favoured], same) => {
    const low = 1n << 32n;
    const found = bestCap(dim, highOdds(Fraction.of(epsilon), low), low);
    same(`${found.candidates} ${found.favoured}`, `${candidates} ${favoured}`);
  },

  rows: (c, same) => {
    const bytes = fromHex(c.schema);
    const schema = read(decode(bytes), bytes, "schema");
    const { rows, labels } = encodeRows(schema, c.label, c.records, 1024);
    same(rows.map(hexed).join(" "), c.rows.join(" "));
    same(labels.join(" "), c.labels.join(" "));
  },

  shares: (c, same) => {
    const bytes = fromHex(c.query);
    const query = read(decode(bytes), bytes, "share");
    same(hexed(shareOf(query, c.rows.map(floats), c.labels)), c.share);
  },

  tapes: async (c, same) => {
    const tape = await rehearsalTape(c.seed, c.owner, c.round, c.attempt);
    const found = await tape(0, c.words.length);
    same(found.map((each) => each.toString(16).padStart(16, "0")).join(" "), c.words.join(" "));
  },

  // mechanisms that this client does not draw by
  other_draws: async (c, same) => {
    const tape = writtenTape(words(c.tape));
    const drawn = draw(c, c.level, intoBall(floats(c.share), c.radius), c.radius, tape);
    same(await drawn.then(() => "drawn", (problem) => problem.constructor), RangeError);
  },

  // sums of two servers, which this client takes no part in
  sums: async (c, same) => {
    const bytes = fromHex(c.query || c.batch);
    same(await outcome(() => read(decode(bytes), bytes, "share")), "refused");
  },

  draws: async (c, same) => {
    const share = intoBall(floats(c.share), c.radius);
    const report = await draw(c, c.level, share, c.radius, writtenTape(words(c.tape)));
    same(toHex(report), c.report);
    same(report.length, reportBytes(c, share.length));
  },
};

export async function check(vectors) {
  const failures = [];
  let passed = 0;
  for (const [section, cases] of Object.entries(vectors)) {
    for (const [place, each] of cases.entries()) {
      const same = (found, expected) => {
        if (found === expected) passed += 1;
        else failures.push(`${section} ${place}: ${found} is not ${expected}`.slice(0, 300));
      };
      try {
        await SECTIONS[section](each, same, vectors);
      } catch (problem) {
        failures.push(`${section} ${place}: ${problem.stack}`);
      }
    }
  }
  return { passed, failures };
}
