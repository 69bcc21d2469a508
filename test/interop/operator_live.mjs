// operator_live.mjs: new JWTs for accounts with connected clients, revocations, expiries to the second, reloads.
import assert from "node:assert/strict";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Operator, STREAMS, World, limits, memory, now, userInfo } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

// A server with the accounts A and B.  keys(a): what has to be done to A before.
async function world(t, nats, { keys = () => {}, ...options } = {}) {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("Apple", nats), operator.account("Birch")];
  const made = keys(a);
  return Object.assign(await World.start(t, operator, [a, b], options), { a, b, made });
}
// Nothing was said to this client, and it is served.
async function stays(r) {
  r.buf = r.buf.replace(/^INFO .*\r\n/gm, "");
  assert.equal(await r.ping(), "");
}
const enter = (user) => (info) => user.login(info);

scenario("what changes nothing for a client: name, tags, shares, mappings, a renewed or the same JWT", async (t) => {
  const w = await world(t);
  const r = await w.raw(w.a.user());
  const same = w.a.jwt();
  await w.update(w.a, same);
  await w.update(w.a, same);
  w.a.name = "Apricot";
  await w.change(w.a, { tags: ["x:y"] });
  await w.change(w.a, { exports: [{ subject: "e.>", type: "stream" }], imports: [{ subject: "i", account: w.b.public, type: "stream" }], mappings: { m: [{ subject: "n" }] } });
  await w.change(w.a, { description: "fruit", revocations: {} });
  await stays(r);
  assert.equal((await userInfo(await w.connect(w.a.user()))).account_name, "Apricot");
});

scenario("payload lowered: the next message above it closes", async (t) => {
  const w = await world(t);
  const r = await w.raw(w.a.user());
  r.send("PUB x 20", "x".repeat(20));
  await w.change(w.a, limits(w.a, { payload: 10 }));
  r.send("PUB x 10", "x".repeat(10));
  await stays(r);
  r.send("PUB x 11", "x".repeat(11));
  await w.ends(r, "Maximum Payload Violation", "Maximum Message Payload Exceeded");
});

scenario("subs lowered: who holds as many or more is closed, who holds fewer stays", async (t) => {
  const w = await world(t);
  const [three, two, one] = [await w.raw(w.a.user()), await w.raw(w.a.user()), await w.raw(w.a.user())];
  three.send("SUB a 1", "SUB b 2", "SUB c 3");
  two.send("SUB a 1", "SUB b 2");
  one.send("SUB a 1");
  for (const r of [three, two, one]) await stays(r);
  await w.change(w.a, limits(w.a, { subs: 2 }));
  await w.ends(three, "maximum subscriptions exceeded", "Maximum Subscriptions Exceeded");
  await w.ends(two, "maximum subscriptions exceeded", "Maximum Subscriptions Exceeded");
  await stays(one);
});

scenario("conn lowered: the oldest stay, the newest are told", async (t) => {
  const w = await world(t);
  const all = [];
  for (let i = 0; i < 4; i++) all.push(await w.raw(w.a.user()));
  const other = await w.raw(w.b.user());
  await w.change(w.a, limits(w.a, { conn: 2 }));
  for (const r of all.slice(2)) await w.ends(r, "maximum account active connections exceeded", "Maximum Account Connections Exceeded");
  for (const r of [...all.slice(0, 2), other]) await stays(r);
});

// --- revocations -------------------------------------------------------------------------------------

scenario("a revoked user is told and closed; one issued later gets in, others stay", async (t) => {
  const w = await world(t);
  const user = w.a.user("u", {}, { claims: { iat: now() - 100 } });
  const [r, other] = [await w.raw(user), await w.raw(w.a.user())];
  await w.change(w.a, { revocations: { [user.public]: now() - 200 } });
  await stays(r);
  await w.change(w.a, { revocations: { [user.public]: now() - 100 } });
  await w.ends(r, "User Authentication Revoked", "Credentials Revoked");
  await stays(other);
  await w.out(enter(user));
  (await w.in(enter(w.a.user("u", {}, { key: user.key, claims: { iat: now() - 99 } })))).close();
});

