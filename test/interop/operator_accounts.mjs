// operator_accounts.mjs: limits, default permissions and mappings of accounts in operator mode.
import assert from "node:assert/strict";
import { Operator, World, isMayfly, limits, now } from "./lib/operator.mjs";
import { Raw } from "./lib/raw.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";
import { freePort } from "../leaf/lib/ports.mjs";

// A server with the operator's accounts A and B.
async function world(t, nats, options) {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("Apple", nats), operator.account("Birch")];
  return Object.assign(await World.start(t, operator, [a, b], options), { a, b });
}

// Which of these subjects a client may publish, and which it may subscribe to.
async function allowed(r, subjects) {
  r.send(...subjects.flatMap((s, i) => [`PUB ${s} 0`, "", `SUB ${s} ${i}`, `UNSUB ${i}`]));
  const said = await r.ping();
  const free = (verb) => subjects.filter((s) => !said.includes(`Violation for ${verb} "${s}"`));
  return { pub: free("Publish to"), sub: free("Subscription to") };
}

scenario("default permissions are those of users who have none of their own", async (t) => {
  const w = await world(t, { default_permissions: { pub: { allow: ["d.pub"] }, sub: { deny: ["d.no"] } } });
  const subjects = ["d.pub", "d.no", "own"];
  const may = async (user) => allowed(await w.raw(user), subjects);
  assert.deepEqual(await may(w.a.user()), { pub: ["d.pub"], sub: ["d.pub", "own"] });
  // One permission of its own, and none of the defaults is left.
  assert.deepEqual(await may(w.a.user("o", { pub: { allow: ["own"] } })), { pub: ["own"], sub: subjects });
  assert.deepEqual(await may(w.a.user("o", { sub: { deny: ["own"] } })), { pub: subjects, sub: ["d.pub", "d.no"] });
  assert.deepEqual((await may(w.a.user("o", { resp: { max: 1, ttl: -1 } }))).pub, []);
  assert.deepEqual(await may(w.b.user()), { pub: subjects, sub: subjects });
  // A template counts as the user's own; an empty one does not.
  const [own, none] = [w.a.signingKey({ pub: { allow: ["own"] } }), w.a.signingKey({}, "none")];
  await w.update(w.a);
  assert.deepEqual(await may(w.a.user("s", {}, { signer: own, scoped: true })), { pub: ["own"], sub: subjects });
  assert.deepEqual(await may(w.a.user("s", {}, { signer: none, scoped: true })), { pub: ["d.pub"], sub: ["d.pub", "own"] });
});

scenario("conn: the account's connections; the one beyond is told so", async (t) => {
  const w = await world(t, { limits: { conn: 2 } });
  const enter = (info) => w.a.user().login(info);
  const first = await w.in(enter);
  await w.in(enter);
  const beyond = await w.out(enter, "maximum account active connections exceeded");
  assert.equal(await w.reason(beyond), "Maximum Account Connections Exceeded");
  (await w.in((info) => w.b.user().login(info))).close();
  // A place that becomes free is used.
  first.close();
  await until("one connection", async () => (await w.s.page(`/connz?acc=${w.a.public}`)).json.num_connections === 1);
  await w.in(enter);
});

scenario("conn 0, and a JWT without limits: nobody", async (t) => {
  const operator = new Operator();
  const [none, nil] = [operator.account("N", { limits: { conn: 0 } }), operator.account("L")];
  nil.nats.limits = undefined;
  const w = await World.start(t, operator, [none, nil]);
  for (const x of [none, nil]) await w.out((info) => x.user().login(info), "maximum account active connections exceeded");
});

scenario("subs: for each connection by itself; the smaller one of user and account", async (t) => {
  const w = await world(t, { limits: { subs: 2 } });
  const [one, two] = [await w.raw(w.a.user()), await w.raw(w.a.user())];
  for (const r of [one, two]) {
    r.send("SUB a 1", "SUB b 2");
    assert.equal(await r.ping(), "");
  }
  one.send("SUB c 3");
  assert.match(await one.ping(), /-ERR 'maximum subscriptions exceeded'\r\n/);
  const small = await w.raw(w.a.user("s", { subs: 1 }));
  small.send("SUB a 1", "SUB b 2");
  assert.match(await small.ping(), /-ERR 'maximum subscriptions exceeded'\r\n/);
  const large = await w.raw(w.a.user("l", { subs: 10 }));
  large.send("SUB a 1", "SUB b 2", "SUB c 3");
  assert.match(await large.ping(), /-ERR 'maximum subscriptions exceeded'\r\n/);
});

scenario("payload: the byte beyond closes; 0 allows the empty message", async (t) => {
  const w = await world(t, { limits: { payload: 10 } });
  const r = await w.raw(w.a.user());
  r.send("PUB x 10", "0123456789");
  assert.equal(await r.ping(), "");
  r.send("PUB x 11", "0123456789a");
  await w.ends(r, "Maximum Payload Violation", "Maximum Message Payload Exceeded");
  const operator = new Operator();
  const z = await World.start(t, operator, [(operator.a = operator.account("Z", { limits: { payload: 0 } }))]);
  const e = await z.raw(operator.a.user());
  e.send("PUB x 0", "");
  assert.equal(await e.ping(), "");
  e.send("PUB x 1", "1");
  await z.ends(e, "Maximum Payload Violation", "Maximum Message Payload Exceeded");
});

