// The page: rows, a limit, what would leave, and a button. Whatever is shown is put in as text.

import { Link, Owner } from "../src/client.js";
import { BrowserHome } from "../src/home.js";
import { browserWorker } from "../src/maker.js";
import { Policy } from "../src/policy.js";
import { readCsv } from "../src/rows.js";
import { costInWords, round } from "../src/words.js";

const SHOWN = 50; // rows
const SAID = {
  waiting: "Enrolled. Waiting to be asked; keep this page open.",
  asked: "Asked. Your answer leaves at a moment that does not depend on your rows.",
  counted: "Done. Your report was counted, and nothing more will leave.",
  "not counted": "Your report came too late and did not count. It is written down as spent.",
  ended: "The campaign has ended. Nothing of yours was used.",
  spent: "You have answered before, or your budget does not allow it. Nothing more leaves.",
};
const SAID_LATER = { // to who has answered before
  waiting: "You have answered. Only if that did not arrive, the same answer is sent again.",
  ended: "The campaign has ended. What you answered is counted as spent above.",
};
const AWAY = "The campaign does not answer now. It is asked again; you can wait, or come back later.";

const at = (id) => document.getElementById(id);
let owner = null;
let records = null;
let looked = null; // the limits that were looked with
let hasAnswered = false;
let looks = 0;

function say(text, isWrong = false) {
  at("state").textContent = text;
  at("state").classList.toggle("wrong", isWrong);
}

function showRows({ names, records: all }) {
  const table = document.createElement("table");
  const line = (cells, kind) => {
    const row = table.insertRow();
    for (const each of cells) {
      const cell = document.createElement(kind);
      cell.textContent = each;
      row.append(cell);
    }
  };
  line(names, "th");
  for (const each of all.slice(0, SHOWN)) line(names.map((name) => each[name]), "td");
  at("rows").replaceChildren(table);
  at("rows").hidden = false;
  const more = all.length > SHOWN ? ` The first ${SHOWN} are shown.` : "";
  const many = all.length === 1 ? "1 row" : `${all.length} rows`;
  at("rows-note").textContent = `${many}, read here; the file goes nowhere.${more}`;
}

/** Greet the campaign and show what it would take; whoever types goes on where they are. */
async function look() {
  if (!records) return;
  const mine = ++looks; // what was typed or chosen since counts, whichever is answered first
  owner = null;
  at("agree").disabled = true;
  const [epsilonPerRelease, epsilonTotal] = (looked = limits());
  const policy = new Policy({ epsilonPerRelease, epsilonTotal, releases: 1000 });
  const home = await BrowserHome.open();
  const root = new URL(document.documentElement.dataset.coordinator ?? "/", location.href);
  const startWorker = browserWorker;
  const link = new Link(root, { onAway: () => mine === looks && say(AWAY, true) });
  const found = await Owner.greet(link, { records, home, policy, startWorker });
  const preview = await found.preview();
  const example = preview.cost === null ? "" : await found.example();
  if (mine !== looks) return;
  owner = found;
  showCounted();
  show(preview, example);
  at("agree").disabled = false;
}

/** Rows whose label is no class of the campaign, and those beyond the policy's, say nothing. */
function showCounted() {
  const counted = owner.table.labels.length;
  if (counted === records.length) return;
  const { label } = owner.greeting.template;
  at("counted").textContent = `${counted} of them count: where ${label} is known to the campaign.`;
}

const limits = () => ["per-release", "in-all"].map((id) => at(id).value.trim());

function list(id, lines) {
  const items = lines.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  });
  at(id).replaceChildren(...items);
}

/** What is spent, what is left, and what the next answer would take of it. */
function showBudget(preview, next) {
  at("meaning").textContent = costInWords(preview);
  at("left").textContent = round(Math.max(0, preview.total - preview.spent));
  const part = (value) => `${Math.min(100, (100 * value) / preview.total)}%`;
  at("bar-spent").style.width = part(preview.spent);
  at("bar-cost").style.width = part(next);
  const words = [preview.spent, next, preview.total].map(round);
  at("bar").ariaLabel = `${words[0]} spent and ${words[1]} to be spent of ${words[2]}`;
}

function show(preview, example) {
  at("campaign").textContent = preview.campaign;
  at("key").textContent = preview.key;
  for (const id of ["figures", "bar", "drawn"]) at(id).hidden = preview.cost === null;
  at("cost").textContent = round(preview.cost ?? 0);
  at("times").textContent = `×${round(preview.times ?? 1)}`;
  showBudget(preview, preview.hasAnswered ? 0 : (preview.cost ?? 0));
  list("words", preview.words);
  list("differences", preview.differences);
  at("example").textContent = example;
  at("shown").hidden = false;
  at("agreeing").hidden = Boolean(preview.objection) && !preview.hasAgreed;
  hasAnswered = preview.hasAnswered;
  const before = hasAnswered ? SAID_LATER.waiting : "You take part already.";
  const against = preview.cost === null ? "Nothing leaves unless you raise your limit." : preview.objection;
  say(preview.hasAgreed ? before : against, !preview.hasAgreed);
  at("token-field").hidden = preview.hasAgreed;
  if (preview.hasAgreed) at("agree").textContent = "Go on";
}

/** Do something, and say what went wrong; words of this client, never a value of a row. */
async function guarded(work) {
  try {
    await work();
  } catch (problem) {
    say(problem.message, true);
  }
}

at("file").addEventListener("change", () =>
  guarded(async () => {
    const [file] = at("file").files;
    if (!file) return;
    records = owner = null;
    at("agree").disabled = true;
    looks++;
    const table = readCsv(await file.text());
    records = table.records;
    at("counted").textContent = "";
    showRows(table);
    await look();
  }),
);
for (const id of ["per-release", "in-all"]) {
  at(id).addEventListener("change", () =>
    guarded(async () => {
      if (String(limits()) !== String(looked)) await look();
    }),
  );
}
at("agree").addEventListener("click", () =>
  guarded(async () => {
    const fixed = ["agree", "file", "per-release", "in-all"].map(at); // as it was agreed to
    for (const each of fixed) each.disabled = true;
    try {
      const { hasAgreed } = await owner.preview();
      if (!hasAgreed) await owner.enrol(at("token").value.trim());
      at("token-field").hidden = true;
      const said = hasAnswered ? { ...SAID, ...SAID_LATER } : SAID;
      say(said.waiting);
      const outcome = await owner.takePart((what) => say(said[what] ?? what));
      showBudget(await owner.preview(), 0);
      at("agreeing").hidden = true;
      say(said[outcome], outcome === "not counted");
    } finally {
      for (const each of fixed) each.disabled = false;
    }
  }),
);
