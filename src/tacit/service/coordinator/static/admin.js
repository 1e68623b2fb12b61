// The administrator's form. The key goes from the field into one header of one request; it is kept nowhere.
"use strict";

const form = document.getElementById("admin");
const told = document.getElementById("told");

const TOLD = {
  200: "Done.",
  401: "That is not the admin key.",
  409: "The campaign has ended; nothing was changed.",
  429: "Too many refused requests: wait a little.",
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = form.elements.key;
  told.textContent = "Asking …";
  try {
    const answer = await fetch("/v1/admin/state", {
      method: "POST",
      headers: { "x-tacit-admin": key.value, "content-type": "text/plain" },
      body: event.submitter.value,
    });
    told.textContent = TOLD[answer.status] ?? "It did not work; nothing was changed.";
    if (answer.ok) key.value = "";
    else key.select();
  } catch {
    told.textContent = "The coordinator does not answer, or the key has characters that no key has.";
  }
  document.dispatchEvent(new Event("changed"));
});

document.getElementById("scriptless").hidden = true;
form.hidden = false;

// The address that owners join at is the one this page was read from.
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;
