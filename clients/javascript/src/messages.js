// The objects that an owner receives: which fields each has, of which type, and what must hold of
// them (wire.md, "Objects"). A stranger sent them: everything is checked before anything is used.

import { blake2b } from "./blake2b.js";
import { UnknownKind, WireError, concat } from "./codec.js";

const LARGEST = 1 << 20; // numbers of a row, classes
const form = (...forms) => (node) => {
  if (!forms.includes(node.form)) throw new WireError(`a field must be a ${forms.join(" or ")}`);
  return node.value;
};
const text = form("text");
const whole = form("whole");
const number = form("number");
const bytes = form("bytes");
const numbers = form("numbers");
const wholes = form("wholes");
const anything = form("truth", "whole", "number", "text", "nothing");
const list = (each) => (node, raw) => form("list")(node).map((item) => each(item, raw));
const maybe = (each) => (node, raw) => (node.form === "nothing" ? null : each(node, raw));
const either = (one, other, first) => (node, raw) =>
  node.form === first ? one(node, raw) : other(node, raw);
const object =
  (...tags) =>
  (node, raw) => {
    const [name, ...fields] = form("list")(node);
    const tag = name === undefined ? "" : text(name);
    const kind = tags.includes(tag) ? KINDS[tag] : undefined;
    if (!kind) throw new UnknownKind(`an object must be of a known kind: ${tags.join(", ")}`);
    const names = Object.keys(kind.fields);
    if (fields.length !== names.length) throw new WireError(`${tag} must have other fields`);
    const made = { tag, bytes: raw.subarray(node.from, node.to), node };
    names.forEach((each, i) => (made[each] = kind.fields[each](fields[i], raw)));
    if (kind.holds && !kind.holds(made)) throw new WireError(`${tag}: a field is out of range`);
    return made;
  };

const isPositive = (value) => value > 0 && value < Infinity;
const isWhole = (value, least, most = Number.MAX_SAFE_INTEGER) =>
  Number.isInteger(value) && value >= least && value <= most;
const areDifferent = (values) => values.length >= 2 && new Set(values).size === values.length;
const hasShape = (array, ...shape) =>
  array.shape.length === shape.length && array.shape.every((each, i) => each === shape[i]);
const isPrintable = (name) => !/[\p{C}\p{Zl}\p{Zp}]|[^\P{Z} ]/u.test(name);
const isName = (name) => [...name].length >= 1 && [...name].length <= 200 && isPrintable(name);

const EXPANSIONS = [
  "features.rows",
  "features.products",
  "features.waves",
  "features.joined",
  "features.leaves",
  "features.model",
];
const TERMS = ["term.linear", "term.forest", "term.mapped"];
const affine = (made) =>
  made.axes.shape.length === 2 && hasShape(made.centre, made.axes.shape[0]);
const question = { round: whole, attempt: whole };

