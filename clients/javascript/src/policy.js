// What an owner allows, decided by the owner alone before any question comes. Budgets are exact:
// give them as texts ("0.5"), not as results of arithmetic.

import { Fraction, ZERO } from "./numbers.js";

const STEP = 5e-8; // seconds of one multiplication and addition, on a slow machine
const OVERHEAD = 0.25; // seconds: messages to and from a worker, a busy machine

export class Policy {
  /**
   * epsilonPerRelease, epsilonTotal : budgets.  releases : answers in all.
   * columns : the only columns that may be used (null: any).  columnsNever : those that may not.
   * rows : how many rows count, the first so many; public.  largestQuery, largestShare : bytes of a
   * question, numbers of an answer.  longest : seconds that an answer may take by its bound.
   * timeStep : refusals and repeated answers leave after a multiple of so many seconds.
   */
  constructor({
    epsilonPerRelease,
    epsilonTotal,
    releases = 1,
    columns = null,
    columnsNever = [],
    rows = 1024,
    largestQuery = 1 << 20,
    largestShare = 1 << 20,
    longest = 300,
    timeStep = 0.1,
    ...unknown
  }) {
    if (Object.keys(unknown).length) {
      throw new RangeError(`unknown names in the policy: ${Object.keys(unknown).join(", ")}`);
    }
    this.epsilonPerRelease = positive("the epsilon of one answer", epsilonPerRelease);
    this.epsilonTotal = positive("the epsilon in all", epsilonTotal);
    for (const [name, value] of Object.entries({ releases, rows, largestQuery, largestShare })) {
      if (!(Number.isSafeInteger(value) && value >= 1)) {
        throw new RangeError(`${name} of the policy must be a whole number, at least 1`);
      }
    }
    if (!(longest > 0 && timeStep >= 0 && timeStep <= 3600)) {
      throw new RangeError("longest must be above 0 and timeStep from 0 to 3600 seconds");
    }
    Object.assign(this, { releases, columns, columnsNever, rows });
    Object.assign(this, { largestQuery, largestShare, longest, timeStep });
  }

  /** The place of the largest epsilon on offer that is allowed after `spent`; -1: none is. */
  level(epsilons, spent) {
    return epsilons.findLastIndex((each) => {
      const epsilon = Fraction.of(each);
      return (
        epsilon.isAtMost(this.epsilonPerRelease) &&
        spent.plus(epsilon).isAtMost(this.epsilonTotal)
      );
    });
  }

  /** Why these columns may not be used; empty: they may. */
  refuseColumns(columns, label) {
    const barred = [...columns, label].filter((each) => this.columnsNever.includes(each));
    const beyond = this.columns ? columns.filter((each) => !this.columns.includes(each)) : [];
    const all = [...new Set([...barred, ...beyond])].sort();
    return all.length ? `the policy does not allow the columns ${all.join(", ")}` : "";
  }

  /** Seconds after which an answer leaves, whatever the rows: by question and policy alone. */
  moment(query) {
    return OVERHEAD + STEP * (this.rows * rowSteps(query) + drawSteps(query));
  }
}

function positive(name, written) {
  const digits = /^\d+(\.\d+)?$/.test(String(written)) ? Fraction.of(written) : ZERO;
  if (!(digits.above > 0n)) {
    throw new RangeError(`${name} must be a number above 0 such as 0.5, got ${written}`);
  }
  return digits;
}

/** Steps that one row takes at most. */
function rowSteps(query) {
  const { learner, facts } = query;
  const size = learner.weights.shape[0];
  return 200 + mapSteps(learner.features, facts.dim) + 3 * size * facts.classes;
}

const mapSteps = (map, dim) => expansionSteps(map.expansion, dim) + 2 * map.matrix.values.length;

function expansionSteps(expansion, dim) {
  switch (expansion.tag) {
    case "features.rows":
      return dim;
    case "features.products":
      return expansion.axes.values.length + expansion.axes.shape[1] ** 2;
    case "features.waves":
      return expansion.axes.values.length + 60 * expansion.axes.shape[1];
    case "features.joined":
      return expansion.parts.reduce((sum, part) => sum + 100 + expansionSteps(part, dim), 0);
    case "features.leaves":
      return 20 * expansion.trees.column.values.length;
    default:
      return expansion.model.terms.reduce(
        (sum, term) => sum + termSteps(term, dim, expansion.model.classes),
        20 * expansion.model.classes ** 2,
      );
  }
}

function termSteps(term, dim, classes) {
  if (term.tag === "term.linear") return 4 * dim * classes;
  if (term.tag === "term.forest") return 20 * term.trees.column.values.length;
  const folding = term.features.matrix.values.length * classes;
  return mapSteps(term.features, dim) + 4 * folding;
}

/** Steps of a draw: PrivUnit compares the share with at most 2,048 axes, ten steps a coordinate. */
function drawSteps(query) {
  const dim = (query.facts.classes - 1) * query.learner.weights.shape[0];
  return query.terms.mechanism === "privunit" ? 2048 * (200 + 12 * dim) : 1000 * (10 + dim);
}
