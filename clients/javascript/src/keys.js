// Signatures, the greeting of a campaign, the line of its keys, and requests that an owner signs
// (wire.md, "Signatures", "Greeting", "Requests"). Ed25519 by WebCrypto.

import {
  LARGEST,
  WireError,
  concat,
  decode,
  fromHex,
  sameBytes,
  textBytes,
  toHex,
} from "./codec.js";
import { read } from "./messages.js";

const SIGNATURE = 64;
const KEY = 32;
const ED25519 = { name: "Ed25519" };

/** What is signed: a message, and what it is for. */
export function preimage(purpose, body) {
  const name = textBytes(`tacit ${purpose}`);
  return concat(new Uint8Array([name.length & 255, name.length >> 8]), name, body);
}

async function isSignedBy(key, signature, signed) {
  try {
    const imported = await crypto.subtle.importKey("raw", key, ED25519, false, ["verify"]);
    return await crypto.subtle.verify(ED25519, imported, signature, signed);
  } catch {
    return false; // no point of the curve
  }
}

/** The message inside signed bytes, if `key` signed it for this purpose. */
export async function openSigned(data, purpose, key, largest = LARGEST) {
  if (!(data.length > SIGNATURE && data.length <= largest + SIGNATURE)) {
    throw new WireError("a signed message has another length");
  }
  const body = data.slice(SIGNATURE);
  if (!(await isSignedBy(key, data.slice(0, SIGNATURE), preimage(purpose, body)))) {
    throw new WireError("the signature does not belong to this message, purpose and key");
  }
  return body;
}

/** What a campaign says first: { key, first, terms, template, statements }. */
export async function readGreeting(data, pinned = null) {
  const key = data.slice(0, KEY);
  const parts = [];
  let at = KEY;
  for (let i = 0; i < 2; i++) {
    if (!(at + 4 <= data.length)) throw new WireError("not a campaign: too short");
    const length = new DataView(data.buffer, data.byteOffset + at, 4).getUint32(0, true);
    parts.push(data.slice(at + 4, at + 4 + length));
    at += 4 + length;
    if (!(length > 0 && at <= data.length)) throw new WireError("not a campaign: too short");
  }
  const rest = data.slice(at);
  const said = rest.length ? read(decode(rest), rest, "successions") : { campaign: [], helper: [] };
  const keys = said.campaign.length ? await lineOf(said.campaign) : [key];
  if (!sameBytes(keys[keys.length - 1], key)) {
    throw new WireError("what the campaign says of its keys leads to another than it signs with");
  }
  if (pinned && !keys.some((each) => sameBytes(each, pinned))) {
    throw new WireError(
      `the campaign's key is ${toHex(key)}, but ${toHex(pinned)} is pinned: another campaign?`,
    );
  }
  const template = await openSigned(parts[0], "template", key);
  const terms = await openSigned(parts[1], "campaign", key);
  return {
    key,
    first: keys[0],
    template: read(decode(template), template, "template"),
    templateBytes: template,
    terms: read(decode(terms), terms, "campaign.classifier"),
    statements: said.campaign.length + said.helper.length,
    line: said.campaign.map(toHex),
  };
}

/** Keys in the order in which they were in use, from statements that each old and new key signed. */
async function lineOf(statements) {
  const keys = [];
  let sealing = null;
  for (const statement of statements) {
    const body = statement.slice(2 * SIGNATURE);
    const said = read(decode(body), body, "succession");
    const signed = preimage("succession", body);
    const isSigned =
      (await isSignedBy(said.old, statement.slice(0, SIGNATURE), signed)) &&
      (await isSignedBy(said.next, statement.slice(SIGNATURE, 2 * SIGNATURE), signed));
    if (!isSigned) throw new WireError("a statement about keys is not signed by both of them");
    if (!keys.length) keys.push(said.old);
    else if (!(sameBytes(keys.at(-1), said.old) && sameBytes(sealing, said.sealingBefore))) {
      throw new WireError("a statement about keys does not follow the one before it");
    }
    keys.push(said.next);
    sealing = said.sealing;
  }
  return keys;
}

/** The key of an owner in one campaign. */
export class OwnerKey {
  constructor(secret, name) {
    this.secret = secret; // a CryptoKey
    this.name = name; // its public key in hex
  }

  /** A fresh one; one that is kept in files must be extractable. */
  static async generate(isExtractable = false) {
    const pair = await crypto.subtle.generateKey(ED25519, isExtractable, ["sign", "verify"]);
    const name = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return new OwnerKey(pair.privateKey, toHex(name));
  }

  static async fromPkcs8(bytes, name) {
    const how = ["sign"];
    return new OwnerKey(await crypto.subtle.importKey("pkcs8", bytes, ED25519, false, how), name);
  }

  async sign(bytes) {
    return new Uint8Array(await crypto.subtle.sign(ED25519, this.secret, bytes));
  }
}

/** The headers of a request to the campaign with this first key. */
export async function requestHeaders(key, { campaign, method, path, time, body }) {
  const hash = await sha256(body);
  const signature = await key.sign(requestPreimage({ campaign, method, path, time, hash }));
  return {
    "x-tacit-owner": key.name,
    "x-tacit-time": String(time),
    "x-tacit-signature": toHex(signature),
  };
}

export function requestPreimage({ campaign, method, path, time, hash }) {
  const lines = ["tacit request", toHex(campaign), method, path, String(time), toHex(hash)];
  return textBytes(lines.join("\n"));
}

export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

export { fromHex, toHex };
