// node test/run_vectors.js FILE: checks the vectors in Node; exit status 1 where one fails.
import { readFileSync } from "node:fs";
import { check } from "./vectors.js";

const { passed, failures } = await check(JSON.parse(readFileSync(process.argv[2], "utf8")));
for (const each of failures) console.log(each);
console.log(`${passed} comparisons passed, ${failures.length} failed`);
process.exit(failures.length ? 1 : 0);
