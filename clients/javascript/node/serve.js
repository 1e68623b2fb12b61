#!/usr/bin/env node
// The page for a person, from this copy of the client, on this machine:
//   node node/serve.js ADDRESS [--pin FINGERPRINT] [--port 0]
// It relays /v1/ to the coordinator, so that the browser sees one origin: no code and no rights come
// from whoever asks. Only this machine is answered.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fetchAnswer } from "../src/client.js";
import { pinnedSend } from "./apart.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["page", "src"];
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const RELAYED = { "/v1/campaign": "GET", "/v1/question": "GET", "/v1/enrol": "POST", "/v1/report": "POST" }; // prettier-ignore
const SENT = ["x-tacit-owner", "x-tacit-time", "x-tacit-signature"];
const RECEIVED = ["content-type", "date", "retry-after", "x-tacit-keys"];
const LARGEST = 1 << 20; // bytes of a body
export const SAFE = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** A server of the page that speaks to one coordinator. */
export function pageServer(address, send) {
  return createServer(async (request, response) => {
    try {
      const { port } = request.socket.address();
      const hosts = [`localhost:${port}`, `127.0.0.1:${port}`];
      if (!hosts.includes(request.headers.host)) return refuse(response, 403);
      const { pathname } = new URL(request.url, "http://localhost");
      if (RELAYED[pathname] === request.method) return await relay(request, response, pathname);
      return request.method === "GET" ? file(response, pathname) : refuse(response, 404);
    } catch {
      return refuse(response, 502);
    }
  });

  async function relay(request, response, pathname) {
    const pieces = [];
    let size = 0;
    for await (const piece of request) {
      size += piece.length;
      if (size > LARGEST) return refuse(response, 413);
      pieces.push(piece);
    }
    const given = SENT.filter((name) => name in request.headers);
    const headers = Object.fromEntries(given.map((name) => [name, request.headers[name]]));
    const url = address.replace(/\/$/, "") + pathname;
    const body = new Uint8Array(Buffer.concat(pieces));
    const answer = await send(url, { method: request.method, headers, body });
    const told = RECEIVED.map((name) => [name, answer.header(name)]).filter(([, value]) => value);
    response.writeHead(answer.status, { ...SAFE, ...Object.fromEntries(told) });
    return response.end(answer.bytes);
  }

  function file(response, pathname) {
    const name = normalize(pathname === "/" ? "/page/index.html" : pathname).slice(1);
    const kind = KINDS[extname(name)];
    if (!kind || !FOLDERS.includes(name.split("/")[0])) return refuse(response, 404);
    try {
      const content = readFileSync(join(ROOT, name));
      response.writeHead(200, { ...SAFE, "content-type": `${kind}; charset=utf-8` });
      return response.end(content);
    } catch {
      return refuse(response, 404);
    }
  }
}

function refuse(response, status) {
  response.writeHead(status, { ...SAFE, "content-type": "application/json" });
  response.end('{"error":"refused"}');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = {
    pin: { type: "string", multiple: true, default: [] },
    port: { type: "string", default: "0" },
  };
  const { values: given, positionals } = parseArgs({ options, allowPositionals: true });
  const send = given.pin.length ? pinnedSend(given.pin) : fetchAnswer;
  const server = pageServer(positionals[0], send);
  server.listen(Number(given.port), "127.0.0.1", () => {
    console.log(`http://localhost:${server.address().port}/`);
  });
}