scenario("all users up to a time are revoked, also of signing keys; other accounts are not", async (t) => {
  const w = await world(t, {}, { keys: (a) => [a.signingKey(), a.signingKey({})] });
  const [plain, scoped] = w.made;
  const old = { claims: { iat: now() - 100 } };
  const users = [w.a.user("a", {}, old), w.a.user("b", {}, { ...old, signer: plain }), w.a.user("c", {}, { ...old, signer: scoped, scoped: true })];
  const rs = [];
  for (const u of users) rs.push(await w.raw(u));
  const [young, other] = [await w.raw(w.a.user()), await w.raw(w.b.user("o", {}, old))];
  await w.change(w.a, { revocations: { "*": now() - 50 } });
  for (const r of rs) await w.ends(r, "User Authentication Revoked", "Credentials Revoked");
  for (const u of users) await w.out(enter(u));
  for (const r of [young, other]) await stays(r);
  // Taken back, they get in again.
  await w.change(w.a, { revocations: undefined });
  for (const u of users) (await w.in(enter(u))).close();
});

scenario("disallow_bearer: bearers are closed, those who signed stay", async (t) => {
  const w = await world(t);
  const [bearer, other] = [await w.raw(w.a.user("b", { bearer_token: true })), await w.raw(w.a.user())];
  await w.change(w.a, limits(w.a, { disallow_bearer: true }));
  await w.ends(bearer, "Authorization Violation", "Authentication Failure");
  await stays(other);
});

// --- signing keys ------------------------------------------------------------------------------------

scenario("a signing key is removed, or its template changes: its users are closed without a word", async (t) => {
  const w = await world(t, {}, { keys: (a) => [a.signingKey(), a.signingKey({ pub: { allow: ["x"] } }), a.signingKey()] });
  const [plain, scoped, kept] = w.made;
  const by = (signer, scope = false) => w.a.user("s", {}, { signer, scoped: scope });
  const [p, s, k, own] = [await w.raw(by(plain)), await w.raw(by(scoped, true)), await w.raw(by(kept)), await w.raw(w.a.user())];
  const keys = w.a.nats.signing_keys;
  await w.change(w.a, { signing_keys: keys.filter((x) => x !== plain.public) });
  await w.ends(p, "", "Authentication Failure");
  await w.out(enter(by(plain)));
  for (const r of [s, k, own]) await stays(r);
  const entry = keys.find((x) => x.kind);
  const change = (more) => w.change(w.a, { signing_keys: [kept.public, { ...entry, ...more }] });
  await change({ template: { ...entry.template, pub: { allow: ["y"] } } });
  await w.ends(s, "", "Authentication Failure");
  const again = await w.raw(by(scoped, true));
  await change({ template: { ...entry.template, pub: { allow: ["y"] } } });
  await stays(again);
  await w.change(w.a, { signing_keys: [kept.public] });
  await w.ends(again, "", "Authentication Failure");
  for (const r of [k, own]) await stays(r);
});

scenario("default permissions change under those who use them", async (t) => {
  const w = await world(t);
  const [r, own] = [await w.raw(w.a.user()), await w.raw(w.a.user("o", { sub: { allow: ["foo"] } }))];
  for (const x of [r, own]) x.send("SUB foo 1", "PUB out 0", "");
  for (const x of [r, own]) await stays(x);
  await w.change(w.a, { default_permissions: { pub: { deny: ["out"] }, sub: { deny: ["foo"] } } });
  assert.equal(await r.ping(), `-ERR 'Permissions Violation for Subscription to "foo" (sid "1")'\r\n`);
  r.send("PUB out 0", "");
  assert.match(await r.ping(), /Permissions Violation for Publish to "out"/);
  own.send("PUB out 0", "");
  await stays(own);
  await w.change(w.a, { default_permissions: undefined });
  r.send("SUB foo 2", "PUB out 0", "");
  await stays(r);
});

// --- JetStream ---------------------------------------------------------------------------------------

scenario("JetStream of an account goes off and on: streams are away and back; a smaller limit removes nothing", async (t) => {
  const w = await world(t, { limits: STREAMS }, { config: 'jetstream { store_dir: "DIR/js" }' });
  const nc = await w.connect(w.a.user());
  const [jsm, js] = [await jetstreamManager(nc), jetstream(nc)];
  await jsm.streams.add({ name: "S", subjects: ["s.>"] });
  await js.publish("s.1", "x".repeat(1000));
  await w.change(w.a, limits(w.a, { mem_storage: 0, disk_storage: 0 }));
  await assert.rejects(jsm.streams.info("S"), (e) => e.code === 10039 || /not enabled|no responders|503/i.test(`${e.message} ${e.cause?.message}`));
  await w.change(w.a, limits(w.a, STREAMS));
  await until("the stream", () => jsm.streams.info("S").then((i) => i.state.messages === 1, () => false));
  await w.change(w.a, limits(w.a, { ...STREAMS, disk_storage: 500 }));
  await assert.rejects(js.publish("s.2", "x".repeat(100)), (e) => e.code === 10002 && /resource limits exceeded for account/.test(e.message));
  assert.equal((await jsm.streams.info("S")).state.messages, 1);
  await w.change(w.a, limits(w.a, STREAMS));
  assert.equal((await js.publish("s.2", "x")).seq, 2);
});

