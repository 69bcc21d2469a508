// trusted_proxies.mjs: proxies { trusted }, proxy_required, and CONNECT with proxy_sig: the nonce, signed by a proxy.
import assert from "node:assert/strict";
import { createUser, createAccount } from "@nats-io/nkeys";
import { Asked } from "./lib/callout.mjs";
import { Operator, World } from "./lib/operator.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";
import { freePort } from "../leaf/lib/ports.mjs";

const proxies = (...keys) => `proxies { trusted: [ ${keys.map((k) => `{ key: "${k.getPublicKey()}" }`).join(", ")} ] }\n`;
const sign = (key, nonce) => Buffer.from(key.sign(Buffer.from(nonce))).toString("base64url");

// A connection through a proxy with this key (none: directly); how it ended: "in", or why it was closed.
async function attempt(t, s, key, connect = {}) {
  const r = await t.raw(s);
  const id = r.info.client_id;
  r.send(`CONNECT ${JSON.stringify({ verbose: false, protocol: 1, ...connect, ...(key ? { proxy_sig: sign(key, r.info.nonce) } : {}) })}`, "PING");
  const [, said] = await r.expect(/(PONG|-ERR [^\r]*)\r\n/);
  if (said === "PONG") return Object.assign(r, { id, end: "in" });
  assert.equal(said, "-ERR 'Authorization Violation'");
  const why = await until("the record of it", async () => (await s.page(`/connz?state=closed&cid=${id}`)).json.connections[0]?.reason);
  return { id, end: why };
}
const connection = async (s, id, more = "") => (await s.page(`/connz?cid=${id}${more}`)).json.connections[0];

scenario("a client that a trusted proxy vouches for is shown with the key of the proxy", async (t) => {
  const [a, b, other] = [createAccount(), createUser(), createUser()];
  const s = await t.server({ config: proxies(a, b), monitor: true });
  assert.deepEqual((await s.page("/varz")).json.proxies, { trusted: [{ key: a.getPublicKey() }, { key: b.getPublicKey() }] });
  const direct = await attempt(t, s);
  assert.equal(direct.info.nonce.length, 15);
  assert.equal((await connection(s, direct.id)).proxy, undefined);
  for (const key of [a, b]) {
    const r = await attempt(t, s, key);
    assert.deepEqual((await connection(s, r.id)).proxy, { key: key.getPublicKey() });
    r.close();
    await until("its record", async () => (await connection(s, r.id, "&state=closed"))?.proxy?.key === key.getPublicKey());
  }
  assert.equal((await attempt(t, s, other)).end, "Proxy Not Trusted");
  for (const proxy_sig of ["x", "not base64!", sign(a, "another nonce")])
    assert.equal((await attempt(t, s, undefined, { proxy_sig })).end, "Proxy Not Trusted");
});

scenario("without trusted proxies a signature means nothing", async (t) => {
  const s = await t.server({ config: "authorization { users: [ { user: u, password: u }, { user: p, password: p, proxy_required: true } ] }", monitor: true });
  assert.equal((await attempt(t, s, undefined, { user: "u", pass: "u", proxy_sig: "x" })).end, "in");
  assert.equal((await attempt(t, s, undefined, { user: "p", pass: "p", proxy_sig: "x" })).end, "Proxy Required");
});

