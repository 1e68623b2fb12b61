// An owner's part in a campaign over HTTP: greet, look, agree, enrol, answer (wire.md, "Calls").

import { UnknownKind, WireError, fromHex, sameBytes, textBytes, toHex } from "./codec.js";
import { Gate, Refused } from "./gate.js";
import { OwnerKey, readGreeting, requestHeaders } from "./keys.js";
import { RehearsalMaker, WorkerMaker } from "./maker.js";
import { Fraction, ZERO } from "./numbers.js";
import { encodeRows } from "./rows.js";
import { rehearsalTape } from "./tapes.js";
import { differencesInWords, inWords, objectionToTemplate } from "./template.js";

const MOST = (4 << 20) + (1 << 12); // bytes of an answer
const BUSY = [408, 425, 429, 500, 502, 503, 504];
const REHEARSAL = "rehearsal: reproducible, not private";
const OTHER =
  "this campaign asks for what this client does not do (it joins classifier campaigns whose " +
  "owners trust nobody): nothing was sent; tacit join, in Python, takes part in all kinds";
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const coin = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

/** HTTP by `fetch`: { status, header(name), bytes }; never more bytes than an honest answer has. */
export async function fetchAnswer(url, { method, headers, body }) {
  const sent = { method, headers, body: body.length ? body : undefined };
  const safe = { redirect: "error", credentials: "omit", cache: "no-store" };
  const response = await fetch(url, { ...sent, ...safe });
  const pieces = [];
  let size = 0;
  for await (const piece of piecesOf(response.body)) {
    size += piece.length;
    if (size > MOST) throw new WireError(`an answer must be at most ${MOST} bytes`);
    pieces.push(piece);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { status: response.status, header: (name) => response.headers.get(name), bytes };
}

async function* piecesOf(body) {
  if (!body) return;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

/**
 * A link to one coordinator; `send` is how: fetchAnswer, or one that pins certificates. `onAway`
 * hears, once for every call, that there is no answer yet; it is asked for `patience` seconds.
 */
export class Link {
  constructor(address, { send = fetchAnswer, patience = 3600, onAway = () => {} } = {}) {
    this.address = new URL(address);
    const isHere = LOOPBACK.includes(this.address.hostname);
    if (!(this.address.protocol === "https:" || (this.address.protocol === "http:" && isHere))) {
      throw new RangeError("an address must begin with https:// (http:// only on this machine)");
    }
    this.isHere = isHere;
    Object.assign(this, { send, patience, onAway, campaign: null, ahead: 0 });
  }

  /** The time at the coordinator in seconds, whatever our own clock says. */
  now() {
    return Date.now() / 1000 + this.ahead;
  }

  /** One request, the same bytes again and again while the other side is away. */
  async call(method, path, key = null, body = new Uint8Array()) {
    const until = Date.now() + 1000 * this.patience;
    for (let bound = 0.2; ; bound = Math.min(2 * bound, 60)) {
      const answer = await this.#once(method, path, key, body);
      if (answer && !BUSY.includes(answer.status)) return answer;
      if (bound === 0.2) this.onAway();
      if (answer) bound = Math.max(bound, 8);
      const pause = (bound * (1 + coin())) / 2;
      if (Date.now() + 1000 * pause > until) throw new Error("the coordinator did not answer");
      await sleep(pause);
    }
  }

  async #once(method, path, key, body) {
    const time = Math.floor(this.now());
    const signed = { campaign: this.campaign, method, path, time, body };
    const headers = key ? await requestHeaders(key, signed) : {};
    const url = this.address.href.replace(/\/$/, "") + path;
    let answer;
    try {
      answer = await this.send(url, { method, headers, body });
    } catch (problem) {
      if (problem instanceof WireError) throw problem;
      return null;
    }
    const off = Date.parse(answer.header("date") ?? "") / 1000 - Date.now() / 1000;
    if (Math.abs(off - this.ahead) > 30) this.ahead = off;
    return answer;
  }
}

/** Coins that can be repeated must not meet releases that protect somebody. */
function refuseReal({ entries }) {
  if (!entries.every((each) => each.campaign.startsWith(REHEARSAL))) {
    throw new WireError("this is the ledger of a real owner: rehearse with another home");
  }
}

/** One owner in one campaign. Nothing is sent but the request for the greeting until `enrol`. */
export class Owner {
  /**
   * records : rows as objects by column.  home : ledger, keys and pins.  policy : what is allowed.
   * pinned : the campaign's key in hex, from whoever invited; null: trust the first that is seen.
   * startWorker : how a worker is made.  rehearsal : { seed, first }, on this machine only.
   */
  static async greet(link, { records, home, policy, pinned = null, startWorker, rehearsal = null }) {
    const answer = await link.call("GET", "/v1/campaign");
    if (answer.status !== 200) throw new WireError("there is no campaign at this address");
    const greeting = await readGreeting(answer.bytes, pinned && fromHex(pinned)).catch((problem) => {
      throw problem instanceof UnknownKind ? new WireError(OTHER) : problem;
    });
    const problem = objectionToTemplate(greeting.template, greeting.terms);
    if (problem) throw new WireError(`${problem}: nothing was sent`);
    const isRehearsal = greeting.terms.name.startsWith(REHEARSAL);
    if (isRehearsal !== (rehearsal !== null) || (isRehearsal && !link.isHere)) {
      throw new WireError("a rehearsal is for this machine, and only where one is asked for");
    }
    const owner = new Owner();
    Object.assign(owner, { link, greeting, home, policy, rehearsal });
    link.campaign = greeting.first;
    if (isRehearsal) await home.transaction(refuseReal);
    owner.state = await owner.#pins();
    const table = encodeRows(greeting.terms.schema, greeting.terms.label, records, policy.rows);
    owner.table = table;
    owner.maker = rehearsal
      ? new RehearsalMaker(table, (round, attempt) =>
          rehearsalTape(rehearsal.seed, rehearsal.first, round, attempt),
        )
      : new WorkerMaker(table, startWorker);
    const clock = () => link.now();
    owner.gate = new Gate({ home, greeting, policy, maker: owner.maker, clock });
    return owner;
  }

  get name() {
    return toHex(this.greeting.first);
  }

  get #isEnrolled() {
    return Boolean(this.state?.isEnrolled);
  }

  /** What was kept of this campaign, which must go on from there. */
  async #pins() {
    const kept = await this.home.campaign(this.name);
    if (!kept) return null;
    const { templateBytes, line } = this.greeting;
    if (kept.template !== toHex(templateBytes)) {
      throw new WireError("the campaign's template is another than the one agreed to");
    }
    if (!kept.line.every((each, i) => line[i] === each)) {
      throw new WireError("the campaign's keys go back behind what was seen");
    }
    return kept;
  }

  /** What would leave and what it would cost, for the person who is asked. */
  async preview() {
    const { template, terms } = this.greeting;
    const [form] = template.forms;
    const { epsilons } = form.example.terms;
    const level = this.policy.level(epsilons, ZERO);
    const entries = await this.home.transaction((book) => book.entries);
    const spent = entries.reduce((sum, each) => sum.plus(Fraction.of(each.epsilon)), ZERO);
    const cost = level < 0 ? null : Fraction.of(epsilons[level]).times(form.times);
    const barred = this.policy.refuseColumns(template.columns, template.label);
    const isAffordable = cost !== null && spent.plus(cost).isAtMost(this.policy.epsilonTotal);
    return {
      campaign: terms.name,
      key: this.name,
      words: inWords(template),
      differences: differencesInWords(template),
      spent: spent.float,
      total: this.policy.epsilonTotal.float,
      cost: cost?.float ?? null,
      times: cost === null ? null : Math.exp(cost.float),
      offered: epsilons,
      objection:
        barred ||
        (cost === null ? `your limit allows no epsilon on offer (${epsilons.join(", ")})` : "") ||
        (isAffordable ? "" : "what is left of your budget does not pay for it"),
      hasAgreed: this.#isEnrolled,
      hasAnswered: entries.some((each) => each.key === this.name),
    };
  }

  /** An example of a report as it would leave: made from these rows and never sent. For the owner. */
  async example() {
    const { query } = this.greeting.terms;
    const { draw } = await import("./mechanisms.js");
    const { shareOf } = await import("./shares.js");
    const { secureTape } = await import("./tapes.js");
    const level = this.policy.level(query.terms.epsilons, ZERO);
    const share = shareOf(query, this.table.rows, this.table.labels);
    const place = Math.max(level, 0);
    return toHex(await draw(query.terms, place, share, query.learner.radius, secureTape()));
  }

  /** Agree and introduce oneself: pins, and a key in this campaign, are written down first. Who was
   * refused, or does not know what became of it, comes again with the same key. */
  async enrol(token, { isExtractable = false } = {}) {
    const { objection } = await this.preview();
    if (objection && !this.#isEnrolled) throw new RangeError(`${objection}: nothing was sent`);
    const { templateBytes, line } = this.greeting;
    const key = this.state?.key ?? (await OwnerKey.generate(isExtractable));
    this.state = { template: toHex(templateBytes), line, key: { secret: key.secret, name: key.name } };
    await this.home.keep(this.name, this.state);
    const label = this.rehearsal ? String(this.rehearsal.first).padStart(9, "0") : "";
    const body = textBytes([token, label].join("\n").replace(/\n+$/, ""));
    const answer = await this.link.call("POST", "/v1/enrol", this.#key(), body);
    if (answer.status !== 200) {
      throw new RangeError("not enrolled: the token is unknown, or another owner used it");
    }
    this.state = { ...this.state, isEnrolled: true };
    await this.home.keep(this.name, this.state);
  }

  #key() {
    return new OwnerKey(this.state.key.secret, this.state.key.name);
  }

  /** Ask and answer until one question is answered, or the campaign ends; what became of it. */
  async takePart(tell = () => {}) {
    if (!this.#isEnrolled) throw new RangeError("enrol first");
    try {
      while (true) {
        const answer = await this.link.call("GET", "/v1/question", this.#key());
        await this.#followKeys(answer.header("x-tacit-keys"));
        if (answer.status === 410) return "ended";
        if ([400, 401, 403].includes(answer.status)) throw new RangeError("not enrolled here");
        if (answer.status === 200) {
          const outcome = await this.#answer(answer.bytes, tell);
          if (outcome) return outcome;
        } else tell("waiting");
        const told = Number(answer.header("retry-after") ?? 2);
        await sleep(Math.min(told >= 0 ? told : 2, 3600) * (0.25 + 1.5 * coin()));
      }
    } finally {
      this.maker.close();
    }
  }

  async #answer(question, tell) {
    tell("asked");
    let report;
    try {
      report = await this.gate.answer(question);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      tell(`refused: ${problem.message}`);
      return problem.reason === "spent" ? "spent" : null;
    }
    const { status } = await this.link.call("POST", "/v1/report", this.#key(), report);
    return status === 200 ? "counted" : "not counted";
  }

  /** Go by a new key of the campaign where its line leads there, and never back. */
  async #followKeys(count) {
    if (count === null || Number(count) === this.greeting.statements) return;
    const answer = await this.link.call("GET", "/v1/campaign");
    const greeting = await readGreeting(answer.bytes, this.greeting.first);
    const follows = this.state.line.every((each, i) => greeting.line[i] === each);
    if (!(follows && sameBytes(greeting.templateBytes, this.greeting.templateBytes))) return;
    Object.assign(this.greeting, greeting);
    this.state = { ...this.state, line: greeting.line };
    await this.home.keep(this.name, this.state);
  }
}