export const KINDS = {
  number: {
    fields: { name: text, low: number, high: number },
    holds: (made) => made.low < made.high,
  },
  category: {
    fields: { name: text, values: list(anything) },
    holds: (made) => areDifferent(made.values),
  },
  schema: {
    fields: { features: list((n, r) => object("number", "category")(n, r)), classes: list(anything) },
    holds: (made) => made.features.length >= 1 && areDifferent(made.classes),
  },
  "features.rows": { fields: {} },
  "features.products": { fields: { centre: numbers, axes: numbers, reach: number }, holds: affine },
  "features.waves": { fields: { centre: numbers, axes: numbers }, holds: affine },
  "features.joined": {
    fields: { parts: list((n, r) => object(...EXPANSIONS)(n, r)) },
    holds: (made) => made.parts.length >= 1,
  },
  "features.leaves": { fields: { trees: (n, r) => object("public.trees")(n, r) } },
  "features.model": { fields: { model: (n, r) => object("scores")(n, r) } },
  features: {
    fields: {
      expansion: (n, r) => object(...EXPANSIONS)(n, r),
      centre: numbers,
      matrix: numbers,
      level: number,
    },
    holds: ({ matrix, centre }) => matrix.shape.length <= 2 && hasShape(centre, matrix.shape[0]),
  },
  "public.trees": {
    fields: {
      column: wholes,
      cut: numbers,
      left: wholes,
      right: wholes,
      value: numbers,
      roots: wholes,
      classes: wholes,
    },
    holds: areTrees,
  },
  "term.linear": { fields: { weights: numbers, level: numbers } },
  "term.forest": {
    fields: { trees: (n, r) => object("public.trees")(n, r), level: numbers, temperature: number },
  },
  "term.mapped": {
    fields: { features: (n, r) => object("features")(n, r), weights: numbers },
  },
  scores: {
    fields: { classes: whole, terms: list((n, r) => object(...TERMS)(n, r)) },
    holds: (made) => isWhole(made.classes, 2),
  },
  gradient: {
    fields: {
      features: (n, r) => object("features")(n, r),
      weights: numbers,
      reach: number,
      radius: number,
    },
    holds: (made) => isPositive(made.reach) && made.radius >= 1e-100 && made.radius <= 1e100,
  },
  facts: {
    fields: { dim: whole, classes: whole, values: numbers, columns: wholes },
    holds: (made) =>
      isWhole(made.dim, 1, LARGEST) &&
      isWhole(made.classes, 2, LARGEST) &&
      made.columns.shape.length === 1 &&
      made.columns.values.every((each) => each >= 0 && each < made.dim),
  },
  ensemble: {
    // of a classifier's questions: without members
    fields: { classes: whole, members: list(form()) },
    holds: (made) => isWhole(made.classes, 2),
  },
  terms: {
    fields: { mechanism: text, epsilons: list(number) },
    holds: ({ epsilons }) =>
      epsilons.length >= 1 &&
      epsilons.length <= 256 &&
      epsilons.every((each, i) => isPositive(each) && (i === 0 || epsilons[i - 1] < each)),
  },
  share: {
    fields: {
      ...question,
      owners: maybe(either(whole, list(whole), "whole")),
      learner: (n, r) => object("gradient")(n, r),
      facts: (n, r) => object("facts")(n, r),
      ensemble: (n, r) => object("ensemble")(n, r),
      terms: (n, r) => object("terms")(n, r),
    },
    holds: isConsistent,
  },
  invitation: {
    fields: {
      campaign: text,
      number: whole,
      expires: whole,
      schema: bytes,
      query: (n, r) => object("share")(n, r),
    },
    holds: (made) =>
      isName(made.campaign) &&
      isWhole(made.number, 1) &&
      isWhole(made.expires, 0) &&
      made.schema.length === 32,
  },
  "template.bound": { fields: { name: text, most: whole } },
  "template.part": {
    fields: {
      path: text,
      meaning: text,
      numbers: whole,
      largest: number,
      kinds: list(text),
      known: list(bytes),
    },
    holds: (made) => made.largest >= 0 && isWhole(made.numbers, 0),
  },
  "template.question": {
    fields: {
      example: (n, r) => object("share")(n, r),
      free: list((n, r) => object("template.part")(n, r)),
      bounds: list((n, r) => object("template.bound")(n, r)),
      times: whole,
      most: number,
      total: maybe(number),
    },
    holds: (made) =>
      isWhole(made.times, 1) && new Set(made.free.map((p) => p.path)).size === made.free.length,
  },
  template: {
    fields: {
      campaign: text,
      schema: bytes,
      columns: list(text),
      label: text,
      trust: text,
      forms: list((n, r) => object("template.question")(n, r)),
    },
    holds: (made) => made.forms.length >= 1,
  },
  "campaign.classifier.maps": {
    fields: {
      expansions: list(bytes),
      size: whole,
      width: whole,
      features: whole,
      centre: number,
      matrix: number,
      reach: number,
    },
  },
  "campaign.classifier": {
    fields: {
      name: text,
      schema: (n, r) => object("schema")(n, r),
      label: text,
      start: whole,
      minimum: whole,
      deadline: number,
      sample: bytes,
      query: (n, r) => object("share")(n, r),
      owners: whole,
      rows: whole,
      rounds: whole,
      features: list(text),
      maps: (n, r) => object("campaign.classifier.maps")(n, r),
      keys: form("nothing"), // sums of two servers are not for this client
      budget: form("nothing"),
    },
    holds: (made) =>
      isName(made.name) &&
      isName(made.label) &&
      made.schema.features.every((each) => isPrintable(each.name)) &&
      [made.start, made.minimum, made.owners, made.rows, made.rounds].every((n) => isWhole(n, 1)),
  },
  succession: {
    fields: { old: bytes, next: bytes, sealingBefore: bytes, sealing: bytes },
    holds: (made) =>
      [made.old, made.next, made.sealingBefore, made.sealing].every((key) => key.length === 32),
  },
  successions: {
    fields: { campaign: list(bytes), helper: list(bytes) },
    holds: (made) => made.campaign.length + made.helper.length <= 32,
  },
};

