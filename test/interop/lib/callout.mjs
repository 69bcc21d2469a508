// callout.mjs: servers with an auth callout, and services that answer it, well or badly.
import assert from "node:assert/strict";
import { createCurve } from "@nats-io/nkeys";
import { Key, decode, now, token } from "./operator.mjs";
import { until } from "./wait.mjs";

export { createCurve };
export const SUBJECT = "$SYS.REQ.USER.AUTH";
export const FREE = { subs: -1, data: -1, payload: -1 };

// The service behind a callout account: what it signs, and the claims it answers with.
export class Service {
  // issuer: the key that signs.  curve: the service's own curve key; requests are sealed for it.
  constructor({ issuer = new Key("A"), curve } = {}) {
    Object.assign(this, { issuer, curve, requests: [] });
  }
  // A user JWT for this request.  aud: the account in configuration mode.
  user(q, { claims, nats, signer = this.issuer } = {}) {
    return token({ sub: q.user_nkey, aud: "APP", ...claims, nats: { ...FREE, ...nats, type: "user", version: 2 } }, signer);
  }
  response(q, { claims, nats, signer = this.issuer } = {}) {
    return token({ sub: q.user_nkey, aud: q.server_id.id, ...claims, nats: { ...nats, type: "authorization_response", version: 2 } }, signer);
  }
  accept(q, options = {}) {
    return this.response(q, { nats: { jwt: this.user(q, options) } });
  }
  refuse(q, error) {
    return this.response(q, { nats: { error } });
  }
  // Answers requests of nc with answer(claims under nats, whole claims): a text, bytes, or undefined for none.
  serve(nc, answer) {
    this.nc = nc;
    nc.subscribe(SUBJECT, {
      callback: (err, m) => {
        if (err) throw err;
        this.take(m, answer).catch((e) => (this.error = e));
      },
    });
    return nc.flush();
  }
  async take(m, answer) {
    const xkey = m.headers?.get("Nats-Server-Xkey");
    const text = this.curve && xkey ? Buffer.from(this.curve.open(m.data, xkey)).toString() : m.string();
    const claims = decode(text);
    const q = claims.nats;
    this.requests.push({ text, claims, q, m, xkey });
    const out = await answer(q, claims, { xkey, m });
    if (out !== undefined) m.respond(out);
  }
  seal(text, xkey, by = this.curve) {
    return by.seal(Buffer.from(text), xkey);
  }
  get last() {
    return this.requests.at(-1);
  }
}

// A server in configuration mode: accounts AUTH (user auth/auth), APP, OTHER, and a system account.
export const accounts = `accounts {
  AUTH { users: [{ user: auth, password: auth }, { user: aside, password: aside }] }
  APP { users: [{ user: file, password: file }] }
  OTHER { users: [{ user: other, password: other }] }
  SYS { users: [{ user: admin, password: admin }] }
}
system_account: SYS
`;

export const callout = (service, { timeout = 60, more = "", account = "AUTH", users = "auth" } = {}) => `authorization {
  timeout: ${timeout}
  auth_callout { issuer: ${service.issuer.public}, account: ${account}, auth_users: [${users}], ${service.curve ? `xkey: ${service.curve.getPublicKey()},` : ""} ${more} }
}
`;

// A configured server, and its service with this answer.  known: the accounts of the file; options: those of callout().
export class Asked {
  static async start(t, answer, { service = new Service(), config, known = accounts, extra = "", ...options } = {}) {
    const w = Object.assign(new Asked(), { t, service });
    w.s = await t.server({ config: (config ?? callout(service, options)) + known + extra, monitor: true });
    if (answer) await service.serve(await w.connect("auth"), (q, c, m) => answer(q, service, m));
    return w;
  }
  connect(user, options) {
    return this.t.connect(this.s, { user, pass: user, ...options });
  }
  // A raw connection that sent CONNECT and PING.
  async attempt(connect) {
    const r = await this.t.raw(this.s);
    r.send(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, protocol: 1, ...connect })}`, "PING");
    return r;
  }
  async in(connect) {
    const r = await this.attempt(connect);
    await r.expect(/PONG\r\n/);
    return r;
  }
  async out(connect, error = "Authorization Violation") {
    const r = await this.attempt(connect);
    assert.equal((await r.closed()).replace(/^(?:PONG|INFO .*)\r\n/gm, ""), `-ERR '${error}'\r\n`);
    return r;
  }
  async conn(r) {
    return until(`connection ${r.info.client_id} in /connz`, async () =>
      (await this.s.page(`/connz?auth=1&subs=1&cid=${r.info.client_id}`)).json.connections?.[0]);
  }
  // Collects the events about refused logins inside the callout account.
  async events(user = "auth") {
    const nc = await this.connect(user);
    const got = [];
    nc.subscribe("$SYS.ACCOUNT.CLIENT.AUTH.ERR", { callback: (e, m) => got.push(m.json()) });
    await nc.flush();
    return got;
  }
}

export { Key, decode, now, token };
