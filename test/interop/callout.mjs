// callout.mjs: an auth callout in the configuration: who is asked about, what the service may answer, and what a client may do then.
import assert from "node:assert/strict";
import net from "node:net";
import WebSocket from "ws";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { Asked, Key, Service, SUBJECT, accounts, callout, createCurve, now, token } from "./lib/callout.mjs";
import { userInfo } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const ANYBODY = { user: "x", pass: "y" };
const good = (q, s) => s.accept(q);

// --- who is asked about ------------------------------------------------------------------------------

scenario("everybody is asked about but auth_users", async (t) => {
  const w = await Asked.start(t, good);
  const ask = async (connect) => {
    const before = w.service.requests.length;
    (await w.in(connect)).close();
    assert.equal(w.service.requests.length, before + 1, JSON.stringify(connect));
    return w.service.last.q;
  };
  assert.deepEqual((await ask(ANYBODY)).connect_opts, { user: "x", pass: "y", protocol: 1 });
  assert.deepEqual((await ask({ user: "file", pass: "file" })).connect_opts, { user: "file", pass: "file", protocol: 1 });
  assert.equal((await ask({ user: "admin", pass: "admin" })).connect_opts.user, "admin");
  assert.equal((await ask({ user: "aside", pass: "aside" })).connect_opts.user, "aside");
  assert.equal((await ask({ user: "file", pass: "wrong" })).connect_opts.pass, "wrong");
  const none = await ask({ name: "me", lang: "c", version: "1.2" });
  assert.deepEqual(none.connect_opts, { name: "me", lang: "c", version: "1.2", protocol: 1 });
  assert.equal(none.client_info.user, undefined);
  const tok = await ask({ auth_token: "secret" });
  assert.equal(tok.connect_opts.auth_token, "secret");
  assert.equal(tok.client_info.user, "[REDACTED]");
  const nkey = new Key("U").public;
  const q = await ask({ nkey, sig: "c2ln" });
  assert.equal(q.client_info.user, nkey);
  assert.deepEqual(q.connect_opts, { nkey, sig: "c2ln", protocol: 1 });
  const before = w.service.requests.length;
  await w.in({ user: "auth", pass: "auth" });
  await w.out({ user: "auth", pass: "wrong" });
  assert.equal(w.service.requests.length, before);
});

// nats-server asks about them.
scenario("who claims to be one of auth_users and proves to be another is not let in", { only: "mayfly" }, async (t) => {
  const key = new Key("U").public;
  const w = await Asked.start(t, good, { users: `auth, ${key}` });
  await w.out({ nkey: key, sig: "x", user: "file", pass: "file" });
  await w.out({ nkey: "auth", user: "file", pass: "file" });
  assert.equal(w.service.requests.length, 0);
});

scenario("no_auth_user: clients without credentials are asked about as this user", async (t) => {
  for (const [user, more, requests] of [["file", "", 1], ["auth", "", 0], ["other", "allowed_accounts: [APP]", 0]]) {
    const w = await Asked.start(t, good, { more, extra: `no_auth_user: ${user}\n` });
    const r = await w.in({});
    assert.equal(w.service.requests.length, requests);
    if (requests) assert.deepEqual(w.service.last.q.connect_opts, { user: "file", pass: "file", protocol: 1 });
    assert.equal((await w.conn(r)).authorized_user, user);
    await w.in(ANYBODY);
    assert.equal(w.service.last.q.connect_opts.user, "x");
  }
});

scenario("the request: who asks, for whom, and until when", async (t) => {
  const w = await Asked.start(t, good, { timeout: 40, extra: 'server_name: s1\nserver_tags: ["a:b"]\n' });
  const r = await w.in({ ...ANYBODY, name: "n" });
  const { claims, m, xkey } = w.service.last;
  const { nats, ...common } = claims;
  assert.equal(m.subject, SUBJECT);
  assert.match(m.reply, /^\$SYS\._INBOX\.\w{8,}\.\w{8,}$/);
  assert.equal(xkey, undefined);
  assert.equal(common.aud, "nats-authorization-request");
  assert.equal(common.iss, r.info.server_id);
  assert.equal(common.sub, w.service.issuer.public);
  assert.ok(common.exp - common.iat >= 39 && common.exp - common.iat <= 40);
  const { user_nkey, server_id, ...rest } = nats;
  assert.match(user_nkey, /^U[A-Z2-7]{55}$/);
  assert.deepEqual(server_id, { name: "s1", host: "127.0.0.1", id: r.info.server_id, version: r.info.version, tags: ["a:b"] });
  assert.deepEqual(rest, {
    client_info: { host: "127.0.0.1", id: r.info.client_id, user: "x", name: "n", kind: "Client", type: "nats" },
    connect_opts: { user: "x", pass: "y", name: "n", protocol: 1 }, type: "authorization_request", version: 2,
  });
  await w.in(ANYBODY);
  assert.notEqual(w.service.last.q.user_nkey, user_nkey);
});

