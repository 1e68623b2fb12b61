// node test/gate.js FILE: the gate with a real worker and a real ledger, on the vectors' questions.
// Exit status 1 where something that must hold does not.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeWorker } from "../node/apart.js";
import { FileHome } from "../node/file_home.js";
import { fromHex, toHex } from "../src/codec.js";
import { Gate, Refused } from "../src/gate.js";
import { readGreeting } from "../src/keys.js";
import { WorkerMaker } from "../src/maker.js";
import { Policy } from "../src/policy.js";
import { encodeRows } from "../src/rows.js";

const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
const greeting = await readGreeting(fromHex(vectors.greetings[0].bytes));
const records = vectors.rows[0].records;
const folder = mkdtempSync(join(tmpdir(), "tacit-"));
const clock = () => 1_790_000_000;
let homes = 0;

function gateOf({ home = new FileHome(join(folder, `home ${homes++}`)), limits = {}, table } = {}) {
  const policy = new Policy({ epsilonPerRelease: "1", epsilonTotal: "1", timeStep: 0, ...limits });
  const rows = table ?? encodeRows(greeting.terms.schema, greeting.terms.label, records, 1024);
  const maker = new WorkerMaker(rows, nodeWorker);
  return { gate: new Gate({ home, greeting, policy, maker, clock }), maker, home };
}
const question = (why) => fromHex(vectors.questions.find((each) => each.why === why).bytes);
const spending = (home) => home.transaction((book) => book.entries.map((each) => each.epsilon));
const refusal = async (gate, asked) => {
  try {
    await gate.answer(asked);
  } catch (problem) {
    if (problem instanceof Refused) return problem.reason;
    throw problem;
  }
  return "answered";
};

// an answer is charged, repeated byte for byte, and there is no second one
const { gate, maker, home } = gateOf();
const report = await gate.answer(question("as agreed"));
assert.equal(report.length, 16);
assert.equal(toHex(report.slice(1, 7)), vectors.questions[0].digest.slice(0, 12));
assert.equal(report[7], 1); // epsilon 1 of 0.5, 1 and 4
assert.deepEqual(await spending(home), ["1"]);
assert.equal(toHex(await gate.answer(question("as agreed"))), toHex(report));
assert.equal(await refusal(gate, question("another model")), "spent");
assert.deepEqual(await spending(home), ["1"]);
maker.close();

// an old copy of the ledger is noticed
copyFileSync(join(home.folder, "ledger.json"), join(folder, "old.json"));
await home.transaction((book) => book.add({ ...book.entries[0], digest: "another" }));
copyFileSync(join(folder, "old.json"), join(home.folder, "ledger.json"));
await assert.rejects(spending(home), /not the latest/);

// whatever is outside of what was agreed, or of the policy, is refused and costs nothing
const strict = gateOf();
for (const each of vectors.questions.filter((one) => one.is === "outside")) {
  assert.equal(await refusal(strict.gate, fromHex(each.bytes)), "forbidden", each.why);
}
const forged = question("as agreed");
forged[100] ^= 1;
assert.equal(await refusal(strict.gate, forged), "unreadable");
strict.gate.clock = () => 1_790_000_300;
assert.equal(await refusal(strict.gate, question("as agreed")), "expired");
for (const limits of [{ columnsNever: ["age"] }, { largestShare: 2 }, { longest: 1e-6 }]) {
  assert.equal(await refusal(gateOf({ limits }).gate, question("as agreed")), "forbidden");
}
const poor = gateOf({ limits: { epsilonPerRelease: "0.25" } });
assert.equal(await refusal(poor.gate, question("as agreed")), "spent");
assert.deepEqual(await spending(strict.home), []);

// who cannot pay says what an owner without rows says, at the same epsilon, at no cost
const spent = gateOf();
await spent.home.transaction((book) => book.add({ epsilon: "1/2", key: "elsewhere", report: [] }));
assert.equal((await spent.gate.answer(question("as agreed")))[7], 1);
assert.deepEqual(await spending(spent.home), ["1/2", "0"]);
spent.maker.close();

// rows that take too long, or are stumbled over, are answered as by nobody, at the same moment
const moments = [];
const endless = { rows: Array(200_000).fill(new Float64Array(6)), labels: Array(200_000).fill(0) };
const broken = { rows: [null], labels: [0] };
for (const table of [undefined, endless, broken]) {
  const one = gateOf({ table });
  await one.gate.maker.makeWithoutRows(fromHex(vectors.questions[0].bytes).slice(64), 1);
  const began = performance.now();
  assert.equal((await one.gate.answer(question("as agreed"))).length, 16);
  moments.push(performance.now() - began);
  assert.deepEqual(await spending(one.home), ["1"]);
  one.maker.close();
}
console.log(`the gate holds; answers after ${moments.map((each) => each.toFixed(0)).join(", ")} ms`);
process.exit(0);