/** The object of this kind that a node is; `raw` are the bytes it was read from. */
export function read(node, raw, tag) {
  return object(tag)(node, raw);
}

/** 32 bytes that name an object. */
export function digestOf(bytes) {
  return blake2b(concat(new Uint8Array([0x92, 1]), bytes));
}

function areTrees({ column, cut, left, right, value, roots, classes }) {
  const size = column.values.length;
  const isVector = (array, length) => hasShape(array, length);
  const nodes = [column, cut, left, right, value].every((each) => isVector(each, size));
  const trees = roots.values.length;
  if (!(nodes && isVector(roots, trees) && isVector(classes, trees))) return false;
  const comesAfter = (part) =>
    part.values.every((each, i) => column.values[i] < 0 || (each > i && each < size));
  return (
    comesAfter(left) &&
    comesAfter(right) &&
    roots.values.every((each) => each >= 0 && each < size) &&
    classes.values.every((each) => each >= 0 && each < 1 << 16)
  );
}

function isConsistent({ round, attempt, owners, learner, facts, ensemble }) {
  const asked = Array.isArray(owners) ? owners.length >= 1 && owners : [owners ?? 1];
  return (
    isWhole(round, 1) &&
    isWhole(attempt, 1) &&
    asked &&
    asked.every((each) => isWhole(each, Array.isArray(owners) ? 0 : 1)) &&
    ensemble.members.length === 0 &&
    ensemble.classes === facts.classes &&
    fits(learner.features, facts.dim) &&
    hasShape(learner.weights, featureCount(learner.features), facts.classes)
  );
}

/** How many features a map makes, the constant one included. */
export const featureCount = (map) => 1 + map.matrix.shape[map.matrix.shape.length - 1];

/** Whether a map takes rows of so many numbers. */
function fits(map, dim) {
  return widthOf(map.expansion, dim) === map.centre.shape[0];
}

/** How many numbers an expansion makes of a row; NaN: it takes no such rows. */
export function widthOf(expansion, dim) {
  switch (expansion.tag) {
    case "features.rows":
      return dim;
    case "features.products": {
      const coordinates = expansion.axes.shape[1];
      const width = coordinates + (coordinates * (coordinates + 1)) / 2;
      return expansion.centre.shape[0] === dim ? width : NaN;
    }
    case "features.waves":
      return expansion.centre.shape[0] === dim ? 2 * expansion.axes.shape[1] : NaN;
    case "features.joined":
      return expansion.parts.reduce((sum, part) => sum + widthOf(part, dim), 0);
    case "features.leaves": {
      const { column } = expansion.trees;
      if (!column.values.every((each) => each < dim)) return NaN;
      return column.values.reduce((sum, each) => sum + Number(each < 0), 0);
    }
    default: {
      const { classes, terms } = expansion.model;
      return terms.every((term) => scores(term, dim, classes)) ? classes - 1 : NaN;
    }
  }
}

function scores(term, dim, classes) {
  if (term.tag === "term.linear") {
    return hasShape(term.weights, dim, classes) && hasShape(term.level, classes);
  }
  if (term.tag === "term.forest") {
    return (
      term.trees.column.values.every((each) => each < dim) &&
      term.trees.classes.values.every((each) => each < classes) &&
      hasShape(term.level, classes)
    );
  }
  return (
    fits(term.features, dim) && hasShape(term.weights, featureCount(term.features), classes)
  );
}
