// operator_tokens.mjs: which user JWTs let a client in, which do not, and what a client that is in may do.
import assert from "node:assert/strict";
import { Key, Operator, World, now, token, userInfo } from "./lib/operator.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

// An operator with account A, which has a signing key and one for scoped users, and account B.
async function world(t, { template, tags, ...options } = {}) {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("Apple", { tags });
  const b = operator.account("Birch");
  const plain = a.signingKey();
  const scoped = a.signingKey(template ?? { pub: { allow: ["out.>"] } });
  return Object.assign(await World.start(t, operator, [a, b], options), { a, b, plain, scoped });
}

// Each of these logs in, or none of them does.  ways: name -> what CONNECT carries, by the INFO.
async function all(w, ways, error) {
  for (const [what, connect] of Object.entries(ways))
    try {
      (error === undefined ? await w.in(connect) : await w.out(connect, error)).close();
    } catch (e) {
      throw new Error(`${what}: ${e.message}`, { cause: e });
    }
}
const shows = (user, more) => (info) => user.login(info, more);

// A user JWT whose claims are given in full, and its key.
function made(account, claims, nats, options, { signer = account.key, key = new Key("U") } = {}) {
  const user = account.user("x", {}, { key });
  user.jwt = token({ name: "x", sub: key.public, ...claims, nats: { subs: -1, data: -1, payload: -1, type: "user", version: 2, ...nats } }, signer, options);
  return user;
}
const FREE = { subs: -1, data: -1, payload: -1 };

scenario("users of the account's key, a signing key and a scoped key, old and new forms: in", async (t) => {
  const w = await world(t);
  const { a } = w;
  await all(w, {
    "account's key": shows(a.user()),
    "signing key": shows(a.user("s", {}, { signer: w.plain })),
    "scoped key": shows(a.user("s", {}, { signer: w.scoped, scoped: true })),
    "account's key and its own issuer_account": shows(made(a, {}, { issuer_account: a.public })),
    "version 1": shows(made(a, { type: "user" }, { type: undefined, version: undefined }, { header: { typ: "jwt", alg: "ed25519" }, covered: "claims" })),
    "version 2 with the old name of the algorithm": shows(made(a, {}, {}, { header: { typ: "JWT", alg: "ed25519" } })),
    "typ in lower case": shows(made(a, {}, {}, { header: { typ: "jwt", alg: "ed25519-nkey" } })),
    "alg in upper case": shows(made(a, {}, {}, { header: { typ: "JWT", alg: "ED25519-NKEY" } })),
    "names of claims in upper case": shows(made(a, { NAME: "upper", NBF: now() - 10 }, { BEARER_TOKEN: false })),
    "a random jti": shows(made(a, { jti: "NOT CHECKED" })),
    "issued in the future": shows(made(a, { iat: now() + 1000 })),
    "an end and a beginning": shows(made(a, { exp: now() + 1000, nbf: now() - 1000 })),
    "unknown claims": shows(made(a, { more: [1, { a: null }] }, { more: "x" })),
    "a line end behind the token": (info) => ({ ...a.user().login(info), jwt: undefined, ...wrapped(a, info) }),
  });
});
function wrapped(account, info) {
  const user = account.user();
  return { jwt: `${user.jwt}\n`, sig: user.login(info).sig };
}

scenario("bearer users need no signature", async (t) => {
  const w = await world(t);
  const bearer = w.a.user("b", { bearer_token: true });
  await all(w, { "no signature": () => ({ jwt: bearer.jwt }), "a wrong one": () => ({ jwt: bearer.jwt, sig: "AAAA" }) });
});