// --- times -------------------------------------------------------------------------------------------

// The connection ends in the second `at`, with these words.
async function endsAt(w, r, at, error) {
  await w.ends(r, error, "Authentication Expired");
  const seen = r.endedAt / 1000;
  assert.ok(seen >= at && seen < at + 1.5, `${seen - at} s after its second`);
}
function timed(r) {
  r.socket.on("close", () => (r.endedAt = Date.now()));
  return r;
}

scenario("users and accounts end in their second, not before; a renewed account goes on", async (t) => {
  const w = await world(t, {}, { full: "" });
  const at = now() + 2;
  const [short, forever] = [timed(await w.raw(w.a.user("s", {}, { claims: { exp: at } }))), timed(await w.raw(w.a.user()))];
  const other = timed(await w.raw(w.b.user()));
  await w.update(w.b, w.b.jwt({ claims: { exp: at + 1 } }));
  await endsAt(w, short, at, "User Authentication Expired");
  await endsAt(w, other, at + 1, "Account Authentication Expired");
  await w.out(enter(w.b.user()));
  await w.update(w.b);
  (await w.in(enter(w.b.user()))).close();
  await stays(forever);
});

scenario("an expiry that is put off in time, and one that is put ahead", async (t) => {
  const w = await world(t);
  const at = now() + 2;
  const r = timed(await w.raw(w.a.user()));
  await w.update(w.a, w.a.jwt({ claims: { exp: at } }));
  await w.update(w.a);
  const last = timed(await w.raw(w.b.user()));
  await w.update(w.b, w.b.jwt({ claims: { exp: at + 100 } }));
  await w.update(w.b, w.b.jwt({ claims: { exp: at } }));
  await endsAt(w, last, at, "Account Authentication Expired");
  await stays(r);
});

scenario("the end of a window of the day ends a client", async (t) => {
  const w = await world(t);
  const at = Math.floor(Date.now() / 1000) + 2;
  const clock = (s) => new Date(s * 1000).toISOString().slice(11, 19);
  const r = timed(await w.raw(w.a.user("d", { times: [{ start: clock(at - 3600), end: clock(at) }], times_location: "UTC" })));
  await endsAt(w, r, at, "User Authentication Expired");
});

// --- reload ------------------------------------------------------------------------------------------

scenario("a reload with another operator changes nothing; one with the same keeps the clients", async (t) => {
  const w = await world(t, {}, { config: "max_connections: 100" });
  const r = await w.raw(w.a.user());
  const [text] = [w.operator.text];
  w.operator.text = w.operator.jwt({ claims: { iat: now() - 5 } });
  w.s.reload(memory(w.operator, [w.a, w.b], "max_connections: 50"));
  await w.s.logged(/config reload not supported for TrustedOperators/);
  await stays(r);
  assert.equal((await w.s.varz()).max_connections, 100);
  w.operator.text = text;
  w.s.reload(memory(w.operator, [w.a, w.b], "max_connections: 60"));
  await until("the reload", async () => (await w.s.varz()).max_connections === 60);
  await stays(r);
  (await w.in(enter(w.a.user()))).close();
});

scenario("an account with many clients: new claims reach all of them, also while some leave", async (t) => {
  const w = await world(t);
  const bearer = w.a.user("b", { bearer_token: true });
  const many = [];
  for (let i = 0; i < 12; i++)
    many.push(...(await Promise.all(Array.from({ length: 50 }, () => w.in(() => ({ jwt: bearer.jwt }))))));
  const other = await w.raw(w.b.user());
  const order = many.toSorted((x, y) => x.info.client_id - y.info.client_id);
  for (const r of order.slice(280, 300)) r.close();
  await w.change(w.a, limits(w.a, { conn: 500 }));
  await until("the newest to be closed", () => many.filter((r) => r.ended).length >= 100);
  await until("500 to be left", async () => (await w.s.varz()).connections <= 502); // with the system user and `other`
  for (const r of order.slice(0, 280)) assert.ok(!r.ended, "the oldest stay");
  await w.change(w.a, { revocations: { "*": now() + 1 } });
  const left = order.slice(0, 280);
  await until("all to be closed", () => left.every((r) => r.ended));
  for (const r of left) assert.match(r.buf, /-ERR 'User Authentication Revoked'\r\n$/);
  await stays(other);
});
