// Node's worker: one message, one report.
import { parentPort } from "node:worker_threads";
import { work } from "../src/maker.js";

parentPort.on("message", async (message) => {
  try {
    parentPort.postMessage(await work(message));
  } catch {
    parentPort.postMessage(null); // rows that are stumbled over count as none
  }
});