scenario("signers that the account does not know, and what is no user JWT: out", async (t) => {
  const w = await world(t);
  const { a, b, operator } = w;
  const forged = (jwt, change) => {
    const parts = jwt.split(".");
    parts[1] = Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(parts[1], "base64url"))))).toString("base64url");
    return parts.join(".");
  };
  const good = a.user();
  const stranger = new Operator();
  await all(w, {
    "signing key without issuer_account": shows(made(a, {}, {}, {}, { signer: w.plain })),
    "scoped key without issuer_account": shows(made(a, {}, { ...Object.fromEntries(Object.keys(FREE).map((k) => [k, undefined])) }, {}, { signer: w.scoped })),
    "a signer that nobody knows": shows(a.user("u", {}, { signer: new Key("A") })),
    "an account that nobody knows": shows(stranger.account("X").user()),
    "the other account's key": shows(made(a, {}, { issuer_account: a.public }, {}, { signer: b.key })),
    "the operator's key": shows(made(a, {}, { issuer_account: a.public }, {}, { signer: operator.key })),
    "the operator's signing key": shows(made(a, {}, {}, {}, { signer: operator.signing })),
    "signed by itself": shows(made(a, {}, { issuer_account: a.public }, {}, { signer: good.key, key: good.key })),
    "signed by a server's key": shows(made(a, {}, { issuer_account: a.public }, {}, { signer: new Key("N") })),
    "signed by a cluster's key": shows(made(a, {}, { issuer_account: a.public }, {}, { signer: new Key("C") })),
    "about a subject that is no key": shows(made(a, { sub: "UNOBODY" })),
    "an issuer_account that is a user": shows(made(a, {}, { issuer_account: good.public })),
    "another kind": shows(made(a, {}, { type: "authorization_response" })),
    "a generic one": shows(made(a, {}, { type: "generic" })),
    "an account JWT": (info) => ({ jwt: a.jwt(), sig: a.key.sign(info.nonce).toString("base64url") }),
    "an operator JWT": (info) => ({ jwt: operator.jwt(), sig: operator.key.sign(info.nonce).toString("base64url") }),
    "an activation": shows(Object.assign(a.user(), { jwt: a.activation(b, "x", "stream") })),
    "changed claims": (info) => ({ ...good.login(info), jwt: forged(good.jwt, (c) => ({ ...c, name: "other" })) }),
    "another algorithm": shows(made(a, {}, {}, { header: { typ: "JWT", alg: "HS256" } })),
    "no algorithm": shows(made(a, {}, {}, { header: { typ: "JWT", alg: "none" } })),
    "another typ": shows(made(a, {}, {}, { header: { typ: "JWE", alg: "ed25519-nkey" } })),
    "version 3": shows(made(a, {}, { version: 3 })),
    "no version": shows(made(a, {}, { version: undefined })),
    "signed as version 1 are": shows(made(a, {}, {}, { covered: "claims" })),
    "version 1 signed as version 2 are": shows(made(a, { type: "user" }, { type: undefined, version: undefined })),
    "no sub": shows(made(a, { sub: undefined })),
    "two parts": (info) => ({ ...good.login(info), jwt: good.jwt.split(".").slice(0, 2).join(".") }),
    "four parts": (info) => ({ ...good.login(info), jwt: `${good.jwt}.x` }),
    "no JWT": () => ({}),
    "an empty one": (info) => ({ ...good.login(info), jwt: "" }),
    "user and password": () => ({ user: "u", pass: "p" }),
    "a token": () => ({ auth_token: "t" }),
    "an nkey alone": (info) => ({ nkey: good.public, sig: good.login(info).sig }),
  }, "Authorization Violation");
});

scenario("times, addresses, kinds of connection and the signature of the nonce: what refuses", async (t) => {
  const w = await world(t);
  const { a } = w;
  const good = a.user();
  const hour = (add) => new Date(Date.now() + add * 3600000).toISOString().slice(11, 19);
  const other = new Key("U");
  await all(w, {
    expired: shows(a.user("u", {}, { claims: { exp: now() - 5 } })),
    "not yet valid": shows(a.user("u", {}, { claims: { nbf: now() + 1000 } })),
    "another network": shows(a.user("u", { src: ["10.0.0.0/8"] })),
    "not a network": shows(a.user("u", { src: ["127.0.0.1"] })),
    "outside its hours": shows(a.user("u", { times: [{ start: hour(2), end: hour(3) }], times_location: "UTC" })),
    "WebSocket only": shows(a.user("u", { allowed_connection_types: ["WEBSOCKET"] })),
    "leaf nodes only": shows(a.user("u", { allowed_connection_types: ["LEAFNODE"] })),
    "only an unknown kind": shows(a.user("u", { allowed_connection_types: ["PIGEON"] })),
    "no signature": () => ({ jwt: good.jwt }),
    "an empty signature": () => ({ jwt: good.jwt, sig: "" }),
    "a wrong signature": (info) => ({ jwt: good.jwt, sig: other.sign(info.nonce).toString("base64url") }),
    "a signature that is no base64": () => ({ jwt: good.jwt, sig: "%%%" }),
    "a short signature": (info) => ({ jwt: good.jwt, sig: good.key.sign(info.nonce).subarray(0, 60).toString("base64url") }),
    "another nonce": () => ({ jwt: good.jwt, sig: good.key.sign("abcdefghijklmno").toString("base64url") }),
    "three words in a subject": shows(a.user("u", { sub: { allow: ["a b c"] } })),
    "a queue where one publishes": shows(a.user("u", { pub: { allow: ["a b"] } })),
  }, "Authorization Violation");
});