scenario("the nonce is told where the client signed one", async (t) => {
  const key = new Key("U");
  const w = await Asked.start(t, good, { known: accounts.replace("{ user: aside", `{ nkey: ${key.public} }, { user: aside`) });
  const r = await t.raw(w.s);
  const sig = key.sign(r.info.nonce).toString("base64url");
  await r.connect({ nkey: key.public, sig });
  assert.equal(w.service.last.q.client_info.nonce, r.info.nonce);
  assert.equal(w.service.last.q.connect_opts.sig, sig);
  await w.in(ANYBODY);
  assert.equal(w.service.last.q.client_info.nonce, undefined);
});

scenario("allowed_accounts: the file decides about users of other accounts, as long as they are good", async (t) => {
  const w = await Asked.start(t, good, { more: "allowed_accounts: [APP]" });
  const asked = async (connect) => {
    const before = w.service.requests.length;
    (await w.in(connect)).close();
    return w.service.requests.length - before;
  };
  assert.equal(await asked({ user: "other", pass: "other" }), 0);
  assert.equal(await asked({ user: "aside", pass: "aside" }), 0);
  assert.equal(await asked({ user: "admin", pass: "admin" }), 0);
  assert.equal(await asked({ user: "other", pass: "wrong" }), 1);
  assert.equal(await asked({ user: "file", pass: "file" }), 1);
  assert.equal(await asked({}), 1);
});

scenario("a user of the file without its account in allowed_accounts, with bcrypt: asked about when the password is wrong", async (t) => {
  // "other", cost 4
  const stored = "$2a$04$nmUkUfH1xNtjH8mAMRcYDu5C/YvJFg7CEqqz0JqFm0kpyVNtOpgvG";
  const w = await Asked.start(t, good, { more: "allowed_accounts: [APP]", known: accounts.replace("password: other", `password: "${stored}"`) });
  await w.in({ user: "other", pass: "surely wrong" });
  assert.equal(w.service.requests.length, 1);
});

scenario("allowed_accounts also limits where the service may place a user", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { aud: q.connect_opts.user } }), { more: "allowed_accounts: [APP]" });
  await w.in({ user: "APP" });
  await w.in({ user: "AUTH" });
  for (const user of ["OTHER", "SYS", "$G"]) await w.out({ user });
  await w.s.logged(/\[WRN\] Account "OTHER" not permitted as valid account option for auth callout for account "AUTH"/);
});

// --- what the service may answer ---------------------------------------------------------------------

