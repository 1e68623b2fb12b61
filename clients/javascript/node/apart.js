// Node's worker, and HTTPS to a certificate that is pinned.

import { createHash } from "node:crypto";
import { request } from "node:https";
import { isIP } from "node:net";
import { connect } from "node:tls";
import { Worker } from "node:worker_threads";
import { WireError } from "../src/codec.js";
import { channel } from "../src/maker.js";

const MOST = (4 << 20) + (1 << 12);

export function nodeWorker() {
  const worker = new Worker(new URL("./worker.js", import.meta.url));
  return channel(
    (message) => worker.postMessage(message),
    (tell) => {
      worker.on("message", tell);
      worker.on("error", () => tell(null));
    },
    () => worker.terminate(),
  );
}

/** How to send where only certificates with these SHA-256 fingerprints (hex) are trusted: nobody
 * else has to vouch for them, nor for the name of the host. */
export function pinnedSend(fingerprints) {
  const pins = new Set(fingerprints.map((each) => each.toLowerCase()));
  const createConnection = ({ host, port }, done) => {
    const named = isIP(host) ? {} : { servername: host };
    const socket = connect({ host, port, ...named, rejectUnauthorized: false });
    socket.once("secureConnect", () => {
      const { raw } = socket.getPeerCertificate();
      const isPinned = raw && pins.has(createHash("sha256").update(raw).digest("hex"));
      if (isPinned) done(null, socket);
      else socket.destroy(new WireError("the certificate is not the one that is pinned"));
    });
    socket.once("error", done);
  };
  return (url, { method, headers, body }) =>
    new Promise((done, fail) => {
      const { hostname: host, port, pathname } = new URL(url);
      const asked = request({ host, port: port || 443, path: pathname, method, headers: { ...headers, "accept-encoding": "identity", "content-length": body.length }, createConnection }); // prettier-ignore
      asked.on("error", fail);
      asked.on("response", (response) => {
        const pieces = [];
        let size = 0;
        response.on("data", (piece) => {
          size += piece.length;
          if (size > MOST) response.destroy(new WireError("an answer is too long"));
          else pieces.push(piece);
        });
        response.on("error", fail);
        response.on("end", () =>
          done({
            status: response.statusCode,
            header: (name) => response.headers[name] ?? null,
            bytes: new Uint8Array(Buffer.concat(pieces)),
          }),
        );
      });
      asked.end(body);
    });
}