scenario("times, addresses, kinds of connection and the signature of the nonce: what does not", async (t) => {
  const w = await world(t);
  const { a } = w;
  const hour = (add) => new Date(Date.now() + add * 3600000).toISOString().slice(11, 19);
  const good = a.user();
  await all(w, {
    "networks in one text": shows(a.user("u", { src: "10.0.0.0/8,127.0.0.0/8" })),
    "networks in a list": shows(a.user("u", { src: ["10.0.0.0/8", "127.0.0.1/32"] })),
    "in its hours": shows(a.user("u", { times: [{ start: hour(-1), end: hour(1) }], times_location: "UTC" })),
    "kinds in lower case": shows(a.user("u", { allowed_connection_types: ["standard"] })),
    "an unknown kind beside a known one": shows(a.user("u", { allowed_connection_types: ["PIGEON", "STANDARD"] })),
    "standard base64": (info) => ({ jwt: good.jwt, sig: good.key.sign(info.nonce).toString("base64") }),
  });
});

scenario("each connection has a nonce of its own, and nothing is served before CONNECT", async (t) => {
  const w = await world(t);
  const user = w.a.user();
  const one = await w.in(shows(user));
  const two = await t.raw(w.s);
  assert.notEqual(one.info.nonce, two.info.nonce);
  assert.match(two.info.nonce, /^[\w-]{15}$/);
  assert.equal(two.info.auth_required, true);
  // What the first one showed is of no use on the second.
  two.send(`CONNECT ${JSON.stringify({ verbose: false, ...user.login(one.info) })}`);
  assert.equal(await two.closed(), "-ERR 'Authorization Violation'\r\n");
  const early = await t.raw(w.s);
  early.send("PING");
  assert.equal(await early.closed(), "-ERR 'Authorization Violation'\r\n");
});

scenario("CONNECT once more: the same user stays, one that takes the credentials back is out", async (t) => {
  const w = await world(t);
  const user = w.a.user();
  const same = await w.in(shows(user));
  same.send(`CONNECT ${JSON.stringify({ verbose: false, ...user.login(same.info) })}`);
  await same.ping();
  same.send('CONNECT {"verbose":false,"jwt":"","sig":""}');
  assert.match(await same.closed(), /-ERR 'Authorization Violation'\r\n$/);
});

scenario("a user JWT without limits has none left, one beyond max_control_line is too long", async (t) => {
  const w = await world(t);
  const nothing = w.a.user("n", {}, { scoped: true });
  const limitless = await w.attempt(shows(nothing));
  assert.match(await limitless.closed(), /-ERR 'maximum subscriptions exceeded'\r\n$/);
  const long = w.a.user("l", { tags: Array.from({ length: 400 }, (_, i) => `tag:${i}`) });
  assert.ok(long.jwt.length > 4096);
  await w.out(shows(long), "maximum control line exceeded");
  const wider = await world(t, { config: "max_control_line: 16384" });
  (await wider.in(shows(wider.a.user("l", { tags: Array.from({ length: 400 }, (_, i) => `tag:${i}`) })))).close();
});

scenario("a user JWT of more than a megabyte is refused, whatever max_control_line says", async (t) => {
  const w = await world(t, { config: "max_control_line: 4194304\nmax_payload: 4194304" });
  const sized = (n) => w.a.user("l", { tags: ["t".repeat(n)] });
  (await w.in(shows(sized(700000)))).close();
  await w.out(shows(sized(1200000)));
});

// --- templates ---------------------------------------------------------------------------------------

// What a client may publish, of these subjects.
async function allowed(w, user, subjects) {
  const r = await w.raw(user);
  const got = [];
  for (const s of subjects) {
    r.send(`PUB ${s} 0`, "");
    if (!/Permissions Violation/.test(await r.ping())) got.push(s);
  }
  r.close();
  return got;
}

