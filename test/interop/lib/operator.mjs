// operator.mjs: operators, accounts, users, activations and scoped signing keys as JWTs, and servers that trust them.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { isMayfly } from "./server.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

const PREFIX = { O: 14 << 3, A: 0, U: 20 << 3, N: 13 << 3, C: 2 << 3, X: 23 << 3, S: 18 << 3 };
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex"); // what stands before the 32 bytes of an Ed25519 secret
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

export function base32(bytes) {
  let [bits, held, out] = [0, 0, ""];
  for (const b of bytes) {
    held = (held << 8) | b;
    for (bits += 8; bits >= 5; bits -= 5) out += ALPHABET[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits ? out + ALPHABET[(held << (5 - bits)) & 31] : out;
}

function checked(...parts) {
  const bytes = Buffer.concat(parts);
  let crc = 0;
  for (const b of bytes) {
    crc ^= b << 8;
    for (let i = 0; i < 8; i++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return base32(Buffer.concat([bytes, Buffer.from([crc & 255, crc >> 8])]));
}

// An Ed25519 nkey: `public` and `seed` as texts.  kind: O, A, U, N or C.
export class Key {
  constructor(kind, raw = crypto.randomBytes(32)) {
    const prefix = PREFIX[kind];
    this.private = crypto.createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: "der", type: "pkcs8" });
    const open = crypto.createPublicKey(this.private).export({ format: "der", type: "spki" }).subarray(SPKI.length);
    this.public = Key.text(kind, open);
    this.seed = checked(Buffer.from([PREFIX.S | (prefix >> 5), (prefix & 31) << 3]), raw);
  }
  // A public key as text.
  static text(kind, raw) {
    return checked(Buffer.from([PREFIX[kind]]), raw);
  }
  sign(text) {
    return crypto.sign(null, Buffer.from(text), this.private);
  }
}

export const now = () => Math.floor(Date.now() / 1000);
const part = (x) => Buffer.from(typeof x === "string" ? x : JSON.stringify(x)).toString("base64url");
export const HEADER = { typ: "JWT", alg: "ed25519-nkey" };

// A JWT of these claims.  iss, iat and jti are filled in when they are absent.  covered: what the signature covers, "both" parts or the
// "claims" (version 1).
export function token(claims, signer, { header = HEADER, covered = "both" } = {}) {
  const full = { jti: base32(crypto.randomBytes(32)), iat: now(), iss: signer.public, ...claims };
  const [h, c] = [part(header), part(full)];
  return `${h}.${c}.${signer.sign(covered === "both" ? `${h}.${c}` : c).toString("base64url")}`;
}

export const decode = (jwt) => JSON.parse(Buffer.from(jwt.split(".")[1], "base64url"));

// -1 everywhere, JetStream off: what tools write.
export const UNLIMITED = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
export const STREAMS = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
const FREE = { subs: -1, data: -1, payload: -1 };

export class User {
  constructor(key, jwt) {
    Object.assign(this, { key, jwt, public: key.public });
  }
  // What CONNECT carries, for the nonce of this INFO.
  login(info, more = {}) {
    return { jwt: this.jwt, sig: this.key.sign(info.nonce).toString("base64url"), ...more };
  }
  get authenticator() {
    return (nonce) => this.login({ nonce });
  }
  creds() {
    return `-----BEGIN NATS USER JWT-----\n${this.jwt}\n------END NATS USER JWT------\n\n************************* IMPORTANT *************************\n`
      + `NKEY Seed printed below can be used to sign and prove identity.\n\n-----BEGIN USER NKEY SEED-----\n${this.key.seed}\n------END USER NKEY SEED------\n`;
  }
}

// An account: `nats` holds its claims and may be changed; jwt() is made afresh from them.
export class Account {
  constructor(operator, name, nats = {}, { signer, claims } = {}) {
    this.key = new Key("A");
    Object.assign(this, { operator, name, signer, claims, public: this.key.public });
    this.nats = { ...nats, limits: { ...UNLIMITED, ...nats.limits } };
  }
  jwt({ nats, claims, signer = this.signer ?? this.operator.signer } = {}) {
    return token({ name: this.name, sub: this.public, ...this.claims, ...claims, nats: { ...this.nats, ...nats, type: "account", version: 2 } }, signer);
  }
  // nats: its permissions and limits.  signer: a signing key.  scoped: no limits at all.
  user(name = "u", nats = {}, { signer = this.key, scoped = false, claims, key = new Key("U") } = {}) {
    const issuer = signer === this.key ? {} : { issuer_account: this.public };
    return new User(key, token({ name, sub: key.public, ...claims, nats: { ...(scoped ? {} : FREE), ...issuer, ...nats, type: "user", version: 2 } }, signer));
  }
  // A signing key of the account; with a template, one for scoped users.
  signingKey(template, role = "role") {
    const key = new Key("A");
    const entry = template ? { kind: "user_scope", key: key.public, role, template: { ...FREE, ...template } } : key.public;
    (this.nats.signing_keys ??= []).push(entry);
    return key;
  }
  // The token that lets `account` import `subject`.
  activation(account, subject, kind, { signer = this.key, claims } = {}) {
    const issuer = signer === this.key ? {} : { issuer_account: this.public };
    return token({ name: subject, sub: account.public, ...claims, nats: { subject, kind, ...issuer, type: "activation", version: 2 } }, signer);
  }
}

export class Operator {
  constructor({ name = "OP", nats = {}, signingKey = false, claims } = {}) {
    this.key = new Key("O");
    Object.assign(this, { name, nats, claims });
    if (signingKey) this.signing = new Key("O");
    this.system = this.account("SYS");
  }
  get signer() {
    return this.signing ?? this.key;
  }
  account(name, nats, options) {
    return new Account(this, name, nats, options);
  }
  jwt({ nats, claims, signer = this.key } = {}) {
    const keys = this.signing ? { signing_keys: [this.signing.public] } : {};
    return token({ name: this.name, sub: this.key.public, ...this.claims, ...claims,
      nats: { ...keys, system_account: this.system.public, ...this.nats, ...nats, type: "operator", version: 2 } }, signer);
  }
}

export const preload = (...accounts) => `resolver_preload {\n${accounts.map((a) => `  ${a.public}: "${a.jwt()}"`).join("\n")}\n}\n`;

// A configuration that trusts `operator`, with these accounts and the system account in memory.
export const memory = (operator, accounts = [], more = "") =>
  `operator: "${(operator.text ??= operator.jwt())}"\nresolver: MEM\n${preload(operator.system, ...accounts)}authorization { timeout: 60 }\n${more}\n`;

// The same with the JWTs in a directory.  options: more of the resolver.
export const directory = (operator, accounts = [], more = "", options = "") =>
  memory(operator, accounts, more).replace("resolver: MEM\n", `resolver: { type: full, dir: "DIR/jwt", ${options} }\n`);

// A server with the operator's accounts.  options: those of Server; full: options of a FULL resolver instead of MEM.
export class World {
  static async start(t, operator, accounts = [], { config = "", full, ...options } = {}) {
    const w = new World();
    Object.assign(w, { t, operator });
    const text = full === undefined ? memory(operator, accounts, config) : directory(operator, accounts, config, full);
    w.s = await t.server({ config: text, monitor: true, ...options });
    return w;
  }
  // A nats.js connection of a user.
  connect(user, options) {
    return this.t.connect(this.s, { authenticator: user.authenticator, ...options });
  }
  refused(user, pattern) {
    return this.t.refused(this.s, { authenticator: user.authenticator }, pattern);
  }
  // A raw connection of a user, after its first PONG and the INFO that follows CONNECT.
  async raw(user, more) {
    const r = await this.attempt((info) => ({ headers: true, no_responders: true, ...user.login(info, more) }));
    await until("PONG and the second INFO", () => {
      if (r.ended) throw new Error(`refused: ${r.buf}`);
      return /PONG\r\n/.test(r.buf) && /^INFO .*"connect_info":true.*\r\n/m.test(r.buf);
    });
    r.buf = r.buf.replace(/^(?:PONG|INFO .*)\r\n/gm, "");
    return Object.assign(r, { user });
  }
  // A raw connection that sent CONNECT and PING and reads nothing yet.  connect(info): what it sends.
  async attempt(connect) {
    const r = await this.t.raw(this.s);
    r.send(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, protocol: 1, ...connect(r.info) })}`, "PING");
    return r;
  }
  // The attempt ends with exactly this -ERR ("" is none) and nothing else.
  async out(connect, error = "Authorization Violation") {
    const r = await this.attempt(connect);
    const text = (await r.closed()).replace(/^(?:PONG|INFO .*)\r\n/gm, "");
    assert.equal(text, error && `-ERR '${error}'\r\n`);
    return r;
  }
  async in(connect) {
    const r = await this.attempt(connect);
    await r.expect(/PONG\r\n/);
    return r;
  }
  // What /connz says of the end of a raw connection.
  async reason(r) {
    const closed = await until(`${r.info.client_id} in /connz?state=closed`, async () =>
      (await this.s.page(`/connz?state=closed&limit=10000&cid=${r.info.client_id}`)).json.connections?.find((c) => c.cid === r.info.client_id));
    return closed.reason;
  }
  // The connection is closed after exactly these bytes, and /connz has this reason.
  async ends(r, error, reason) {
    assert.equal((await r.closed()).replace(/^(?:PONG|INFO .*)\r\n/gm, ""), error && `-ERR '${error}'\r\n`);
    assert.equal(await this.reason(r), reason);
  }
  async system() {
    this.root ??= await this.connect(this.operator.system.user("root"));
    return this.root;
  }
  // Pushes a JWT of the account: the server's answer.
  async push(account, jwt = account.jwt()) {
    const root = await this.system();
    return (await root.request(`$SYS.REQ.ACCOUNT.${account.public}.CLAIMS.UPDATE`, jwt, { timeout: LIMIT_MS })).json();
  }
  // The same for an account that is loaded.
  async update(account, jwt) {
    const answer = await this.push(account, jwt);
    assert.equal(answer.error, undefined, JSON.stringify(answer.error));
    assert.deepEqual(answer.data, { account: account.public, code: 200, message: "jwt updated" });
  }
  // Takes over a change of the account's claims.
  async change(account, nats) {
    Object.assign(account.nats, nats);
    await this.update(account);
  }
  accountz(account) {
    return this.s.page(`/accountz?acc=${account.public}`).then((p) => p.json.account_detail);
  }
}

export const limits = (account, more) => ({ limits: { ...account.nats.limits, ...more } });

// Who am I: the data of $SYS.REQ.USER.INFO.
export const userInfo = async (nc) => (await nc.request("$SYS.REQ.USER.INFO", "", { timeout: LIMIT_MS })).json().data;

// Waits for the start of the next second, for what is counted in whole ones.
export const nextSecond = () => until("the next second", () => Date.now() % 1000 < 100);

export { isMayfly };
