// callout_operator.mjs: auth callouts of operator mode: accounts whose JWT names auth_users.
import assert from "node:assert/strict";
import fs from "node:fs";
import { FREE, Key, SUBJECT, Service, createCurve, now, token } from "./lib/callout.mjs";
import { Operator, UNLIMITED, World, limits, userInfo } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const BEARER = { bearer_token: true, pub: { deny: [">"] }, sub: { deny: [">"] } };

// Accounts AUTH (with the callout), TARGET (allowed) and OTHER (not), the service, and a sentinel.  answer(q, world).
async function world(t, answer, { curve, allowed, sentinel = true, config = "", more, ...options } = {}) {
  const operator = new Operator({ signingKey: true });
  const [auth, target, other] = ["Auth", "Target", "Other"].map((n) => operator.account(n));
  const w = { operator, auth, target, other, signing: auth.signingKey(), targetKey: target.signingKey(), scoped: target.signingKey({ pub: { allow: ["{{name()}}.>", "$SYS.REQ.USER.INFO"] } }) };
  const svc = auth.user("svc");
  w.sentinel = auth.user("sentinel", BEARER);
  auth.nats.authorization = { auth_users: [svc.public], allowed_accounts: allowed?.(w) ?? [target.public], ...(curve && { xkey: curve.getPublicKey() }) };
  Object.assign(target.nats, more);
  const text = `${config}\n${sentinel === "default" ? `default_sentinel: "${w.sentinel.jwt}"\n` : ""}`;
  const made = await World.start(t, operator, [auth, target, other], { config: text, ...options });
  Object.assign(made, w, { svc, service: new Service({ issuer: auth.key, curve }) });
  if (answer) await made.service.serve(await made.connect(svc), (q, c, m) => answer(q, made, m));
  made.come = (more = {}) => made.in(() => ({ jwt: made.sentinel.jwt, user: "u", pass: "p", ...more }));
  made.go = (more = {}) => made.out(() => ({ jwt: made.sentinel.jwt, user: "u", pass: "p", ...more }));
  made.asked = () => made.service.requests.length;
  return made;
}
// A response with a user of this account, by this signer.
const place = (q, w, { account = w.target, signer = account.key, claims, nats, by } = {}) => w.service.response(q, { signer: by ?? w.auth.key,
  nats: { jwt: token({ sub: q.user_nkey, ...claims, nats: { ...FREE, ...(signer === account.key ? {} : { issuer_account: account.public }), ...nats, type: "user", version: 2 } }, signer) } });
// A user of a scoped key has no limits.
const scopedUser = (q, w, name = "bob") => w.service.response(q, { nats: { jwt: token({ sub: q.user_nkey, name, nats: { issuer_account: w.target.public, type: "user", version: 2 } }, w.scoped) } });
const info = async (r) => {
  r.send("SUB i 1", "PUB $SYS.REQ.USER.INFO i 0", "");
  return JSON.parse((await r.expect(/MSG i 1 \d+\r\n({.*})\r\n/))[1]).data;
};
const conn = (w, r) => w.s.page(`/connz?auth=1&cid=${r.info.client_id}`).then((p) => p.json.connections[0]);

// --- who is asked about ------------------------------------------------------------------------------

scenario("users of the callout account are asked about, but for auth_users; those of others are not", async (t) => {
  const w = await world(t, place);
  const ask = async (connect) => {
    const before = w.asked();
    (await w.in(connect)).close();
    return w.asked() - before;
  };
  const plain = w.auth.user("plain");
  assert.equal(await ask(() => ({ jwt: w.sentinel.jwt })), 1);
  assert.equal(await ask((i) => plain.login(i)), 1);
  assert.equal(await ask((i) => w.auth.user("s", {}, { signer: w.signing }).login(i)), 1);
  assert.equal(await ask((i) => w.svc.login(i)), 0);
  assert.equal(await ask((i) => w.svc.login(i, { user: "z" })), 0);
  assert.equal(await ask((i) => w.target.user().login(i)), 0);
  assert.equal(await ask((i) => w.other.user().login(i)), 0);
  assert.equal(await ask((i) => w.operator.system.user().login(i)), 0);
});

