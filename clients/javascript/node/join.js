#!/usr/bin/env node
// One owner's part in a campaign, from a file of its rows:
//   node node/join.js ADDRESS --data rows.csv --policy policy.json --token @token --home home
// Shows what would leave and what it costs, and asks; --yes agrees, --dry-run sends nothing.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { Link, Owner } from "../src/client.js";
import { Policy } from "../src/policy.js";
import { readCsv } from "../src/rows.js";
import { costInWords } from "../src/words.js";
import { nodeWorker, pinnedSend } from "./apart.js";
import { FileHome } from "./file_home.js";

const OPTIONS = {
  data: { type: "string" },
  policy: { type: "string" },
  token: { type: "string" },
  home: { type: "string", default: "owner" },
  key: { type: "string" }, // the campaign's, in hex
  pin: { type: "string", multiple: true, default: [] }, // of a certificate, SHA-256 in hex
  yes: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
};

async function main() {
  const { values: given, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [address] = positionals;
  if (!(address && given.data && given.policy)) {
    throw new RangeError("give the address, --data rows.csv and --policy policy.json");
  }
  const onAway = () => console.error("the coordinator does not answer now and is asked again; Ctrl-C stops");
  const pinned = given.pin.length ? { send: pinnedSend(given.pin) } : {};
  const link = new Link(address, { ...pinned, onAway });
  const owner = await Owner.greet(link, {
    records: readCsv(readFileSync(given.data, "utf8")).records,
    home: new FileHome(given.home),
    policy: new Policy(JSON.parse(readFileSync(given.policy, "utf8"))),
    pinned: given.key ?? null,
    startWorker: nodeWorker,
  });
  const shown = await owner.preview();
  console.log([`Campaign ${shown.campaign}, key ${shown.key}`, ...shown.words].join("\n"));
  console.log(`May differ: ${shown.differences.join("; ")}`);
  console.log(costInWords(shown));
  if (given["dry-run"]) return;
  if (!shown.hasAgreed) {
    if (shown.objection) throw new RangeError(`${shown.objection}: nothing was sent`);
    if (!(given.yes || (await agree()))) return;
    const token = given.token?.startsWith("@")
      ? readFileSync(given.token.slice(1), "utf8").trim()
      : given.token;
    if (!token) throw new RangeError("give the token that you were invited with, --token @FILE");
    await owner.enrol(token, { isExtractable: true });
  }
  console.log(await owner.takePart((what) => console.log(what)));
}

async function agree() {
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const said = await asking.question("Take part? Type yes: ");
  asking.close();
  return said.trim() === "yes";
}

main().then(
  () => process.exit(0),
  (problem) => {
    console.error(problem.message);
    process.exit(1);
  },
);
