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

const at = (id) => document.getElementById(id);
let owner = null;
let records = null;
let looked = null; // the limits that were looked with

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
  at("rows-note").textContent = `${all.length} rows, read here; the file goes nowhere.${more}`;
}

/** Greet the campaign and show what it would take; whoever types goes on where they are. */
async function look() {
  if (!records) return;
  owner = null;
  at("agree").disabled = true;
  const [epsilonPerRelease, epsilonTotal] = (looked = limits());
  const policy = new Policy({ epsilonPerRelease, epsilonTotal, releases: 1000 });
  const home = await BrowserHome.open();
  const root = new URL(document.documentElement.dataset.coordinator ?? "/", location.href);
  const startWorker = browserWorker;
  owner = await Owner.greet(new Link(root), { records, home, policy, startWorker });
  await show(await owner.preview());
  at("agree").disabled = false;
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

async function show(preview) {
  at("campaign").textContent = preview.campaign;
  at("key").textContent = preview.key;
  at("cost").textContent = preview.cost === null ? "none" : round(preview.cost);
  at("times").textContent = preview.times === null ? "" : `×${round(preview.times)}`;
  showBudget(preview, preview.cost ?? 0);
  list("words", preview.words);
  list("differences", preview.differences);
  at("example").textContent = preview.cost === null ? "" : await owner.example();
  at("shown").hidden = false;
  at("agreeing").hidden = Boolean(preview.objection) && !preview.hasAgreed;
  say(preview.hasAgreed ? "You take part already." : preview.objection, !preview.hasAgreed);
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
    const table = readCsv(await file.text());
    records = table.records;
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
    at("agree").disabled = true;
    try {
      if (!owner.state) await owner.enrol(at("token").value.trim());
      say(SAID.waiting);
      const outcome = await owner.takePart((what) => say(SAID[what] ?? what));
      showBudget(await owner.preview(), 0);
      at("agreeing").hidden = true;
      say(SAID[outcome], outcome === "not counted");
    } finally {
      at("agree").disabled = false;
    }
  }),
);