scenario("whoever only says to be one of auth_users is asked about", async (t) => {
  const w = await world(t, place);
  for (const more of [{ user: w.svc.public }, { nkey: w.svc.public, user: undefined }]) {
    const before = w.asked();
    await w.come(more);
    assert.equal(w.asked(), before + 1);
  }
});

scenario("the request of operator mode", async (t) => {
  const w = await world(t, place);
  await w.come({ name: "n" });
  const { claims, q } = w.service.last;
  assert.equal(claims.sub, w.auth.public);
  assert.deepEqual(q.connect_opts, { jwt: w.sentinel.jwt, user: "u", pass: "p", name: "n", protocol: 1 });
  assert.deepEqual({ ...q.client_info, id: 0 }, { host: "127.0.0.1", id: 0, user: "u", name: "n", name_tag: "sentinel", kind: "Client", type: "nats" });
  await w.in(() => ({ jwt: w.sentinel.jwt }));
  assert.equal(w.service.last.q.client_info.user, w.sentinel.public);
  const plain = w.auth.user("plain", { tags: ["a:b"] });
  const r = await w.in((i) => plain.login(i));
  assert.equal(w.service.last.q.client_info.nonce, r.info.nonce);
  assert.deepEqual(w.service.last.q.client_info.tags, ["a:b"]);
});

scenario("the default sentinel stands in for clients without a JWT", async (t) => {
  const w = await world(t, place, { sentinel: "default" });
  for (const connect of [{}, { user: "u", pass: "p" }, { auth_token: "t" }, { user: "u", pass: "p", jwt: "garbage" }]) {
    const r = await w.in(() => connect);
    assert.equal(w.service.last.q.connect_opts.jwt, w.sentinel.jwt);
    assert.equal((await info(r)).user_name, "sentinel");
  }
});

scenario("without a JWT and a default sentinel nobody is asked", async (t) => {
  const w = await world(t, place);
  await w.out(() => ({ user: "u", pass: "p" }));
  assert.equal(w.asked(), 0);
});

// nats-server asks in $G, where nobody answers.
scenario("a JWT of the callout account that proves nothing is refused at once", { only: "mayfly" }, async (t) => {
  const w = await world(t, place);
  const plain = w.auth.user("plain");
  await w.out(() => ({ jwt: plain.jwt, sig: "AAAA" }));
  await w.out(() => ({ jwt: plain.jwt }));
  await w.out((i) => w.auth.user("late", {}, { claims: { exp: now() - 10 } }).login(i));
  assert.equal(w.asked(), 0);
});

// nats-server asks about them.
scenario("a sentinel whose sub is no key is refused at once", { only: "mayfly" }, async (t) => {
  const w = await world(t, place);
  for (const sub of [undefined, "", "X", w.svc.public + "AA"])
    await w.go({ jwt: w.auth.user("b", BEARER, { claims: { sub } }).jwt });
  assert.equal(w.asked(), 0);
  await w.come();
});

// --- where users are placed --------------------------------------------------------------------------

scenario("the service's user stays in the callout account, or moves to an allowed one", async (t) => {
  let answer;
  const w = await world(t, (q, w) => answer(q, w));
  const shows = { Auth: w.auth, Target: w.target };
  for (const [name, fn, account, key] of [
    ["Auth", (q) => place(q, w, { account: w.auth }), w.auth, w.auth.key],
    ["Auth", (q) => place(q, w, { account: w.auth, signer: w.signing }), w.auth, w.signing],
    ["Target", (q) => place(q, w), w.target, w.target.key],
    ["Target", (q) => place(q, w, { signer: w.targetKey }), w.target, w.targetKey],
  ]) {
    answer = fn;
    const r = await w.come();
    const { user, account: at, account_name, user_name } = await info(r);
    assert.deepEqual([user, at, account_name, user_name], ["u", account.public, name, "sentinel"]);
    const c = await conn(w, r);
    assert.deepEqual([c.authorized_user, c.account, c.issuer_key, c.name_tag, c.jwt], ["u", shows[name].public, key.public, name, undefined]);
  }
});