scenario("disallow_bearer: who signs gets in, a bearer does not", async (t) => {
  const w = await world(t, { limits: { disallow_bearer: true } });
  const bearer = w.a.user("b", { bearer_token: true });
  await w.out(() => ({ jwt: bearer.jwt }));
  await w.out((info) => bearer.login(info));
  (await w.in((info) => w.a.user().login(info))).close();
  const key = w.a.signingKey({ bearer_token: true });
  await w.update(w.a);
  const scoped = w.a.user("s", {}, { signer: key, scoped: true });
  await w.out((info) => scoped.login(info));
});

// --- leaf links --------------------------------------------------------------------------------------

// A leaf link as a server would begin it: CONNECT on the port for links, and what follows up to PONG.
async function leaf(t, w, user, more = {}) {
  const r = await Raw.open(w.leafPort);
  t.after(() => r.close());
  r.send(`CONNECT ${JSON.stringify({ ...user.login(r.info), server_id: user.public, name: "L", headers: true, ...more })}`, "PING");
  return r;
}
async function hub(t, nats) {
  const leafPort = await freePort();
  return Object.assign(await world(t, nats, { config: `leafnodes { listen: "127.0.0.1:${leafPort}" }` }), { leafPort });
}

scenario("leaf: a link is a user of the account; without a limit of its own none gets in", async (t) => {
  const w = await hub(t, { limits: { leaf: 0 } });
  assert.match(await (await leaf(t, w, w.a.user())).closed(), /-ERR 'maximum account active connections exceeded'\r\n$/);
  await w.change(w.a, limits(w.a, { leaf: 1 }));
  const first = await leaf(t, w, w.a.user());
  await first.expect(/PONG\r\n/);
  assert.match(await (await leaf(t, w, w.a.user(), { name: "L2" })).closed(), /-ERR 'maximum account active connections exceeded'\r\n$/);
  // Links count as connections, too.
  await w.change(w.a, limits(w.a, { leaf: 10, conn: 1 }));
  await w.out((info) => w.a.user().login(info), "maximum account active connections exceeded");
  assert.match(await (await leaf(t, w, w.a.user("x", { allowed_connection_types: ["STANDARD"] }), { name: "L3" })).closed(), /-ERR 'Authorization Violation'\r\n$/);
});

scenario("a link needs a user JWT and the signature of its own nonce", async (t) => {
  const w = await hub(t);
  const user = w.a.user();
  const bad = async (login, connect = {}) => assert.match(await (await leaf(t, w, { public: "x", login }, connect)).closed(), /-ERR 'Authorization Violation'\r\n$/);
  await bad(() => ({}));
  await bad(() => ({ jwt: user.jwt }));
  await bad(() => ({ jwt: user.jwt, sig: user.key.sign("abcdefghijklmno").toString("base64url") }));
  await bad((info) => ({ nkey: user.public, sig: user.login(info).sig }));
  await bad((info) => w.a.user("e", {}, { claims: { exp: now() - 5 } }).login(info));
  const good = await leaf(t, w, w.a.user("l", { allowed_connection_types: ["LEAFNODE"] }));
  await good.expect(/PONG\r\n/);
});

// --- mappings ----------------------------------------------------------------------------------------

scenario("mappings: whole and weighted ones; the next JWT removes them", async (t) => {
  const w = await world(t, { mappings: { old: [{ subject: "new" }], "o.*": [{ subject: "n.{{wildcard(1)}}" }], half: [{ subject: "half.one", weight: 50 }, { subject: "half.two", weight: 50 }] } });
  const nc = await w.connect(w.a.user());
  const heard = collect(nc, ">");
  await nc.flush();
  const where = async (subject, n = 1) => {
    const from = heard.length;
    for (let i = 0; i < n; i++) nc.publish(subject);
    await nc.flush();
    await until("what was published", () => heard.length >= from + n);
    return heard.slice(from).map((m) => m.subject);
  };
  assert.deepEqual(await where("old"), ["new"]);
  assert.deepEqual(await where("o.x"), ["n.x"]);
  const split = await where("half", 400);
  const ones = split.filter((s) => s === "half.one").length;
  assert.ok(ones > 120 && ones < 280 && split.every((s) => /^half\.(one|two)$/.test(s)), `${ones} of 400`);
  assert.deepEqual((await w.accountz(w.a)).mappings.half.map((d) => d.weight), isMayfly ? [50, 50] : [50, 100]);
  await w.change(w.a, { mappings: { old: [{ subject: "newer" }] } });
  assert.deepEqual(await where("old"), ["newer"]);
  assert.deepEqual(await where("half"), ["half"]);
  await w.change(w.a, { mappings: undefined });
  assert.deepEqual(await where("old"), ["old"]);
  // Weights above 100 are no valid account.
  const { error } = await w.push(w.a, w.a.jwt({ nats: { mappings: { m: [{ subject: "a", weight: 60 }, { subject: "b", weight: 60 }] } } }));
  assert.equal(error.code, 500);
  assert.match(error.description, isMayfly ? /^jwt validation failed - .*exceeds 100%/ : /^jwt update resulted in error - account validation failed$/);
  assert.deepEqual(await where("m"), ["m"]);
});