scenario("a scoped user's subjects come from the template: every function", async (t) => {
  const template = { pub: { allow: ["n.{{name()}}", "s.{{subject()}}", "a.{{ account-name() }}", "k.{{ACCOUNT-SUBJECT()}}", "t.{{tag(team)}}.{{tag(dept)}}", "at.{{account-tag(region)}}", "none.{{tag(absent)}}"] } };
  const w = await world(t, { template, tags: ["region:eu", "region:us"] });
  const user = w.a.user("bob", { tags: ["team:red", "team:blue", "dept:x", "dept:y"] }, { signer: w.scoped, scoped: true });
  const right = ["n.bob", `s.${user.public}`, "a.Apple", `k.${w.a.public}`, "t.red.x", "t.red.y", "t.blue.x", "t.blue.y", "at.eu", "at.us"];
  const wrong = ["n.eve", "s.x", "a.Birch", "t.red.z", "t.green.x", "at.asia", "none.x", "none.", "free"].filter((s) => !s.endsWith("."));
  assert.deepEqual(await allowed(w, user, [...right, ...wrong]), right);
});

scenario("a tag that the user lacks: the entry vanishes from allow, and in deny it refuses", async (t) => {
  const w = await world(t, { template: { pub: { allow: ["t.{{tag(team)}}"] } } });
  const scoped = (signer, nats) => w.a.user("bob", nats, { signer, scoped: true });
  assert.deepEqual(await allowed(w, scoped(w.scoped, {}), ["t.red", "t.", "free"].filter((s) => s !== "t.")), [], "nothing is left to allow");
  assert.deepEqual(await allowed(w, scoped(w.scoped, { tags: ["team:red"] }), ["t.red", "free"]), ["t.red"]);
  // A name of two words makes no subject.
  assert.deepEqual(await allowed(w, scoped(w.scoped, { tags: ["team:red blue"] }), ["t.red", "free"]), []);
});

for (const [what, template] of Object.entries({
  "a deny entry with a tag that the user lacks": { pub: { deny: ["t.{{tag(team)}}"] } },
  "a deny entry that becomes no subject": { pub: { deny: ["t.{{name()}}"] } },
  "a function that does not exist": { pub: { allow: ["t.{{fruit()}}"] } },
}))
  scenario(`a template refuses: ${what}`, async (t) => {
    const w = await world(t, { template });
    await w.out(shows(w.a.user("b b", {}, { signer: w.scoped, scoped: true })));
  });

scenario("a scoped user has no permissions or limits of its own, not even -1", async (t) => {
  const w = await world(t);
  const scoped = (nats) => shows(w.a.user("bob", nats, { signer: w.scoped, scoped: true }));
  await all(w, {
    "limits of -1": scoped({ subs: -1, data: -1, payload: -1 }),
    "one limit": scoped({ payload: 100 }),
    "a permission": scoped({ pub: { allow: ["out.x"] } }),
    bearer: scoped({ bearer_token: true }),
    kinds: scoped({ allowed_connection_types: ["STANDARD"] }),
    networks: scoped({ src: ["127.0.0.1/32"] }),
  }, "Authorization Violation");
  await all(w, { tags: scoped({ tags: ["a:b"] }), "an end": shows(w.a.user("e", {}, { signer: w.scoped, scoped: true, claims: { exp: now() + 100 } })) });
});

scenario("limits, kinds and networks of a template count for its users", async (t) => {
  const operator = new Operator();
  const a = operator.account("A");
  const key = (template) => a.signingKey(template);
  const keys = { payload: key({ payload: 50 }), subs: key({ subs: 1 }), ws: key({ allowed_connection_types: ["WEBSOCKET"] }), far: key({ src: ["10.0.0.0/8"] }), bearer: key({ bearer_token: true }) };
  const w = await World.start(t, operator, [a]);
  const user = (k) => a.user("s", {}, { signer: keys[k], scoped: true });
  await all(w, { ws: shows(user("ws")), far: shows(user("far")) }, "Authorization Violation");
  await all(w, { bearer: () => ({ jwt: user("bearer").jwt }) });
  const small = await w.raw(user("payload"));
  small.send(`PUB x 51`, "x".repeat(51));
  assert.match(await small.closed(), /^-ERR 'Maximum Payload Violation'\r\n/);
  const one = await w.raw(user("subs"));
  one.send("SUB a 1", "SUB b 2");
  assert.match(await one.ping(), /-ERR 'maximum subscriptions exceeded'\r\n/);
});

// --- what a user is told -----------------------------------------------------------------------------