// name -> [the answer, what the log says].  xkey: the service's requests are sealed.
const other = new Key("A");
const user = new Key("U").public;
const plain = {
  "an error": [(q, s) => s.refuse(q, "go away"), 'Auth callout service returned an error: go away'],
  "nothing": [() => "", 'Auth callout violation: "no reason supplied" on account "AUTH"'],
  "no JWT": [() => "garbage", "Expected 3 chunks"],
  "another signer": [(q, s) => s.response(q, { signer: other, nats: { jwt: s.user(q) } }), "Auth callout signing key is unknown"],
  "an error of another signer": [(q, s) => s.response(q, { signer: other, nats: { error: "no" } }), "Auth callout signing key is unknown"],
  "another signer for the issuer": [(q, s) => s.response(q, { signer: other, nats: { jwt: s.user(q), issuer_account: s.issuer.public } }), "Auth callout signing key is unknown"],
  "a user's signature": [(q, s) => s.response(q, { signer: new Key("U"), nats: { jwt: s.user(q) } }), "Unable to validate expected prefixes - [account]"],
  "a response for another user": [(q, s) => s.response(q, { claims: { sub: user }, nats: { jwt: s.user(q) } }), "Auth callout violation: auth callout response is not for expected user"],
  "a response for another server": [(q, s) => s.response(q, { claims: { aud: new Key("N").public }, nats: { jwt: s.user(q) } }), "Auth callout violation: auth callout response is not for server"],
  "an audience that is no server": [(q, s) => s.response(q, { claims: { aud: "me" }, nats: { jwt: s.user(q) } }), "Authorization response had validation errors: Audience must be a server public key"],
  "neither user nor error": [(q, s) => s.response(q), "Authorization response had validation errors: Error or Jwt is required"],
  "user and error": [(q, s) => s.response(q, { nats: { jwt: s.user(q), error: "x" } }), "Authorization response had validation errors: Only Error or Jwt can be set"],
  "an expired response": [(q, s) => s.response(q, { claims: { exp: now() - 10 }, nats: { jwt: s.user(q) } }), "Authorization response had validation errors: claim is expired"],
  "a response for later": [(q, s) => s.response(q, { claims: { nbf: now() + 1000 }, nats: { jwt: s.user(q) } }), "Authorization response had validation errors: claim is not yet valid"],
  "a user that is no JWT": [(q, s) => s.response(q, { nats: { jwt: "garbage" } }), "Expected 3 chunks"],
  "an account instead of a user": [(q, s) => s.response(q, { nats: { jwt: token({ sub: other.public, nats: { type: "account", version: 2 } }, other) } }), "Not user claim"],
  "another user": [(q, s) => s.accept(q, { claims: { sub: user } }), (q) => `Expected authorized user of "${q.user_nkey}" but got "${user}" on account "AUTH"`],
  "a user of another issuer": [(q, s) => s.response(q, { nats: { jwt: s.user(q, { signer: other }) } }), (q, s) => `Wrong issuer for auth callout response on account "AUTH", expected "${s.issuer.public}" got "${other.public}"`],
  "issuer_account": [(q, s) => s.accept(q, { nats: { issuer_account: s.issuer.public } }), 'Error non operator mode account "AUTH": attempted to use issuer_account'],
  "an unknown account": [(q, s) => s.accept(q, { claims: { aud: "NOPE" } }), 'No valid account "NOPE" for auth callout response on account "AUTH": account missing'],
  "no account": [(q, s) => s.accept(q, { claims: { aud: undefined } }), 'No valid account "" for auth callout response on account "AUTH": account missing'],
  "an expired user": [(q, s) => s.accept(q, { claims: { exp: now() - 100 } }), "Error validating user JWT: claim is expired"],
  "a user for later": [(q, s) => s.accept(q, { claims: { nbf: now() + 1000 } }), "Error validating user JWT: claim is not yet valid"],
  "a subject that is none": [(q, s) => s.accept(q, { nats: { pub: { allow: ["a..b"] } } }), 'Error validating user JWT: subject "a..b" cannot contain consecutive `.`'],
  "a network that is none": [(q, s) => s.accept(q, { nats: { src: ["x"] } }), 'Error validating user JWT: invalid cidr "x" in user src limits'],
  "outside of its hours": [(q, s) => s.accept(q, { nats: { times: [{ start: hour(2), end: hour(3) }], times_location: "UTC" } }), 'Authorized user on account "AUTH" outside of valid connect times'],
  "only unknown connection types": [(q, s) => s.accept(q, { nats: { allowed_connection_types: ["PIGEON"] } }), 'Authorized user on account "AUTH" using invalid connection type'],
  "proxy_required": [(q, s) => s.accept(q, { nats: { proxy_required: true } }), "Proxy connection required"],
};
const hour = (ahead) => new Date(Date.now() + ahead * 3600000).toISOString().slice(11, 13) + ":00:00";
const sealed = {
  "in clear by another signer": [(q, s) => s.response(q, { signer: other, nats: { jwt: s.user(q) } }), "Auth callout signing key is unknown"],
  "sealed by another key": [(q, s, { xkey }) => s.seal(s.accept(q), xkey, createCurve()), 'Error decrypting auth callout response on account "AUTH": nkeys: could not decrypt input'],
  "too short for a seal": [() => "garbage", 'Error decrypting auth callout response on account "AUTH": nkeys: encrypted input is not valid'],
  "no seal": [() => "g".repeat(100), 'Error decrypting auth callout response on account "AUTH": nkeys: encrypted input wrong version'],
  "a cut seal": [(q, s, { xkey }) => s.seal(s.accept(q), xkey).slice(0, -1), 'Error decrypting auth callout response on account "AUTH": nkeys: could not decrypt input'],
  "nothing, sealed": [(q, s, { xkey }) => s.seal("", xkey), "Expected 3 chunks"],
  "nothing": [() => "", 'Auth callout violation: "no reason supplied" on account "AUTH"'],
  "an error, sealed": [(q, s, { xkey }) => s.seal(s.refuse(q, "go away"), xkey), "Auth callout service returned an error: go away"],
};

