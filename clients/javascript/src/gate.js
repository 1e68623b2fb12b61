// The gate: the only way out of an owner (wire.md, "What an owner must do").
//
//   signature -> time -> template -> policy -> what was said before, or the budget -> compute in a
//   worker that ends by the bound -> wait for the bound -> write debit and report down -> bytes
//
// What is refused, and when an answer leaves, depends on question, policy and ledger, never on rows.
// What the worker has not done in time is answered as by an owner without rows.

import { WireError, concat, decode, sameBytes, toHex } from "./codec.js";
import { openSigned } from "./keys.js";
import { digestOf, read } from "./messages.js";
import { Fraction, ZERO } from "./numbers.js";
import { objectionToQuestion, sizesOf } from "./template.js";

export const REASONS = {
  unreadable: "the question is not a signed invitation of this campaign",
  expired: "the question has expired",
  forbidden: "the owner's policy forbids the question",
  spent: "the owner's budget does not allow another release",
};

/** A question that is not answered, for a reason that anybody may know. */
export class Refused extends Error {
  constructor(reason, detail = "") {
    super(detail ? `${REASONS[reason]}: ${detail}` : REASONS[reason]);
    this.reason = reason;
  }
}

const now = () => performance.now() / 1000;
const sleep = (seconds) => new Promise((done) => setTimeout(done, Math.max(0, 1000 * seconds)));

export class Gate {
  /** `maker` makes reports of this owner's rows; `clock` is the campaign's time in seconds. */
  constructor({ home, greeting, policy, maker, clock }) {
    Object.assign(this, { home, greeting, policy, maker, clock });
  }

  /** The bytes of a report, or Refused. */
  async answer(question) {
    const began = now();
    const moment = { isNamed: false };
    try {
      return await this.#answer(question, moment);
    } finally {
      const step = this.policy.timeStep;
      if (step > 0 && !moment.isNamed) await sleep(step - ((now() - began) % step));
    }
  }

  async #answer(question, moment) {
    const { invitation, body } = await this.#admit(question);
    const digest = toHex(digestOf(invitation.bytes));
    const first = await this.home.transaction((book) => this.#decide(book, invitation, digest));
    if (first.report) return first.report;
    const without = await this.maker.makeWithoutRows(body, first.level); // warms the worker up, too
    if (!without) throw new Refused("forbidden", "it cannot be answered by an owner without rows");
    const waits = this.maker.isRehearsal ? 0 : this.policy.moment(invitation.query);
    const ends = now() + waits;
    const made = first.isPaid && (await this.maker.make(body, first.level, ends - now()));
    const report = concat(header(digest, first.level), made || without);
    await sleep(ends - now());
    moment.isNamed = true;
    return this.home.transaction((book) => {
      const last = this.#decide(book, invitation, digest);
      if (last.report) return last.report; // another window was quicker
      if (last.isPaid !== first.isPaid || last.level !== first.level) throw new Refused("spent");
      book.add(this.#entry(invitation, digest, first, report));
      return report;
    });
  }

  /** What is still to be said: a report of before, or at which epsilon, and whether it is paid. */
  #decide(book, invitation, digest) {
    const key = toHex(this.greeting.first);
    const said = book.entries.find((each) => each.digest === digest && each.key === key);
    if (said) return { report: said.report };
    const level = this.policy.level(invitation.query.terms.epsilons, ZERO);
    const form = this.greeting.template.forms[0];
    const answered = book.entries.filter((each) => each.key === key).length;
    if (level < 0 || !(answered < form.times)) throw new Refused("spent");
    const paid = book.entries.filter((each) => each.epsilon !== "0");
    const spent = paid.reduce((sum, each) => sum.plus(Fraction.of(each.epsilon)), ZERO);
    const able = this.policy.level(invitation.query.terms.epsilons, spent);
    // with a template it answers as often as was agreed, whatever was spent elsewhere
    return { level, isPaid: paid.length < this.policy.releases && level <= able };
  }

  #entry(invitation, digest, { level, isPaid }, report) {
    const { terms } = invitation.query;
    return {
      digest,
      key: toHex(this.greeting.first),
      campaign: invitation.campaign,
      number: invitation.number,
      at: Math.floor(Date.now() / 1000),
      epsilon: isPaid ? Fraction.of(terms.epsilons[level]).toString() : "0",
      unit: "owner",
      what: "gradient",
      how: terms.mechanism,
      report,
    };
  }

  /** The question, if it is signed, timely and allowed; no rows and no budget are looked at. */
  async #admit(question) {
    const { key, terms, template } = this.greeting;
    let body;
    let invitation;
    try {
      body = await openSigned(question, "invitation", key, this.policy.largestQuery);
      invitation = read(decode(body, this.policy.largestQuery), body, "invitation");
    } catch (problem) {
      if (problem instanceof WireError) throw new Refused("unreadable", problem.message);
      throw problem;
    }
    if (!(this.clock() < invitation.expires)) throw new Refused("expired");
    const objection =
      this.#objection(invitation, terms) || objectionToQuestion(template, invitation);
    if (objection) throw new Refused("forbidden", objection);
    return { invitation, body };
  }

  #objection({ schema, query }, terms) {
    if (!sameBytes(schema, digestOf(terms.schema.bytes))) {
      return "the question is made for another schema than the owner's rows";
    }
    const dim = terms.schema.features.reduce((sum, each) => sum + widthOf(each), 0);
    if (!(query.facts.dim === dim && query.facts.classes === terms.schema.classes.length)) {
      return "the question is made for other rows than the schema says";
    }
    if (!["privunit", "piecewise"].includes(query.terms.mechanism)) {
      return "this client draws by PrivUnit and Piecewise only";
    }
    const { columns, label } = this.greeting.template;
    const barred = this.policy.refuseColumns(columns, label);
    if (barred) return barred;
    if (!(sizesOf(query)["numbers in an answer"] <= this.policy.largestShare)) {
      return `a share may have at most ${this.policy.largestShare} numbers`;
    }
    if (!(this.policy.moment(query) <= this.policy.longest)) {
      return `an answer may take longer than ${this.policy.longest} s`;
    }
    return "";
  }
}

const widthOf = (feature) =>
  feature.tag === "category" && feature.values.length > 2 ? feature.values.length : 1;

/** Version, six bytes of the digest, level. */
export function header(digest, level) {
  const tag = digest.match(/../g).slice(0, 6);
  return Uint8Array.from([1, ...tag.map((pair) => parseInt(pair, 16)), level]);
}
