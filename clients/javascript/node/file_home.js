// What an owner keeps, in a folder: `ledger.json` (every release, each with the hash of all before
// it), `campaigns.json` (pins and keys, for this user only), and `mark` outside of the ledger: how
// many releases there were and the last hash. A ledger that is behind its mark is refused.

import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync } from "node:fs";
import { unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fromHex, toHex } from "../src/codec.js";
import { OwnerKey } from "../src/keys.js";

const TRIES = 600; // of a lock, a tenth of a second each
const EMPTY = "0".repeat(64);

export class FileHome {
  constructor(folder, mark = join(folder, "mark", "tacit.json")) {
    this.folder = folder;
    this.mark = mark;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    mkdirSync(dirname(mark), { recursive: true, mode: 0o700 });
  }

  async campaign(first) {
    const kept = this.#read(this.#file("campaigns.json"), {})[first];
    if (!kept) return undefined;
    const key = await OwnerKey.fromPkcs8(fromHex(kept.key.secret), kept.key.name);
    return { ...kept, key };
  }

  async keep(first, { key, ...state }) {
    const pkcs8 = key.secret.extractable
      ? toHex(new Uint8Array(await crypto.subtle.exportKey("pkcs8", key.secret)))
      : null; // read from here before: it is there
    await this.#alone(() => {
      const kept = this.#read(this.#file("campaigns.json"), {});
      const secret = pkcs8 ?? kept[first].key.secret;
      kept[first] = { ...state, key: { secret, name: key.name } };
      writeDurably(this.#file("campaigns.json"), kept);
    });
  }

  async transaction(work) {
    return this.#alone(() => {
      const lines = this.#read(this.#file("ledger.json"), []);
      this.#check(lines);
      const entries = lines.map((line) => ({ ...line.entry, report: fromHex(line.entry.report) }));
      const added = [];
      const result = work({ entries, add: (entry) => added.push(entry) });
      if (added.length) {
        for (const entry of added) {
          const plain = { ...entry, report: toHex(entry.report) };
          lines.push({ entry: plain, head: link(lines.at(-1)?.head ?? EMPTY, plain) });
        }
        writeDurably(this.#file("ledger.json"), lines);
        writeDurably(this.mark, { count: lines.length, head: lines.at(-1).head });
      }
      return result;
    });
  }

  /** Refuse a ledger that was changed, or that is an old copy. It may be one ahead of its mark:
   * killed between the two. */
  #check(lines) {
    let head = EMPTY;
    for (const line of lines) {
      head = link(head, line.entry);
      if (head !== line.head) throw new Error(`${this.folder}: the ledger was changed`);
    }
    const mark = this.#read(this.mark, { count: 0, head: EMPTY });
    const there = mark.count === 0 ? EMPTY : lines[mark.count - 1]?.head;
    if (there !== mark.head) throw new Error(`${this.folder}: the ledger is not the latest`);
  }

  #file(name) {
    return join(this.folder, name);
  }

  #read(file, otherwise) {
    try {
      return JSON.parse(readFileSync(file, "utf8"));
    } catch (problem) {
      if (problem.code === "ENOENT") return otherwise;
      throw problem;
    }
  }

  /** Nobody else reads or writes meanwhile. */
  async #alone(work) {
    const lock = this.#file("lock");
    for (let i = 0; ; i++) {
      try {
        closeSync(openSync(lock, "wx", 0o600));
        break;
      } catch (problem) {
        if (problem.code !== "EEXIST") throw problem;
        if (i === TRIES) throw new Error(`${lock} is held: delete it if nothing runs here`);
        await new Promise((done) => setTimeout(done, 100));
      }
    }
    try {
      return work();
    } finally {
      unlinkSync(lock);
    }
  }
}

const link = (head, entry) =>
  createHash("sha256").update(head).update(JSON.stringify(entry)).digest("hex");

/** All of it or nothing, on disk. */
function writeDurably(file, content) {
  const fresh = `${file}.new`;
  const handle = openSync(fresh, "w", 0o600);
  try {
    writeSync(handle, JSON.stringify(content));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(fresh, file);
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