// Each answer is refused: -ERR, a warning, and an event in the callout account.
async function refusals(t, cases, service) {
  let answer;
  const w = await Asked.start(t, (q, s, m) => answer(q, s, m), { service });
  const events = await w.events();
  for (const [name, [fn, text]] of Object.entries(cases)) {
    answer = fn;
    const seen = w.s.log().length;
    events.length = 0;
    const r = await w.out({ user: "x", pass: "y" });
    const why = typeof text === "string" ? text : text(service.last.q, service);
    await until(`${name}: the warning`, () => w.s.log().slice(seen).includes(`[WRN] ${why}\n`)).catch((e) => {
      throw new Error(`${e.message}: ${why}; had ${w.s.log().slice(seen)}`);
    });
    const event = await until(`${name}: the event`, () => events[0]);
    assert.equal(event.type, "io.nats.server.advisory.v1.client_disconnect");
    assert.equal(event.reason, why, name);
    assert.deepEqual([event.client.acc, event.client.user, event.client.id], ["AUTH", "x", r.info.client_id], name);
  }
  assert.doesNotMatch(w.s.log(), /eyJ/);
}
scenario("each bad answer is refused, with its reason in log and event", (t) => refusals(t, plain, new Service()));
scenario("each bad answer to a sealed request is refused", (t) => refusals(t, sealed, new Service({ curve: createCurve() })));

scenario("a sealed request is answered sealed or in clear", async (t) => {
  let answer;
  const service = new Service({ curve: createCurve() });
  const w = await Asked.start(t, (q, s, m) => answer(q, s, m), { service });
  answer = (q, s, { xkey }) => s.seal(s.accept(q), xkey);
  await w.in(ANYBODY);
  const { m, xkey, q } = service.last;
  assert.equal(m.string().slice(0, 4), "xkv1");
  assert.match(xkey, /^X[A-Z2-7]{55}$/);
  assert.equal(q.server_id.xkey, xkey);
  assert.equal((await t.raw(w.s)).info.xkey, xkey);
  answer = good;
  await w.in(ANYBODY);
  answer = (q, s, { xkey }) => s.seal(s.response(q, { signer: other, nats: { jwt: s.user(q) } }), xkey); // the seal proves who it is
  await w.in(ANYBODY);
});

// nats-server may apply the second one, and a third one stops the service's connection for good.
scenario("a trace shows no request and no answer", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, good, { extra: "debug: true\ntrace: true\n" });
  await w.in(ANYBODY);
  await w.s.logged(/MSG \$SYS\.REQ\.USER\.AUTH 1 \$SYS\._INBOX/);
  await w.s.logged(/PUB \$SYS\._INBOX\.\w+\.\w+ \d+\]/);
  await w.s.logged(/MSG_PAYLOAD: \["\[REDACTED\]"\]/);
  assert.doesNotMatch(w.s.log(), /eyJ/);
});

scenario("of several answers the first one counts", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t);
  const nc = await w.connect("auth");
  await w.service.serve(nc, (q, c, { m }) => {
    m.respond(w.service.accept(q, { claims: { name: "first" } }));
    m.respond(w.service.refuse(q, "second"));
    return w.service.accept(q, { claims: { name: "third" } });
  });
  const r = await w.in(ANYBODY);
  assert.equal((await w.conn(r)).authorized_user, "first");
});

scenario("the answer to one request is none for another", async (t) => {
  let kept;
  const w = await Asked.start(t, (q, s) => {
    const jwt = s.accept(q);
    return ([kept] = [kept ?? jwt])[0];
  });
  await w.in(ANYBODY);
  await w.out(ANYBODY);
  await w.s.logged(/auth callout response is not for expected user/);
});

scenario("without a service a login waits for the timeout", async (t) => {
  const w = await Asked.start(t, null, { timeout: 1 });
  const from = Date.now();
  await w.out(ANYBODY);
  assert.ok(Date.now() - from >= 900, `${Date.now() - from} ms`);
});