scenario("scoped signing keys of the target: the template applies", async (t) => {
  const w = await world(t, (q, w) => scopedUser(q, w));
  const r = await w.come();
  assert.equal((await info(r)).user, "bob");
  r.send("PUB bob.x 0", "", "PUB other.x 0", "", "PING");
  const text = (await r.expect(/^([^]*?)PONG/))[1];
  assert.match(text, /Permissions Violation for Publish to "other\.x"/);
  assert.doesNotMatch(text, /"bob\.x"/);
});

scenario("the permissions of the user, else the defaults of its account", async (t) => {
  let nats;
  const w = await world(t, (q, w) => place(q, w, { nats }), { more: { default_permissions: { pub: { deny: ["d"] } } } });
  for (const [own, denied, free] of [[{}, "d", "x"], [{ pub: { deny: ["x"] } }, "x", "d"]]) {
    nats = own;
    const r = await w.come();
    r.send(`PUB ${free} 0`, "", `PUB ${denied} 0`, "", "PING");
    const text = (await r.expect(/^([^]*?)PONG/))[1];
    assert.match(text, new RegExp(`Publish to "${denied}"`));
    assert.doesNotMatch(text, new RegExp(`Publish to "${free}"`));
  }
});

scenario("* alone allows every account", async (t) => {
  const w = await world(t, (q, w) => place(q, w, { account: w.other }), { allowed: () => ["*"] });
  assert.equal((await info(await w.come())).account, w.other.public);
});

scenario("clients of the callout account may not publish to $SYS.REQ.USER.AUTH", async (t) => {
  const w = await world(t, (q, w) => place(q, w, { account: w.auth }));
  for (const connect of [() => ({ jwt: w.sentinel.jwt }), (i) => w.svc.login(i)]) {
    const r = await w.in(connect);
    const before = w.asked();
    r.send(`PUB ${SUBJECT} 0`, "", "PING");
    await r.expect(/-ERR 'Permissions Violation for Publish to "\$SYS\.REQ\.USER\.AUTH"'\r\n/);
    await r.expect(/PONG/);
    assert.equal(w.asked(), before);
  }
});

