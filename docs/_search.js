/* Search that works from files as well as from a server: the index is a script, not a request, and
   words are looked for here. Every page that holds all words is shown, headings first. */
"use strict";

const MOST = 30;

function words(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
}

function score(entry, asked) {
  const title = entry.title.toLowerCase();
  const text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of asked) {
    const inTitle = title.includes(word);
    const times = text.split(word).length - 1;
    if (!inTitle && times === 0) return 0;
    sum += (inTitle ? 20 : 0) + Math.min(times, 5);
  }
  return sum;
}

function excerpt(text, asked) {
  const at = Math.max(0, text.toLowerCase().indexOf(asked[0]) - 80);
  return (at > 0 ? "... " : "") + text.slice(at, at + 240) + (text.length > at + 240 ? " ..." : "");
}

function show(results, asked) {
  results.replaceChildren();
  const found = window.searchEntries
    .map((entry) => ({ entry, sum: asked.length ? score(entry, asked) : 0 }))
    .filter((each) => each.sum > 0)
    .sort((one, other) => other.sum - one.sum)
    .slice(0, MOST);
  if (!found.length) results.textContent = asked.length ? "Nothing found." : "";
  for (const { entry } of found) {
    const article = document.createElement("article");
    const heading = document.createElement("h3");
    const link = document.createElement("a");
    link.href = entry.location;
    link.textContent = entry.title;
    const text = document.createElement("p");
    text.textContent = excerpt(entry.text, asked);
    heading.append(link);
    article.append(heading, text);
    results.append(article);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("mkdocs-search-results");
  if (!results) return;
  const query = document.getElementById("mkdocs-search-query");
  query.value = new URLSearchParams(window.location.search).get("q") || "";
  const index = document.createElement("script");
  index.src = "search/entries.js";
  index.onload = () => {
    show(results, words(query.value));
    query.addEventListener("input", () => show(results, words(query.value)));
  };
  document.head.append(index);
});
