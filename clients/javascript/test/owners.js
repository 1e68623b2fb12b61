// node test/owners.js PLAN: many owners in one process, each with its own home, as a plan in JSON
// says: { address, folder, policy, rehearsal, owners: [{ token, records }] }. Prints what became of
// each. With a seed in `rehearsal` it is reproducible, not private.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nodeWorker } from "../node/apart.js";
import { FileHome } from "../node/file_home.js";
import { Link, Owner } from "../src/client.js";
import { Policy } from "../src/policy.js";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));

async function takePart({ token, records }, place) {
  const home = new FileHome(join(plan.folder, `owner ${place}`));
  const rehearsal = plan.rehearsal === null ? null : { seed: plan.rehearsal, first: place };
  const owner = await Owner.greet(new Link(plan.address, { patience: 280 }), {
    records,
    home,
    policy: new Policy(plan.policy),
    startWorker: nodeWorker,
    rehearsal,
  });
  await owner.enrol(token, { isExtractable: true });
  return owner.takePart();
}

const outcomes = await Promise.all(plan.owners.map(takePart));
console.log(JSON.stringify(outcomes));
process.exit(0);