scenario("a service that does not answer delays nobody else", async (t) => {
  const w = await Asked.start(t, (q, s) => (q.connect_opts.user === "slow" ? undefined : s.accept(q)), { timeout: 3 });
  const slow = [];
  for (let i = 0; i < 20; i++) slow.push(await w.attempt({ user: "slow" }));
  await until("the requests", () => w.service.requests.length === 20);
  const r = await w.in(ANYBODY);
  assert.ok(slow.every((s) => !s.ended));
  await r.ping();
  for (const s of slow) assert.match(await s.closed(), /Authorization Violation/);
});

scenario("a client that leaves while it waits", async (t) => {
  let release;
  const wait = new Promise((r) => (release = r));
  const w = await Asked.start(t, async (q, s) => {
    if (q.connect_opts.user === "gone") await wait;
    return s.accept(q);
  });
  const r = await w.attempt({ user: "gone" });
  await until("the request", () => w.service.requests.length === 1);
  r.close();
  release();
  await until("its end", async () => (await w.s.page("/connz")).json.num_connections === 1);
  await w.in(ANYBODY);
});

// nats-server waits for the timeout.
scenario("a server that stops while a login waits", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, () => undefined);
  const r = await w.attempt(ANYBODY);
  await until("the request", () => w.service.requests.length === 1);
  await w.s.stop();
  await r.closed();
});

scenario("the service's own connection ends while logins wait", async (t) => {
  const w = await Asked.start(t, () => undefined, { timeout: 2 });
  const r = await w.attempt(ANYBODY);
  await until("the request", () => w.service.requests.length === 1);
  await w.service.nc.close();
  assert.match(await r.closed(), /Authorization Violation/);
});

// --- what a client may do then -----------------------------------------------------------------------

scenario("account, permissions and name are those of the user's JWT", async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { name: q.connect_opts.pass }, nats: { pub: { allow: ["a", "$SYS.REQ.USER.INFO"] }, sub: { allow: ["b", "_INBOX.>"] } } }));
  const app = await w.connect("auth").then(() => w.in({ user: "u", pass: "bob" }));
  assert.deepEqual(pick(await w.conn(app), "authorized_user account"), { authorized_user: "bob", account: "APP" });
  app.send("SUB b 1", "SUB c 2", "PUB a 0", "", "PUB b 0", "", "PING");
  const text = (await app.expect(/^([^]*?)PONG/))[1];
  assert.match(text, /-ERR 'Permissions Violation for Subscription to "c"/);
  assert.match(text, /-ERR 'Permissions Violation for Publish to "b"'/);
  const nc = await t.connect(w.s, { user: "u", pass: "bob" });
  const info = await userInfo(nc);
  assert.deepEqual(pick(info, "user account account_name user_name"), { user: "bob", account: "APP", account_name: "APP" });
  assert.deepEqual(info.permissions.publish.allow, ["a", "$SYS.REQ.USER.INFO"]);
});
const pick = (from, names) => Object.fromEntries(names.split(" ").filter((n) => from[n] !== undefined).map((n) => [n, from[n]]));

scenario("without a name in the JWT pages show what CONNECT said", async (t) => {
  const w = await Asked.start(t, good);
  const nkey = new Key("U").public;
  for (const [connect, shown] of [[{ user: "u", pass: "p" }, "u"], [{ auth_token: "t" }, "[REDACTED]"], [{ nkey }, nkey], [{}, undefined]])
    assert.equal((await w.conn(await w.in(connect))).authorized_user, shown);
});

scenario("clients of the callout account may not publish to $SYS.REQ.USER.AUTH themselves", async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { aud: "AUTH" }, nats: { pub: { deny: ["x"] } } }));
  for (const connect of [ANYBODY, { user: "auth", pass: "auth" }]) {
    const r = await w.in(connect);
    const before = w.service.requests.length;
    r.send(`PUB ${SUBJECT} 1`, "x", "PING");
    await r.expect(/-ERR 'Permissions Violation for Publish to "\$SYS\.REQ\.USER\.AUTH"'\r\n/);
    await r.expect(/PONG/);
    assert.equal(w.service.requests.length, before);
  }
  const info = await userInfo(await t.connect(w.s, ANYBODY));
  assert.deepEqual(info.permissions.publish.deny, ["x", SUBJECT]);
});

