// Where rows are touched: a share is computed and randomised, and nothing is decided. In a worker
// of its own, which is ended when its time is over: `start` makes one, by the means of the place
// (a browser's Worker, Node's worker_threads) as { send, next, end }.

import { decode } from "./codec.js";
import { draw } from "./mechanisms.js";
import { read } from "./messages.js";
import { shareOf } from "./shares.js";
import { secureTape } from "./tapes.js";

/** A report's numbers to the question inside `body`, at a level, from rows and a tape. */
export async function makeReport(body, level, rows, labels, tape) {
  const { query } = read(decode(body), body, "invitation");
  const share = shareOf(query, rows, labels);
  return draw(query.terms, level, share, query.learner.radius, tape);
}

/** What a worker does with one message. */
export function work({ body, level, rows, labels }) {
  return makeReport(body, level, rows, labels, secureTape());
}

export class WorkerMaker {
  constructor({ rows, labels }, start) {
    this.rows = rows;
    this.labels = labels;
    this.start = start;
    this.worker = null;
  }

  /** As by an owner without rows; waits as long as it takes. */
  async makeWithoutRows(body, level) {
    this.worker ??= this.start();
    this.worker.send({ body, level, rows: [], labels: [] });
    return this.worker.next(null);
  }

  /** From the owner's rows; null: not in so many seconds, or rows that cannot be worked on. */
  async make(body, level, seconds) {
    this.worker.send({ body, level, rows: this.rows, labels: this.labels });
    const made = await this.worker.next(seconds);
    if (!made) {
      this.worker.end();
      this.worker = null;
    }
    return made;
  }

  close() {
    this.worker?.end();
    this.worker = null;
  }
}

/** A worker behind two functions: `post` sends, `listen` is told of every answer. */
export function channel(post, listen, end) {
  let wake = null;
  listen((made) => wake?.(made));
  return {
    send: post,
    end,
    next: (seconds) =>
      new Promise((done) => {
        const timer = seconds === null ? null : setTimeout(() => done(null), 1000 * seconds);
        wake = (made) => {
          clearTimeout(timer);
          done(made);
        };
      }),
  };
}

/** A browser's worker. */
export function browserWorker() {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  return channel(
    (message) => worker.postMessage(message),
    (tell) => {
      worker.onmessage = ({ data }) => tell(data);
      worker.onerror = () => tell(null);
    },
    () => worker.terminate(),
  );
}

/** Reproducible, not private: coins from a seed, no worker. For rehearsals on this machine. */
export class RehearsalMaker {
  constructor({ rows, labels }, tapeFor) {
    Object.assign(this, { rows, labels, tapeFor, isRehearsal: true });
  }

  async makeWithoutRows(body, level) {
    return makeReport(body, level, [], [], await this.#tape(body));
  }

  async make(body, level) {
    return makeReport(body, level, this.rows, this.labels, await this.#tape(body));
  }

  #tape(body) {
    const { query } = read(decode(body), body, "invitation");
    return this.tapeFor(query.round, query.attempt);
  }

  close() {}
}
