// A browser's worker: one message, one report.
import { work } from "./maker.js";

self.onmessage = async ({ data }) => {
  try {
    self.postMessage(await work(data));
  } catch {
    self.postMessage(null); // rows that are stumbled over count as none
  }
};