scenario("the second INFO tells the smaller max_payload of user and account", async (t) => {
  const operator = new Operator();
  const a = operator.account("A", { limits: { payload: 500 } });
  const w = await World.start(t, operator, [a]);
  const second = async (nats) => {
    const r = await w.attempt(shows(a.user("u", nats)));
    const [, info] = await r.expect(/INFO ({[^\r]*"connect_info":true[^\r]*})/);
    r.close();
    return JSON.parse(info);
  };
  assert.equal((await second({ payload: 100 })).max_payload, 100);
  assert.equal((await second({ payload: 1000 })).max_payload, 500);
  const free = await second({});
  assert.equal(free.max_payload, 500);
  assert.equal(free.remote_account, a.public);
  assert.equal(free.acc_is_sys, undefined);
  const r = await w.attempt(shows(operator.system.user("root")));
  const [, info] = await r.expect(/INFO ({[^\r]*"connect_info":true[^\r]*})/);
  assert.equal(JSON.parse(info).acc_is_sys, true);
  assert.equal(JSON.parse(info).remote_account, operator.system.public);
});

scenario("USER.INFO tells keys, names, permissions and the time that is left", async (t) => {
  const w = await world(t);
  const info = async (user) => {
    const nc = await w.connect(user);
    const data = await userInfo(nc);
    await nc.close();
    return data;
  };
  const free = w.a.user("free");
  const plain = await info(free);
  assert.deepEqual([plain.user, plain.account, plain.account_name, plain.user_name], [free.public, w.a.public, "Apple", "free"]);
  assert.equal(plain.expires, undefined);
  const held = w.a.user("held", { pub: { allow: ["out.>", "$SYS.REQ.USER.INFO"] }, sub: { allow: ["_INBOX.>"], deny: ["in.x"] } }, { claims: { exp: now() + 100 } });
  const some = await info(held);
  assert.deepEqual(some.permissions.publish.allow.toSorted(), ["$SYS.REQ.USER.INFO", "out.>"]);
  assert.deepEqual(some.permissions.subscribe, { allow: ["_INBOX.>"], deny: ["in.x"] });
  assert.ok(some.expires > 90e9 && some.expires <= 100e9 && some.expires % 1e9 === 0, `${some.expires} ns are left, in whole seconds`);
  const scoped = w.a.signingKey({ pub: { allow: ["$SYS.REQ.USER.INFO", "own.{{name()}}.>"] }, sub: { allow: ["_INBOX.>"] } });
  await w.update(w.a);
  const expanded = await info(w.a.user("carol", {}, { signer: scoped, scoped: true }));
  assert.deepEqual(expanded.permissions.publish.allow.toSorted(), ["$SYS.REQ.USER.INFO", "own.carol.>"]);
});

scenario("a sentinel with user and password, without a callout: who it says it is", async (t) => {
  const w = await world(t);
  const sentinel = w.a.user("guest", { bearer_token: true });
  const nc = await t.connect(w.s, { authenticator: () => ({ jwt: sentinel.jwt, user: "alice", pass: "secret" }) });
  const data = await userInfo(nc);
  assert.deepEqual([data.user, data.account, data.account_name, data.user_name], ["alice", w.a.public, "Apple", "guest"]);
});

scenario("accounts do not hear each other, and permissions bind in both directions", async (t) => {
  const w = await world(t);
  const [inA, inB] = [await w.connect(w.a.user()), await w.connect(w.b.user())];
  const [heard, foreign] = [collect(inA, "x"), collect(inB, "x")];
  await Promise.all([inA.flush(), inB.flush()]);
  inA.publish("x", "1");
  await inA.flush();
  await until("the message", () => heard.length === 1);
  await inB.flush();
  assert.equal(foreign.length, 0);
  const r = await w.raw(w.a.user("r", { pub: { allow: ["ok"] }, sub: { deny: ["no"] } }));
  r.send("PUB x 0", "");
  await r.expect(/^-ERR 'Permissions Violation for Publish to "x"'\r\n/);
  r.send("SUB no 1");
  await r.expect(/^-ERR 'Permissions Violation for Subscription to "no"'\r\n/);
});

scenario("answers may be published where a user may otherwise publish nothing", async (t) => {
  const w = await world(t);
  const service = await w.connect(w.a.user("svc", { pub: { allow: ["nothing"] }, resp: { max: 1, ttl: -1 } }));
  const asker = await w.connect(w.a.user());
  service.subscribe("q", { callback: (_, m) => { m.respond("one"); m.respond("two"); } });
  await service.flush();
  const got = collect(asker, "here");
  asker.publish("q", "", { reply: "here" });
  await until("the answer", () => got.length >= 1);
  await service.flush();
  await asker.flush();
  assert.deepEqual(got.texts(), ["one"]);
});