// nats-server shows requests to every client of the account.
scenario("of the clients of the callout account only auth_users read requests", { only: "mayfly" }, async (t) => {
  const w = await world(t, (q, w) => place(q, w, { account: w.auth }));
  const r = await w.come();
  for (const change of [false, true]) {
    if (change) await w.change(w.auth, { description: "again" });
    r.send(`SUB ${SUBJECT} 1`, "SUB > 2", "SUB done 5", "PING");
    await r.expect(/-ERR 'Permissions Violation for Subscription to "\$SYS\.REQ\.USER\.AUTH"[^]*PONG/);
    await w.come({ user: "next", pass: "secret" });
    r.send("PUB done 0", "");
    const text = (await r.expect(/^([^]*)MSG done 5 0/))[1];
    assert.doesNotMatch(text, /USER\.AUTH/);
    r.send("UNSUB 5", "PING");
    await r.expect(/PONG/);
  }
  assert.equal(w.asked(), 3);
});

// --- refusals ----------------------------------------------------------------------------------------

// name -> [the answer, what log and event say]
const stranger = new Key("A");
const cases = {
  "an error": [(q, w) => w.service.refuse(q, "go away"), "Auth callout service returned an error: go away"],
  "nothing": [() => "", (q, w) => `Auth callout violation: "no reason supplied" on account "${w.auth.public}"`],
  "an account that is not allowed": [(q, w) => place(q, w, { account: w.other }), (q, w) => `Account "${w.other.public}" not permitted as valid account option for auth callout for account "${w.auth.public}"`],
  "an account that is not known": [(q, w) => place(q, w, { signer: stranger, nats: { issuer_account: undefined } }), (q, w) => `Account "${stranger.public}" not permitted as valid account option for auth callout for account "${w.auth.public}"`],
  "an unknown signing key": [(q, w) => place(q, w, { signer: stranger }), () => `User JWT issuer "${stranger.public}" is not known`],
  "a scoped user with limits": [(q, w) => place(q, w, { signer: w.scoped }), "User JWT is not valid: scoped users require no permissions or limits set"],
  "a response of a stranger": [(q, w) => place(q, w, { by: stranger }), "Auth callout signing key is unknown"],
  "a response of the target": [(q, w) => place(q, w, { by: w.target.key }), "Auth callout signing key is unknown"],
  "a stranger for the account": [(q, w) => w.service.response(q, { signer: stranger, nats: { issuer_account: w.auth.public, error: "x" } }), "Auth callout signing key is unknown"],
  "an expired user": [(q, w) => place(q, w, { claims: { exp: now() - 10 } }), "Error validating user JWT: claim is expired"],
  "another user": [(q, w) => place(q, w, { claims: { sub: w.svc.public } }), (q, w) => `Expected authorized user of "${q.user_nkey}" but got "${w.svc.public}" on account "${w.auth.public}"`],
  "proxy_required": [(q, w) => place(q, w, { nats: { proxy_required: true } }), "Proxy connection required"],
};
scenario("each bad answer is refused, with its reason in log and event", async (t) => {
  let answer;
  const w = await world(t, (q, w) => answer(q, w));
  const nc = await w.connect(w.svc);
  const events = [];
  nc.subscribe("$SYS.ACCOUNT.CLIENT.AUTH.ERR", { callback: (e, m) => events.push(m.json()) });
  await nc.flush();
  for (const [name, [fn, text]] of Object.entries(cases)) {
    answer = fn;
    events.length = 0;
    const seen = w.s.log().length;
    const r = await w.go();
    const why = typeof text === "string" ? text : text(w.service.last.q, w);
    await until(`${name}: the warning ${why}`, () => w.s.log().slice(seen).includes(`[WRN] ${why}\n`));
    const event = await until(`${name}: the event`, () => events[0]);
    assert.deepEqual([event.reason, event.client.acc, event.client.id], [why, w.auth.public, r.info.client_id], name);
  }
  if (isMayfly) assert.doesNotMatch(w.s.log(), /eyJ/);
});

scenario("the response is signed by the callout account or its signing key", async (t) => {
  const signers = [];
  const w = await world(t, (q, w) => {
    const [signer, nats] = signers.shift();
    return w.service.response(q, { signer, nats: { ...nats, jwt: token({ sub: q.user_nkey, nats: { ...FREE, type: "user", version: 2 } }, w.target.key) } });
  });
  signers.push([w.auth.key, {}], [w.signing, {}], [w.signing, { issuer_account: w.auth.public }]);
  while (signers.length) await w.come();
});

scenario("sealed requests", async (t) => {
  const curve = createCurve();
  const w = await world(t, (q, w, { xkey }) => w.service.seal(place(q, w, { by: stranger }), xkey), { curve });
  await w.come();
  assert.equal(w.service.last.m.string().slice(0, 4), "xkv1");
});

scenario("without an answer the timeout ends the login", async (t) => {
  const w = await world(t, () => undefined, { config: "authorization { timeout: 1 }" });
  const from = Date.now();
  await w.go();
  assert.ok(Date.now() - from >= 900);
});

scenario("a bearer that the service made stays where bearers are not allowed", { only: "mayfly" }, async (t) => {
  const w = await world(t, (q, w) => place(q, w, { nats: { bearer_token: true } }), { more: { limits: { ...UNLIMITED, disallow_bearer: true } } });
  const r = await w.come();
  await w.change(w.target, { description: "again" });
  await r.ping();
  assert.equal((await info(r)).account, w.target.public);
});

// --- the target account ------------------------------------------------------------------------------

scenario("revocations of the target account reach the service's users", async (t) => {
  let iat;
  const w = await world(t, (q, w) => place(q, w, { claims: { iat } }));
  iat = now() - 100;
  const r = await w.come();
  await w.change(w.target, { revocations: { "*": now() - 50 } });
  await w.ends(r, "-ERR 'User Authentication Revoked'\r\n".slice(6, -3), "Credentials Revoked");
  iat = now();
  await w.come();
});

scenario("a revoked user is refused when it comes", { only: "mayfly" }, async (t) => {
  const w = await world(t, (q, w) => place(q, w, { claims: { iat: now() - 100 } }), { more: { revocations: { "*": now() - 50 } } });
  await w.go();
});

scenario("the connection limit of the target account", async (t) => {
  const w = await world(t, place, { more: {} });
  await w.change(w.target, limits(w.target, { conn: 1 })).catch(() => {}); // not loaded yet on MEM
  await w.come();
  await w.change(w.target, limits(w.target, { conn: 1 }));
  await w.out(() => ({ jwt: w.sentinel.jwt }), "maximum account active connections exceeded");
});

scenario("the end of the user ends the connection", async (t) => {
  const w = await world(t, (q, w) => place(q, w, { claims: { exp: now() + 2 } }));
  await w.ends(await w.come(), "User Authentication Expired", "Authentication Expired");
});

scenario("limits, networks and connection types of the service's user are enforced", { only: "mayfly" }, async (t) => {
  const nats = { subs: { subs: 1 }, none: { subs: 0, payload: 0 }, far: { src: ["10.0.0.0/8"] }, ws: { allowed_connection_types: ["WEBSOCKET"] } };
  const w = await world(t, (q, w) => place(q, w, { nats: nats[q.connect_opts.user] }));
  const subs = await w.come({ user: "subs" });
  subs.send("SUB a 1", "SUB b 2", "PING");
  await subs.expect(/maximum subscriptions exceeded/);
  const none = await w.come({ user: "none" });
  none.send("SUB a 1", "PUB a 3", "abc");
  await none.expect(/MSG a 1 3\r\nabc/);
  await w.change(w.target, { description: "again" });
  none.send("PUB a 3", "abc");
  await none.expect(/MSG a 1 3\r\nabc/);
  await w.go({ user: "far" });
  await w.go({ user: "ws" });
});

scenario("a callout that is added to a loaded account asks about those who come", async (t) => {
  const w = await world(t);
  await w.connect(w.svc);
  const claims = w.auth.nats.authorization;
  await w.change(w.auth, { authorization: undefined });
  const plain = w.auth.user("plain");
  const r = await w.in((i) => plain.login(i));
  await w.change(w.auth, { authorization: claims });
  await w.service.serve(await w.connect(w.svc), (q) => place(q, w));
  await r.ping();
  await w.in((i) => plain.login(i));
  assert.equal(w.asked(), 1);
  if (!isMayfly) return; // there, who is connected already may still publish
  r.send(`PUB ${SUBJECT} 0`, "", "PING");
  await r.expect(/Permissions Violation/);
});

scenario("users that the service placed stay when their account's JWT changes, with the denied subject", async (t) => {
  const w = await world(t, (q, w) => place(q, w, { account: w.auth }));
  const r = await w.come();
  await w.change(w.auth, { description: "x" });
  r.send(`PUB ${SUBJECT} 0`, "", "PING");
  await r.expect(/Permissions Violation/);
  assert.equal((await info(r)).user, "u");
});

scenario("a server that attaches with a sentinel is asked about", async (t) => {
  const w = await world(t, place);
  await w.s.stop();
  const port = await import("node:net").then(({ createServer }) => new Promise((ok) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => ok(port));
    });
  }));
  const hub = await t.server({ config: `${w.s.config}\nleafnodes { listen: "127.0.0.1:${port}" }\n`, monitor: true });
  w.s = hub;
  await w.service.serve(await w.connect(w.svc), (q) => place(q, w));
  const leaf = t.prepare({ config: `leafnodes { remotes: [{ url: "nats://x:y@127.0.0.1:${port}", credentials: "DIR/s.creds" }] }\n` });
  fs.writeFileSync(leaf.file("s.creds"), w.sentinel.creds());
  await leaf.start();
  const link = await until("the link", async () => (await hub.page("/leafz")).json.leafs?.[0]);
  assert.equal(link.account, w.target.public);
  const { client_info, connect_opts } = w.service.last.q;
  assert.equal(client_info.kind, "Leafnode");
  assert.equal(connect_opts.jwt, w.sentinel.jwt);
  assert.deepEqual([connect_opts.user, connect_opts.pass], ["x", "y"]);
});