scenario("a user with proxy_required comes through a proxy alone", async (t) => {
  const [key, n] = [createAccount(), createUser()];
  const s = await t.server({ config: `${proxies(key)} accounts { A { users: [ { user: u, password: u }, { user: p, password: p, proxy_required: true }, { nkey: ${n.getPublicKey()}, proxy_required: true } ] }
    SYS { users: [ { user: s, password: s } ] } }\nsystem_account: SYS`, monitor: true });
  const sys = await t.connect(s, { user: "s", pass: "s" });
  const events = collect(sys, "$SYS.SERVER.*.CLIENT.AUTH.ERR");
  await sys.flush();
  const p = { user: "p", pass: "p" };
  assert.equal((await attempt(t, s, undefined, p)).end, "Proxy Required");
  assert.equal((await attempt(t, s, undefined, { ...p, pass: "wrong" })).end, "Proxy Required");
  assert.equal((await attempt(t, s, key, { ...p, pass: "wrong" })).end, "Authentication Failure");
  assert.equal((await attempt(t, s, key, p)).end, "in");
  assert.equal((await attempt(t, s, createUser(), p)).end, "Proxy Not Trusted");
  for (const through of [undefined, key]) assert.equal((await attempt(t, s, through, { user: "u", pass: "u" })).end, "in");
  await until("the events", () => events.length === 4);
  assert.deepEqual(events.map((m) => m.json().reason), ["Proxy Required", "Proxy Required", "Authentication Failure", "Proxy Not Trusted"]);
  // an nkey signs the same nonce
  for (const [through, end] of [[undefined, "Proxy Required"], [key, "in"]]) {
    const r = await t.raw(s);
    const connect = { verbose: false, nkey: n.getPublicKey(), sig: sign(n, r.info.nonce), ...(through ? { proxy_sig: sign(through, r.info.nonce) } : {}) };
    r.send(`CONNECT ${JSON.stringify(connect)}`, "PING");
    const [, said] = await r.expect(/(PONG|-ERR [^\r]*)\r\n/);
    assert.equal(said, end === "in" ? "PONG" : "-ERR 'Authorization Violation'");
  }
  assert.doesNotMatch(s.log(), /proxy_sig/);
});

scenario("the one user or token of a server may be bound to a proxy, bcrypt too", async (t) => {
  const key = createAccount();
  const hash = "$2a$10$9tqCAT51axbJDw8bYGkhau8ULQHHNrPTtjlvcZI6lLMSXy1WqqxZO"; // of "secret"
  for (const [auth, connect] of [["token: tok", { auth_token: "tok" }], ["user: u, password: u", { user: "u", pass: "u" }]]) {
    const s = await t.server({ config: `${proxies(key)} authorization { ${auth}, proxy_required: true }`, monitor: true });
    assert.equal((await attempt(t, s, undefined, connect)).end, "Proxy Required");
    assert.equal((await attempt(t, s, key, connect)).end, "in");
  }
  const s = await t.server({ config: `${proxies(key)} authorization { users: [ { user: b, password: "${hash}", proxy_required: true } ] }`, monitor: true });
  assert.equal((await attempt(t, s, undefined, { user: "b", pass: "secret" })).end, "Proxy Required");
  assert.equal((await attempt(t, s, key, { user: "b", pass: "wrong" })).end, "Authentication Failure");
});

scenario("a reload trusts other proxies, and closes what came through one that is not trusted any more", async (t) => {
  const [a, b] = [createAccount(), createAccount()];
  const s = await t.server({ config: proxies(a), monitor: true });
  const [r, direct] = [await attempt(t, s, a), await attempt(t, s)];
  assert.equal((await attempt(t, s, b)).end, "Proxy Not Trusted");
  s.reload(proxies(a, b));
  await s.logged(new RegExp(`Reloaded: proxies trusted keys \\["${b.getPublicKey()}"\\] were added`));
  const second = await attempt(t, s, b);
  assert.equal(second.end, "in");
  s.reload(proxies(b));
  await s.logged(new RegExp(`Reloaded: proxies trusted keys \\["${a.getPublicKey()}"\\] were removed`));
  await r.expect(/-ERR 'Authorization Violation'\r\n/);
  assert.equal((await connection(s, r.id, "&state=closed")).reason, "Proxy Not Trusted");
  await direct.ping();
  await second.ping();
  assert.equal((await attempt(t, s, a)).end, "Proxy Not Trusted");
});

scenario("a user who must use a proxy after a reload must connect again", async (t) => {
  const key = createAccount();
  const config = (more) => `${proxies(key)} authorization { users: [ { user: p, password: p ${more} }, { user: u, password: u } ] }`;
  const s = await t.server({ config: config(""), monitor: true });
  const [p, u] = [await attempt(t, s, undefined, { user: "p", pass: "p" }), await attempt(t, s, undefined, { user: "u", pass: "u" })];
  s.reload(config(", proxy_required: true"));
  await p.expect(/-ERR 'Authorization Violation'\r\n/);
  await u.ping();
  assert.equal((await attempt(t, s, undefined, { user: "p", pass: "p" })).end, "Proxy Required");
});

