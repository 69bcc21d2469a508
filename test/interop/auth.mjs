// auth.mjs: every kind of credential, right and wrong.
import assert from "node:assert/strict";
import { nkeyAuthenticator, usernamePasswordAuthenticator } from "@nats-io/transport-node";
import { createUser } from "@nats-io/nkeys";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

// "s3cret" and "t0ken"
const BCRYPT_A = "$2a$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG";
const BCRYPT_B = "$2b$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG";
const BCRYPT_Y = "$2y$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG";
const BCRYPT_TOKEN = "$2a$04$bbcdefghijklmnopqrstuur8wv2xXyeEVDShw2uU/JzTy7u5duTRC";

// The connection works both ways.
async function works(nc) {
  const got = collect(nc, "works");
  nc.publish("works", "yes");
  await nc.flush();
  assert.deepEqual(got.texts(), ["yes"]);
}

scenario("token", async (t) => {
  const s = await t.server({ config: 'authorization { token: "t0ken" }' });
  await works(await t.connect(s, { token: "t0ken" }));
  await t.refused(s, { token: "T0ken" });
  await t.refused(s, { token: "t0ken2" });
  await t.refused(s, { user: "t0ken" });
  await t.refused(s, {});
});

scenario("token as bcrypt", async (t) => {
  const s = await t.server({ config: `authorization { token: "${BCRYPT_TOKEN}" }` });
  await works(await t.connect(s, { token: "t0ken" }));
  await t.refused(s, { token: "t0kem" });
  await t.refused(s, { token: BCRYPT_TOKEN });
});

scenario("one user and password", async (t) => {
  const s = await t.server({ config: "authorization { user: derek, password: s3cret }" });
  const nc = await t.connect(s, { user: "derek", pass: "s3cret" });
  assert.equal(nc.info.auth_required, true);
  await works(nc);
  await t.refused(s, { user: "derek", pass: "S3cret" });
  await t.refused(s, { user: "derek", pass: "" });
  await t.refused(s, { user: "bob", pass: "s3cret" });
  await t.refused(s, {});
});

scenario("user and password on the command line", async (t) => {
  const s = await t.server({ args: ["--user", "derek", "--pass", "s3cret"], config: "authorization { timeout: 60 }" });
  await works(await t.connect(s, { user: "derek", pass: "s3cret" }));
  await t.refused(s, {});
});

scenario("token on the command line", async (t) => {
  const s = await t.server({ args: ["--auth", "t0ken"], config: "authorization { timeout: 60 }" });
  await works(await t.connect(s, { token: "t0ken" }));
  await t.refused(s, { token: "x" });
});

scenario("bcrypt passwords, 2a, 2b and 2y", async (t) => {
  const users = [["a", BCRYPT_A], ["b", BCRYPT_B], ["y", BCRYPT_Y]];
  const list = users.map(([u, p]) => `{ user: ${u}, password: "${p}" }`).join(", ");
  const s = await t.server({ config: `authorization { users: [ ${list} ] }` });
  for (const [u, hash] of users) {
    await works(await t.connect(s, { user: u, pass: "s3cret" }));
    await t.refused(s, { user: u, pass: "s3cre" });
    // Whoever stole the file has not got the password.
    await t.refused(s, { user: u, pass: hash });
  }
});

scenario("a list of users, plain and bcrypt", async (t) => {
  const s = await t.server({
    config: `authorization { users = [ {user: alice, password: foo}, {user: bob, password: "${BCRYPT_A}"} ] }`,
  });
  await works(await t.connect(s, { user: "alice", pass: "foo" }));
  await works(await t.connect(s, { authenticator: usernamePasswordAuthenticator("bob", "s3cret") }));
  await t.refused(s, { user: "alice", pass: "s3cret" });
  await t.refused(s, { user: "carol", pass: "foo" });
});

scenario("user and password by hand", async (t) => {
  const s = await t.server({ config: "authorization { user: derek, password: s3cret }" });
  const r = await t.raw(s);
  r.send('CONNECT {"user":"derek","pass":"s3cret","verbose":true}');
  await r.expect(/^\+OK\r\n/);
});

scenario("nkey: the right seed signs the nonce", async (t) => {
  const key = createUser();
  const other = createUser();
  const s = await t.server({ config: `authorization { users: [ { nkey: ${key.getPublicKey()} } ] }` });
  assert.match((await t.raw(s)).info.nonce, /^[A-Za-z0-9_-]{15}$/);
  await works(await t.connect(s, { authenticator: nkeyAuthenticator(key.getSeed()) }));
  await t.refused(s, { authenticator: nkeyAuthenticator(other.getSeed()) });
  await t.refused(s, {});
  await t.refused(s, { user: key.getPublicKey() });
});

