// Keeps the page up to date: fetches it every two seconds and replaces the parts marked data-live that have changed.
// Parts that did not change are left alone, so focus, selection and what a screen reader is reading stay where they are.
"use strict";

const PAUSE = 2000;
const link = document.getElementById("link");

function say(text) {
  if (link.textContent !== text) link.textContent = text;
}

function replace(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (!now) continue;
    for (const opened of old.querySelectorAll("details[open]")) fresh.getElementById(opened.id)?.setAttribute("open", "");
    if (now.outerHTML === old.outerHTML) continue;
    if (old.dataset.live === "text") old.textContent = now.textContent; // announced where it stands
    else old.replaceWith(document.adoptNode(now));
  }
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
    say("");
  } catch {
    say("No answer just now: what you see may be out of date.");
  }
}

async function forever() {
  await refresh();
  setTimeout(forever, PAUSE);
}

setTimeout(forever, PAUSE);
document.addEventListener("visibilitychange", refresh);
document.addEventListener("changed", refresh);