// nats-server shows requests to every client of the account.
scenario("of the clients of the callout account only auth_users read requests", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { aud: "AUTH" } }));
  const [r, helper] = [await w.in(ANYBODY), await w.in({ user: "auth", pass: "auth" })];
  helper.send("SUB $SYS.REQ.> 1", "PING");
  await helper.expect(/PONG/);
  for (const queue of ["", " q"]) {
    r.send(`SUB ${SUBJECT}${queue} 1`, "PING");
    await r.expect(/-ERR 'Permissions Violation for Subscription to "\$SYS\.REQ\.USER\.AUTH"[^]*PONG/);
  }
  r.send("SUB > 2", "SUB $SYS.REQ.*.AUTH 3", "SUB > q 4", "SUB done 5", "PING");
  await r.expect(/PONG/);
  await w.in({ user: "next", pass: "secret" });
  await helper.expect(/MSG \$SYS\.REQ\.USER\.AUTH 1 /);
  r.send("PUB done 0", "");
  assert.doesNotMatch((await r.expect(/^([^]*)MSG done 5 0/))[1], /USER\.AUTH/);
});

scenario("in other accounts the subject is one like any other", async (t) => {
  const w = await Asked.start(t, good);
  const r = await w.in(ANYBODY);
  r.send(`SUB ${SUBJECT} 1`, `PUB ${SUBJECT} 1`, "x", "PING");
  await r.expect(/MSG \$SYS\.REQ\.USER\.AUTH 1 1\r\nx/);
});

scenario("the callout account is $G by default", async (t) => {
  const service = new Service();
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { aud: "$G" } }), {
    service, known: "", config: `authorization { timeout: 60, users: [{ user: auth, password: auth }], auth_callout { issuer: ${service.issuer.public}, auth_users: [auth] } }\n` });
  const r = await w.in(ANYBODY);
  r.send(`PUB ${SUBJECT} 0`, "", "PING");
  await r.expect(/Permissions Violation/);
});

scenario("one user and password for all, who is one of auth_users", async (t) => {
  const service = new Service();
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { aud: "$G" } }), {
    service, known: "", config: `authorization { timeout: 60, user: auth, password: auth, auth_callout { issuer: ${service.issuer.public}, auth_users: [auth] } }\n` });
  const r = await w.in({ user: "auth", pass: "auth" });
  r.send(`PUB ${SUBJECT} 0`, "", "PING");
  await r.expect(/Permissions Violation/);
  await w.out({ user: "auth", pass: "wrong" });
  await w.in(ANYBODY);
  assert.equal(service.requests.length, 1);
});

scenario("the end of the user and of its hours ends the connection", async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, q.connect_opts.user === "exp" ? { claims: { exp: now() + 2 } } : { nats: { times: [{ start: second(-60), end: second(3) }], times_location: "UTC" } }));
  const [exp, hours] = [await w.in({ user: "exp" }), await w.in({ user: "hours" })];
  for (const r of [exp, hours]) assert.match(await r.closed(), /-ERR 'User Authentication Expired'\r\n$/);
});
const second = (ahead) => new Date(Date.now() + ahead * 1000).toISOString().slice(11, 19);

scenario("the log line of a client without a name", async (t) => {
  const w = await Asked.start(t, good, { extra: "debug: true\n" });
  const r = await w.in({});
  r.send("BOGUS");
  await r.closed();
  await w.s.logged(new RegExp(`cid:${r.info.client_id} [^\\n]*closed`, "i"));
  assert.doesNotMatch(w.s.log(), /\(null\)/);
});

scenario("allow_responses of the user's JWT", async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { nats: q.connect_opts.user === "r" ? { resp: { max: 1, ttl: 0 } } : {} }));
  const [r, asker] = [await w.in({ user: "r" }), await w.in(ANYBODY)];
  r.send("SUB q 1", "PING");
  await r.expect(/PONG/);
  asker.send("SUB i 1", "PUB q i 0", "");
  await r.expect(/MSG q 1 i 0\r\n/);
  r.send("PUB i 1", "1", "PUB i 1", "2", "PING");
  await r.expect(/Permissions Violation for Publish to "i"/);
  await asker.expect(/MSG i 1 1\r\n1/);
});