scenario("a leaf link may come through a proxy, too", async (t) => {
  const [key, other] = [createAccount(), createUser()];
  const port = await freePort();
  const s = await t.server({ config: `${proxies(key)} server_name: hub
    leafnodes { listen: "127.0.0.1:${port}", authorization { users: [ { user: u, password: u }, { user: p, password: p, proxy_required: true } ] } }`, monitor: true });
  const link = async (through, user) => {
    const r = await t.raw({ port });
    r.send(`CONNECT ${JSON.stringify({ name: user, cluster: user, headers: true, user, pass: user, ...(through ? { proxy_sig: sign(through, r.info.nonce) } : {}) })}`);
    const [, said] = await r.expect(/(INFO [^\r]*"connect_info":true|-ERR [^\r]*)/);
    return said.startsWith("INFO") ? "in" : said;
  };
  const no = "-ERR 'Authorization Violation'";
  assert.equal(await link(undefined, "p"), no);
  assert.equal(await link(other, "p"), no);
  assert.equal(await link(other, "u"), no);
  assert.equal(await link(key, "p"), "in");
  assert.equal(await link(undefined, "u"), "in");
  const leafs = (await until("both links", async () => {
    const { json } = await s.page("/leafz");
    return json.leafs?.length === 2 && json;
  })).leafs;
  assert.deepEqual(Object.fromEntries(leafs.map((l) => [l.name, l.proxy])), { p: { key: key.getPublicKey() }, u: undefined });
  s.reload(s.config.replace(key.getPublicKey(), other.getPublicKey()));
  await until("the end of the link through the proxy", async () => (await s.page("/leafz")).json.leafs.length === 1);
});

// The answer about the login is still to come when the proxy loses its trust.
scenario("a reload refuses logins that wait, through a proxy that is not trusted any more", { only: "mayfly" }, async (t) => {
  const [key, other] = [createAccount(), createAccount()];
  const port = await freePort();
  let answer;
  const held = new Promise((ok) => (answer = ok));
  const w = await Asked.start(t, async (q, s) => {
    await held;
    return s.accept(q);
  }, { extra: `${proxies(key, other)}leafnodes { listen: "127.0.0.1:${port}" }\n` });
  const credentials = { user: "x", pass: "y" };
  const through = (k) => (info) => ({ ...credentials, proxy_sig: sign(k, info.nonce) });
  const begin = async (k, r) => {
    r.send(`CONNECT ${JSON.stringify({ verbose: false, protocol: 1, name: "n", headers: true, ...through(k)(r.info) })}`);
    return r;
  };
  const [bad, good] = [await begin(key, await t.raw(w.s)), await begin(other, await t.raw(w.s))];
  const leaf = await begin(key, await t.raw({ port }));
  await until("the requests", () => w.service.requests.length === 3);
  w.s.reload(w.s.config.replace(proxies(key, other), proxies(other)));
  for (const r of [bad, leaf]) assert.match(await r.closed(), /-ERR 'Authorization Violation'\r\n$/);
  assert.equal((await until("the record of it", () => connection(w.s, bad.info.client_id, "&state=closed"))).reason, "Proxy Not Trusted");
  answer();
  await good.ping();
  assert.equal((await w.s.page("/leafz")).json.leafs?.length ?? 0, 0);
});

scenario("a user JWT may ask for a proxy", async (t) => {
  const [key, other] = [createAccount(), createUser()];
  const operator = new Operator({ signingKey: true });
  const a = operator.account("A");
  const w = await World.start(t, operator, [a], { config: proxies(key), monitor: true });
  const user = a.user("p", { proxy_required: true });
  const through = (k) => (info) => user.login(info, { proxy_sig: sign(k, info.nonce) });
  assert.equal(await w.reason(await w.out((info) => user.login(info))), "Proxy Required");
  assert.equal(await w.reason(await w.out(through(other))), "Proxy Not Trusted");
  await w.in(through(key));
});

// nats-server looks at proxy_required of each user alone.
scenario("proxy_required of the block is of all its users", { only: "mayfly" }, async (t) => {
  const key = createAccount();
  const s = await t.server({ config: `${proxies(key)} authorization { proxy_required: true, users: [ { user: u, password: u } ] }`, monitor: true });
  assert.equal((await attempt(t, s, undefined, { user: "u", pass: "u" })).end, "Proxy Required");
  assert.equal((await attempt(t, s, key, { user: "u", pass: "u" })).end, "in");
  const open = await t.server({ config: `${proxies(key)} authorization { proxy_required: true }`, monitor: true });
  assert.equal((await attempt(t, open)).end, "Proxy Required");
  assert.equal((await attempt(t, open, key)).end, "in");
});