scenario("nkey: a signature of something else is refused", async (t) => {
  const key = createUser();
  const s = await t.server({ config: `authorization { users: [ { nkey: ${key.getPublicKey()} } ] }` });
  const sign = (text) => Buffer.from(key.sign(new TextEncoder().encode(text))).toString("base64url");
  const attempt = async (sig) => {
    const r = await t.raw(s);
    r.send(`CONNECT ${JSON.stringify({ nkey: key.getPublicKey(), sig: sig(r.info.nonce), protocol: 1, verbose: false })}`, "PING");
    return r;
  };
  await (await attempt(sign)).expect(/PONG/);
  // Standard base64 is accepted too.
  await (await attempt((n) => Buffer.from(sign(n), "base64url").toString("base64"))).expect(/PONG/);
  for (const bad of [() => sign("yesterday's nonce"), () => "", () => "AAAA", (n) => sign(n).slice(0, 20)])
    assert.match(await (await attempt(bad)).closed(), /-ERR 'Authorization Violation'/);
});

scenario("nonces are never repeated", async (t) => {
  const s = await t.server({ config: `authorization { users: [ { nkey: ${createUser().getPublicKey()} } ] }` });
  const seen = new Set();
  for (let i = 0; i < 30; i++) {
    const r = await t.raw(s);
    seen.add(r.info.nonce);
    r.close();
  }
  assert.equal(seen.size, 30);
});

scenario("nkey and password users side by side", async (t) => {
  const key = createUser();
  const s = await t.server({
    config: `authorization { users: [ { nkey: ${key.getPublicKey()} }, { user: u, password: p } ] }`,
  });
  await works(await t.connect(s, { authenticator: nkeyAuthenticator(key.getSeed()) }));
  await works(await t.connect(s, { user: "u", pass: "p" }));
  await t.refused(s, { user: "u", pass: "q" });
});

scenario("no_auth_user: nobody becomes somebody, wrong credentials stay wrong", async (t) => {
  const s = await t.server({
    config: `accounts { A { users: [ {user: guest, password: g} ] }, B { users: [ {user: b, password: b} ] } }
      no_auth_user: guest`,
  });
  const nc = await t.connect(s);
  await works(nc);
  const info = JSON.parse((await nc.request("$SYS.REQ.USER.INFO", "", { timeout: 60000 })).string());
  assert.equal(info.data.user, "guest");
  assert.equal(info.data.account, "A");
  await works(await t.connect(s, { user: "b", pass: "b" }));
  await t.refused(s, { user: "guest", pass: "wrong" });
  // Not even CONNECT is needed.
  const r = await t.raw(s);
  assert.equal(r.info.auth_required, undefined);
  r.send("SUB x 1", "PUB x 2", "hi");
  await r.expect(/MSG x 1 2\r\nhi\r\n/);
});

scenario("the first verb must be CONNECT when credentials are needed", async (t) => {
  const s = await t.server({ config: 'authorization { token: "t0ken" }' });
  const r = await t.raw(s);
  r.send("SUB > 1");
  assert.match(await r.closed(), /^-ERR 'Authorization Violation'\r\n/);
});

scenario("nobody says CONNECT: authentication timeout", async (t) => {
  const s = await t.server({ config: 'authorization { token: "t0ken", timeout: 0.3 }' });
  const r = await t.raw(s);
  assert.match(await r.closed(), /^-ERR 'Authentication Timeout'\r\n/);
});

scenario("wrong credentials count as such on the connz page", async (t) => {
  const s = await t.server({ config: "authorization { user: u, password: p }", monitor: true });
  await t.refused(s, { user: "u", pass: "x", name: "intruder" });
  const { json } = await until("the closed connection", async () => {
    const p = await s.page("/connz?state=closed");
    return p.json.connections.length && p;
  });
  assert.equal(json.connections[0].reason, "Authentication Failure");
});

scenario("a user may be bound to connection types", async (t) => {
  const s = await t.server({
    config: `authorization { users: [
      { user: tcp, password: p, allowed_connection_types: [STANDARD] },
      { user: web, password: p, allowed_connection_types: ["WEBSOCKET"] } ] }`,
  });
  await works(await t.connect(s, { user: "tcp", pass: "p" }));
  await t.refused(s, { user: "web", pass: "p" });
});

scenario("secrets never reach the log, not even when tracing", async (t) => {
  const key = createUser();
  const s = await t.server({
    config: `debug: true, trace: true
      authorization { users: [ {user: alice, password: "open-sesame"}, { nkey: ${key.getPublicKey()} } ] }`,
  });
  await works(await t.connect(s, { user: "alice", pass: "open-sesame" }));
  await works(await t.connect(s, { authenticator: nkeyAuthenticator(key.getSeed()) }));
  await t.refused(s, { user: "alice", pass: "almost-sesame" });
  await t.refused(s, { token: "token-sesame" });
  await s.logged(/CONNECT/);
  assert.doesNotMatch(s.log(), /sesame/);
});

scenario("CONNECT naming an account is refused", async (t) => {
  const s = await t.server();
  const r = await t.raw(s);
  r.send('CONNECT {"account":"X","verbose":false}', "PING");
  assert.match(await r.closed(), /Authorization Violation/);
});