scenario("limits, networks and connection types of the user's JWT are enforced", { only: "mayfly" }, async (t) => {
  const nats = {
    subs: { subs: 1 }, payload: { payload: 10 }, none: { subs: 0, payload: 0 }, far: { src: ["10.0.0.0/8"] }, near: { src: ["127.0.0.0/8"] },
    ws: { allowed_connection_types: ["WEBSOCKET"] }, tcp: { allowed_connection_types: ["standard"] },
  };
  const w = await Asked.start(t, (q, s) => s.accept(q, { nats: nats[q.connect_opts.user] }));
  const subs = await w.in({ user: "subs" });
  subs.send("SUB a 1", "SUB b 2", "PING");
  await subs.expect(/-ERR 'maximum subscriptions exceeded'/);
  const payload = await w.in({ user: "payload" });
  payload.send("PUB a 11", "x".repeat(11));
  await payload.expect(/-ERR 'Maximum Payload Violation'/);
  const none = await w.in({ user: "none" });
  none.send("SUB a 1", "PUB a 3", "abc");
  await none.expect(/MSG a 1 3\r\nabc/);
  await w.in({ user: "near" });
  await w.out({ user: "far" });
  await w.in({ user: "tcp" });
  await w.out({ user: "ws" });
  await w.s.logged(/Authorized user on account "AUTH" may not connect from 127\.0\.0\.1/);
});

scenario("the account's limit of connections counts for users of the service, too", async (t) => {
  const w = await Asked.start(t, good, { known: accounts.replace("APP {", "APP { limits { max_conn: 1 },") });
  await w.in(ANYBODY);
  await w.out(ANYBODY, "maximum account active connections exceeded");
});

scenario("a second CONNECT is asked about again", async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { name: q.connect_opts.user, aud: q.connect_opts.user } }));
  const r = await w.in({ user: "APP" });
  await r.connect({ user: "OTHER" });
  assert.equal(w.service.requests.length, 2);
  assert.deepEqual(pick(await w.conn(r), "authorized_user account"), { authorized_user: "OTHER", account: "OTHER" });
});

scenario("a client over WebSocket", async (t) => {
  const w = await Asked.start(t, good, { extra: 'websocket { listen: "127.0.0.1:-1", no_tls: true }\n' });
  const ws = new WebSocket(w.s.ws);
  t.after(() => ws.terminate());
  let text = "";
  ws.on("message", (d) => (text += d));
  await new Promise((ok, bad) => ws.on("open", ok).on("error", bad));
  ws.send('CONNECT {"verbose":false,"user":"x","pass":"y"}\r\nPING\r\n');
  await until("PONG", () => text.includes("PONG"));
  assert.deepEqual(pick(w.service.last.q.client_info, "user kind type"), { user: "x", kind: "Client", type: "websocket" });
});

scenario("TLS: version, cipher and the client's verified certificates are told", async (t) => {
  const c = certs();
  const w = await Asked.start(t);
  await w.s.stop();
  const s = await t.server({ config: callout(w.service) + accounts + tlsBlock("verify: true") });
  await w.service.serve(await t.connect(s, { user: "auth", pass: "auth", tls: { caFile: `${c.ca}.pem`, certFile: `${c.client}.pem`, keyFile: `${c.client}.key` } }), (q) => w.service.accept(q));
  const r = await t.raw(s, {});
  await r.upgrade({ ...c.trust("client"), servername: "localhost" });
  await r.connect(ANYBODY);
  const tls = w.service.last.q.client_tls;
  assert.equal(tls.version, "1.3");
  assert.match(tls.cipher, /^TLS_/);
  assert.equal(tls.certs, undefined);
  assert.deepEqual(tls.verified_chains, [[c.read("client.pem"), c.read("ca.pem")]]);
});

// --- servers that attach -----------------------------------------------------------------------------

const freePort = () => new Promise((ok) => {
  const s = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = s.address();
    s.close(() => ok(port));
  });
});

