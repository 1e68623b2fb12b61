// The administrator's form. The key goes from the field into one header of one request; it is kept nowhere.
"use strict";

const form = document.getElementById("admin");
const told = document.getElementById("told");
const shown = document.getElementById("shown");

const TOLD = {
  200: "Done.",
  401: "That is not the admin key.",
  403: "This key may not do that.",
  409: "The campaign has ended; nothing was changed.",
  429: "Too many requests: wait a little.",
};

// Columns in the order of what one looks for, with their headings; numbers of lines are for asking on.
const COLUMNS = {
  at: "When (UTC)",
  who: "Who",
  what: "What",
  outcome: "Outcome",
  name: "Name",
  state: "State",
  about: "About",
  source: "From",
  token: "Token",
  owner: "Key",
  answered: "Answered",
  made: "Made (UTC)",
  maker: "By",
  expires: "Until (UTC)",
};
const MOMENTS = ["at", "made", "expires"];
// Statuses of answers, as the log has them, in words.
const OUTCOMES = {
  200: "done",
  400: "malformed",
  403: "refused",
  404: "not found",
  409: "ended before",
  507: "no room",
};
const KEY = /^[0-9a-f]{64}$/;

function cell(kind, name, value) {
  const made = document.createElement(kind);
  const moment = MOMENTS.includes(name) && value;
  const said = name === "outcome" ? (OUTCOMES[value] ?? value) : value;
  const text = moment ? new Date(1000 * value).toISOString().slice(0, 19).replace("T", " ") : String(said ?? "");
  made.className = moment ? "words moment" : "words";
  if (!KEY.test(text)) made.textContent = text;
  else {
    // its beginning is shown; all of it is there to be copied
    const digits = document.createElement("code");
    digits.className = "digits";
    digits.textContent = digits.title = text;
    made.append(digits);
  }
  return made;
}

// What became of it; what was refused, or failed, looks so.
function tell(text, failed = false) {
  told.textContent = text;
  told.classList.toggle("warning", failed);
}

const LINES = 50; // of a list at once

function columns(row) {
  return Object.keys(COLUMNS).filter((name) => name in row);
}

function add(rows, body) {
  for (const row of [...rows].reverse()) {
    const line = body.insertRow();
    for (const name of columns(row)) line.append(cell("td", name, row[name]));
  }
}

function table(rows) {
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const name of columns(rows[0] ?? {})) head.append(cell("th", "", COLUMNS[name]));
  add(rows, made.createTBody());
  return made;
}

// The latest lines come first; more of them are asked for with the key that is in the field then.
function show(list, rows) {
  const made = table(rows);
  const more = document.createElement("button");
  let first = rows[0]?.number;
  more.type = "button";
  more.className = "second";
  more.textContent = "Earlier";
  more.hidden = rows.length < LINES;
  more.addEventListener("click", async () => {
    const answer = await ask(form.elements.key.value, { name: "show", value: list }, `&before=${first}`);
    if (!answer.ok) {
      tell(TOLD[answer.status] ?? "It did not work.", true);
      return;
    }
    const found = (await answer.json())[list];
    add(found, made.tBodies[0]);
    first = found[0]?.number ?? first;
    more.hidden = found.length < LINES;
    tell(`${made.tBodies[0].rows.length} lines, the latest first.`);
  });
  const line = document.createElement("p");
  line.className = "buttons";
  line.append(more);
  shown.replaceChildren(made, line);
  shown.hidden = rows.length === 0;
  tell(rows.length ? `${rows.length} lines, the latest first.` : "There are none.");
}

function ask(key, button, which = "") {
  const headers = { "x-tacit-admin": key, "content-type": "text/plain" };
  if (button.name === "show") return fetch(`${form.dataset.root}/v1/admin/${button.value}?limit=${LINES}${which}`, { headers });
  return fetch(`${form.dataset.root}/v1/admin/state`, { method: "POST", headers, body: button.value });
}

async function press(button) {
  const key = form.elements.key;
  if (button.value === "ended" && !confirm("End the campaign? This cannot be taken back.")) return;
  tell("Asking …");
  shown.hidden = true;
  try {
    const answer = await ask(key.value, button);
    tell(TOLD[answer.status] ?? "It did not work; nothing was changed.", !answer.ok);
    if (answer.ok && button.name === "show") {
      show(button.value, (await answer.json())[button.value]);
    } else if (answer.ok) key.value = "";
    else key.select();
  } catch {
    tell("The coordinator does not answer, or the key has characters that no key has.", true);
  }
  document.dispatchEvent(new Event("changed"));
}

// Enter in the field presses the first button that submits: one that only looks. What steers is no such button.
form.addEventListener("submit", (event) => {
  event.preventDefault();
  press(event.submitter);
});
for (const button of form.querySelectorAll("[name=state]"))
  button.addEventListener("click", () => form.reportValidity() && press(button));

document.getElementById("scriptless").hidden = true;
form.hidden = false;

// The address that owners join at is the one this page was read from.
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;
