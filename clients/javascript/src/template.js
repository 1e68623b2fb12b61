// Consent that binds: a question must be the example that the owner agreed to, byte for byte, but
// for the parts that the template names, and those within their bounds (wire.md, "Template").

import { sameBytes, toHex } from "./codec.js";
import { digestOf, featureCount, KINDS } from "./messages.js";
import { Fraction } from "./numbers.js";

// In whose words an owner is told what may differ: this client's, never those of whoever asks.
const MEANINGS = {
  round: "the round",
  attempt: "the attempt",
  owners: "who is asked, or how many",
  "learner.features.expansion": "which public features are used",
  "learner.features.centre": "their centre",
  "learner.features.matrix": "their scales",
  "learner.features.level": "the scale of the constant",
  "learner.weights": "the model so far",
  "learner.reach": "for how much a row counts",
  "learner.radius": "for how much an owner counts",
};
const SIZES = ["numbers in an answer", "bytes"];
const TRUST = "nobody but your own machine";

/** Why template and terms do not belong together, or say it in other words; empty: they do. */
export function objectionToTemplate(template, terms) {
  const columns = terms.schema.features.map((each) => each.name);
  const isAbout =
    template.campaign === terms.name &&
    sameBytes(template.schema, digestOf(terms.schema.bytes)) &&
    template.columns.length === columns.length &&
    template.columns.every((each, i) => each === columns[i]) &&
    template.label === terms.label;
  if (!isAbout) return "the campaign's template is about other columns than its terms";
  const isInWords =
    template.trust === TRUST &&
    template.forms.length === 1 &&
    template.forms.every(
      (each) =>
        each.free.every((part) => MEANINGS[part.path] === part.meaning) &&
        each.bounds.length === SIZES.length &&
        each.bounds.every((bound, i) => bound.name === SIZES[i]),
    );
  return isInWords ? "" : "the campaign's template says in other words what it asks";
}

/** Why this question is outside; empty: it is within. */
export function objectionToQuestion(template, invitation) {
  const isOfCampaign =
    invitation.campaign === template.campaign && sameBytes(invitation.schema, template.schema);
  if (!isOfCampaign) return "the question is of another campaign than the one agreed to";
  const reasons = template.forms.map((form) => objection(form, invitation.query));
  return reasons.includes("") ? "" : `the question was not agreed to: ${reasons[0]}`;
}

/** Sizes that a template bounds. */
export function sizesOf(query) {
  return {
    "numbers in an answer": (query.facts.classes - 1) * featureCount(query.learner.features),
    bytes: 2 + query.bytes.length,
  };
}

function objection(form, query) {
  const { example } = form;
  if (query.terms.mechanism !== example.terms.mechanism) return "it asks for something else";
  const most = Fraction.of(form.most);
  if (!query.terms.epsilons.every((each) => Fraction.of(each).isAtMost(most))) {
    return `it offers more than epsilon ${form.most}`;
  }
  const free = new Map(form.free.map((part) => [part.path, part]));
  const differs = difference(source(example), source(query), "", free);
  if (differs) return differs;
  const sizes = sizesOf(query);
  for (const bound of form.bounds) {
    if (!(sizes[bound.name] <= bound.most)) return `its ${bound.name} is beyond ${bound.most}`;
  }
  return "";
}

/** A node, and the bytes that it stands in. */
const source = (object) => ({ node: object.node, bytes: object.bytes, start: object.node.from });
const inside = ({ bytes, start }, node) => ({ node, bytes, start });
const bytesOf = ({ node, bytes, start }) => bytes.subarray(node.from - start, node.to - start);

const isObject = (node) =>
  node.form === "list" && node.value.length > 0 && node.value[0].form === "text";

/** Where a value differs from the example, or exceeds what is free; empty: nowhere. */
function difference(example, value, path, free) {
  if (free.has(path)) return excess(free.get(path), value);
  if (sameBytes(bytesOf(example), bytesOf(value))) return "";
  const differs = `it differs in what was fixed: ${path}`;
  const [one, other] = [example.node, value.node];
  const isOpen =
    isObject(one) && isObject(other) && one.value[0].value === other.value[0].value;
  if (!isOpen || one.value.length !== other.value.length) return differs;
  const names = Object.keys(KINDS[one.value[0].value].fields);
  for (let i = 0; i < names.length; i++) {
    const below = path ? `${path}.${names[i]}` : names[i];
    const pair = [inside(example, one.value[1 + i]), inside(value, other.value[1 + i])];
    const found = difference(...pair, below, free);
    if (found) return found;
  }
  return "";
}

/** Why a value may not stand where a part is free; empty: it may. */
function excess(part, value) {
  const known = new Set(part.known.map(toHex));
  let count = 0;
  const todo = [value.node];
  while (todo.length) {
    const node = todo.pop();
    const numbers = numbersOf(node);
    if (numbers) {
      count += numbers.length;
      if (!numbers.every((each) => Math.abs(Number(each)) <= part.largest)) {
        return `its ${part.path} has a number beyond ${part.largest}`;
      }
      if (!(count <= part.numbers)) return `its ${part.path} has more than ${part.numbers} numbers`;
    } else if (node.form === "list" && !isObject(node)) {
      for (const each of node.value) todo.push(each);
    } else if (isObject(node) && known.has(toHex(digestOf(bytesOf(inside(value, node)))))) {
      continue;
    } else if (isObject(node) && part.kinds.includes(node.value[0].value)) {
      todo.push(...node.value.slice(1));
    } else if (!(node.form === "nothing" || node.form === "truth")) {
      return `its ${part.path} is made of something else`;
    }
  }
  return "";
}

function numbersOf(node) {
  if (node.form === "whole" || node.form === "number") return [node.value];
  return node.form === "numbers" || node.form === "wholes" ? node.value.values : null;
}

/** What a campaign may ask, in plain words, for whoever is asked to agree. */
export function inWords(template) {
  const [form] = template.forms;
  const { facts, terms } = form.example;
  const times = form.times === 1 ? "once" : `at most ${form.times} times`;
  return [
    `Columns used: ${template.columns.join(", ")}. To be predicted: ${template.label}.`,
    `You are asked ${times} what the published model still gets wrong on your rows: at most ` +
      `${form.bounds[0].most} numbers for ${facts.classes} classes, through ${terms.mechanism}.`,
    `The guarantee rests on ${TRUST}.`,
  ];
}

/** What may differ from the example that is shown, part by part. */
export function differencesInWords(template) {
  const said = (value) => Number(value.toPrecision(6)).toLocaleString("en");
  return template.forms[0].free.map((part) => {
    const size = part.numbers === 1 ? "a number" : `${said(part.numbers)} numbers`;
    const range = part.numbers ? `${size} up to ${said(part.largest)}` : "some of those published";
    return `${MEANINGS[part.path]}: ${range}`;
  });
}