scenario("servers that attach are asked about, too", async (t) => {
  const port = await freePort();
  const w = await Asked.start(t, (q, s) => (q.connect_opts.user === "bad" ? s.refuse(q, "no") : s.accept(q, { nats: { pub: { deny: ["x"] } } })),
    { extra: `leafnodes { listen: "127.0.0.1:${port}" }\n`, more: "allowed_accounts: [APP]" });
  const attach = (user) => t.server({ config: `leafnodes { remotes: [{ url: "nats://${user}:${user}@127.0.0.1:${port}" }] }\n` });
  await attach("other"); // of the file, in an account that is not listed
  const q = await until("the request", () => service(w, "other"));
  assert.equal(q.client_info.kind, "Leafnode");
  assert.equal(q.client_info.type, undefined);
  assert.equal(q.connect_opts.pass, "other");
  assert.equal(q.connect_opts.protocol >= 1, true);
  const link = await until("the link", async () => (await w.s.page("/leafz")).json.leafs?.[0]);
  assert.equal(link.account, "APP");
  const events = await w.events();
  const bad = await attach("bad");
  await bad.logged(/Leafnode Error 'Authorization Violation'/);
  await w.s.logged(/\[WRN\] Auth callout service returned an error: no/);
  const { reason, client } = await until("the event", () => events[0]);
  assert.deepEqual([reason, ...whoWas(client)], ["Auth callout service returned an error: no", "AUTH", "bad", "Leafnode"]);
  await attach("auth");
  await until("the second link", async () => (await w.s.page("/leafz")).json.leafs?.some((l) => l.account === "AUTH"));
  assert.equal(service(w, "auth"), undefined);
});
// The requests cross the link, and so do the answers.
scenario("the service behind a leaf link", async (t) => {
  const port = await freePort();
  const w = await Asked.start(t, null, { extra: `leafnodes { listen: "127.0.0.1:${port}" }\n` });
  const leaf = await t.server({ config: `leafnodes { remotes: [{ url: "nats://auth:auth@127.0.0.1:${port}" }] }\n` });
  const nc = await t.connect(leaf);
  await w.service.serve(nc, (q) => w.service.accept(q));
  await until("the service's interest on the hub", async () =>
    (await w.s.page("/leafz?subs=1")).json.leafs?.some((l) => l.subscriptions_list?.includes(SUBJECT)));
  for (let i = 0; i < 3; i++) await w.in(ANYBODY);
  assert.equal(w.service.requests.length, 3);
});

const whoWas = (client) => [client.acc, client.user, client.kind];
const service = (w, user) => w.service.requests.find((r) => r.q.connect_opts.user === user)?.q;

// --- configuration -----------------------------------------------------------------------------------

scenario("a reload cannot change the callout", async (t) => {
  const w = await Asked.start(t, good);
  w.s.reload(callout(new Service()) + accounts);
  await w.s.logged(/config reload not supported for AuthCallout: old=&{A\w+ AUTH \[auth\]  \[\]}, new=&{A\w+ AUTH \[auth\]  \[\]}/);
  w.s.reload(accounts);
  await w.s.logged(/config reload not supported for AuthCallout: old=&{A\w+ AUTH \[auth\]  \[\]}, new=<nil>/);
  await w.in(ANYBODY);
});

// nats-server closes them, without -ERR.
scenario("users of the service stay with a reload that changes other users", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, (q, s) => s.accept(q, { claims: { name: "bob" }, nats: { pub: { deny: ["x"] } } }));
  const r = await w.in(ANYBODY);
  w.s.reload(callout(w.service) + accounts.replace("other }]", "other }, { user: more, password: more }]"));
  await w.s.logged(/Reloaded server configuration/);
  r.send("PUB x 0", "", "PING");
  await r.expect(/Permissions Violation for Publish to "x"/);
  assert.deepEqual(pick(await w.conn(r), "authorized_user account"), { authorized_user: "bob", account: "APP" });
  assert.equal(w.service.requests.length, 1);
});

scenario("a reload that removes the account of a user of the service closes it", async (t) => {
  const w = await Asked.start(t, good);
  const r = await w.in(ANYBODY);
  w.s.reload(callout(w.service) + accounts.replace(/^ {2}APP .*$/m, ""));
  await r.closed();
  await w.out(ANYBODY);
  await w.s.logged(/No valid account "APP" for auth callout response on account "AUTH": account missing/);
});

scenario("a reload that removes the callout account refuses those that wait", { only: "mayfly" }, async (t) => {
  const w = await Asked.start(t, () => undefined);
  const r = await w.attempt(ANYBODY);
  await until("the request", () => w.service.requests.length === 1);
  w.s.reload(callout(w.service) + accounts.replace(/^ {2}AUTH .*$/m, ""));
  assert.match(await r.closed(), /Authorization Violation/);
  await w.out(ANYBODY);
});

scenario("an account that is not there cannot be asked", async (t) => {
  const w = await Asked.start(t, null, { account: "NOWHERE" });
  await w.out(ANYBODY);
  await w.s.logged(/\[WRN\] No valid account "NOWHERE" for auth callout request: account missing/);
});
