// operator_resolvers.mjs: account JWTs in memory and in a directory that has them all: files, requests about them, restarts.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { Key, Operator, World, isMayfly, memory, now, preload, token } from "./lib/operator.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

// An operator, its accounts A and B, and a server with a resolver: full has options of a directory, undefined is memory.
async function world(t, full, { accounts = 2, ...options } = {}) {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("Apple"), operator.account("Birch")];
  const w = await World.start(t, operator, [a, b].slice(0, accounts), { full, ...options });
  const root = await w.system();
  const request = async (subject, body = "", more) => (await root.request(subject, body, more)).json();
  return Object.assign(w, { a, b, root, request });
}
const silent = async (nc, subject, body = "") =>
  assert.rejects(nc.request(subject, body, { timeout: 10000 }), (e) => /no responders/i.test(`${e.message} ${e.cause?.message}`), subject);
const updated = (account) => ({ account: account.public, code: 200, message: "jwt updated" });
const failed = (account, description) => ({ account, code: 500, description });
const refusedUser = (w, account) => w.out((info) => account.user().login(info));
const enters = async (w, account) => (await w.in((info) => account.user().login(info))).close();
const reload = async (w, config) => {
  const { config_load_time: before } = await w.s.varz();
  w.s.reload(config);
  await until("the reload", async () => (await w.s.varz()).config_load_time !== before);
};

// --- memory ------------------------------------------------------------------------------------------

scenario("MEM: an update changes loaded accounts, in memory only", async (t) => {
  const w = await world(t);
  for (const subject of ["$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.CLAIMS.DELETE", "$SYS.REQ.CLAIMS.PACK", `$SYS.REQ.ACCOUNT.${w.a.public}.CLAIMS.LOOKUP`])
    await silent(w.root, subject, w.a.jwt());
  assert.deepEqual((await w.push(w.a)).data, { account: w.a.public, code: 200, message: "jwt update skipped" }, "nobody used it yet");
  await enters(w, w.a);
  for (const subject of [`$SYS.REQ.ACCOUNT.${w.a.public}.CLAIMS.UPDATE`, `$SYS.ACCOUNT.${w.a.public}.CLAIMS.UPDATE`])
    assert.deepEqual((await w.request(subject, w.a.jwt())).data, updated(w.a));
  const fail = async (body, description, account = w.a.public) => assert.deepEqual((await w.push(w.a, body)).error, failed(account, description));
  await fail("", "jwt update error - request body is empty");
  await fail(w.b.jwt(), "jwt update resulted in error - subject does not match jwt content");
  const foreign = (await w.push(w.a, w.a.jwt({ signer: new Key("O") }))).error;
  assert.match(foreign.description, /^jwt update resulted in error - account validation failed/);
  await w.change(w.a, { limits: { ...w.a.nats.limits, conn: 0 } });
  await w.out((info) => w.a.user().login(info), "maximum account active connections exceeded");
  await w.s.restart();
  await enters(w, w.a);
});

scenario("MEM: a reload takes over the new preload, and removes accounts that are not in it", async (t) => {
  const w = await world(t);
  const [one, two] = [await w.raw(w.a.user()), await w.raw(w.b.user())];
  w.a.nats.default_permissions = { pub: { deny: ["no"] } };
  await reload(w, memory(w.operator, [w.a]));
  assert.equal((await two.closed()).replace(/^INFO .*\r\n/gm, ""), "-ERR 'Authorization Violation'\r\n");
  await refusedUser(w, w.b);
  one.send("PUB no 0", "");
  assert.match(await one.ping(), /Permissions Violation for Publish to "no"/);
  await reload(w, memory(w.operator, [w.a, w.b]));
  await enters(w, w.b);
});

// --- FULL --------------------------------------------------------------------------------------------

const file = (w, account, end = ".jwt") => w.s.file(`jwt/${account.public}${end}`);
const mode = (path) => (fs.statSync(path).mode & 0o777).toString(8);

scenario("FULL: a file for each account, its bytes, its mode and the folder's", async (t) => {
  const w = await world(t, "");
  await w.s.logged(/Managing all jwt in exclusive directory/);
  assert.equal(mode(w.s.file("jwt")), "700");
  assert.deepEqual(fs.readdirSync(w.s.file("jwt")).toSorted(), [w.a, w.b, w.operator.system].map((x) => `${x.public}.jwt`).toSorted());
  const c = w.operator.account("C");
  const jwt = c.jwt();
  assert.deepEqual((await w.push(c, jwt)).data, updated(c));
  assert.equal(fs.readFileSync(file(w, c), "utf8"), jwt);
  assert.equal(mode(file(w, c)), "600");
  await enters(w, c);
  // Nothing but JWTs is left behind.
  assert.equal(fs.readdirSync(w.s.file("jwt")).length, 4);
});

scenario("FULL: three subjects store, the last one wins, and a restart keeps it", async (t) => {
  const w = await world(t, "");
  const c = w.operator.account("C");
  const subjects = ["$SYS.REQ.CLAIMS.UPDATE", `$SYS.REQ.ACCOUNT.${c.public}.CLAIMS.UPDATE`, `$SYS.ACCOUNT.${c.public}.CLAIMS.UPDATE`];
  for (const subject of subjects) {
    const jwt = c.jwt();
    assert.deepEqual((await w.request(subject, jwt)).data, updated(c));
    assert.equal(fs.readFileSync(file(w, c), "utf8"), jwt, subject);
  }
  const headed = headers();
  headed.set("a", "b");
  assert.deepEqual((await w.request(subjects[0], c.jwt(), { headers: headed })).data, updated(c));
  // An older token overwrites a newer one: who sends it decides.
  const old = c.jwt({ claims: { iat: now() - 1000 } });
  assert.deepEqual((await w.request(subjects[0], old)).data, updated(c));
  assert.deepEqual((await w.request(subjects[0], old)).data, updated(c), "the same again");
  const lookup = async () => (await (await w.system()).request(`$SYS.REQ.ACCOUNT.${c.public}.CLAIMS.LOOKUP`)).string();
  assert.equal(await lookup(), old);
  w.root = undefined;
  await w.s.restart();
  assert.equal(await lookup(), old);
  await enters(w, c);
});

scenario("FULL: requests that want no answer are served; those that are nothing else are not missed", async (t) => {
  const w = await world(t, "allow_delete: true");
  const c = w.operator.account("C");
  for (const subject of ["$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.CLAIMS.PACK", `$SYS.REQ.ACCOUNT.${c.public}.CLAIMS.LOOKUP`]) w.root.publish(subject);
  w.root.publish("$SYS.REQ.CLAIMS.UPDATE", c.jwt());
  await until("the file", () => fs.existsSync(file(w, c)));
  w.root.publish("$SYS.REQ.CLAIMS.DELETE", removal(w.operator.key, [c.public]));
  await until("its end", () => !fs.existsSync(file(w, c)));
  await enters(w, w.a);
});

scenario("FULL: list, look-up and pack", async (t) => {
  const w = await world(t, "");
  const all = [w.a, w.b, w.operator.system];
  const expired = w.operator.account("E", {}, { claims: { exp: now() - 10 } });
  assert.deepEqual((await w.push(expired)).data, updated(expired));
  const list = await w.request("$SYS.REQ.CLAIMS.LIST");
  assert.deepEqual(list.data.toSorted(), all.map((x) => x.public).toSorted());
  assert.match(list.server.id, /^N[A-Z2-7]{55}$/);
  const lookup = async (key) => (await w.root.request(`$SYS.REQ.ACCOUNT.${key}.CLAIMS.LOOKUP`)).string();
  assert.equal(await lookup(w.a.public), fs.readFileSync(file(w, w.a), "utf8"));
  assert.equal(await lookup(new Key("A").public), "");
  const packed = async (body) => {
    const inbox = `_INBOX.pack.${Math.random()}`;
    const got = collect(w.root, inbox);
    w.root.publish("$SYS.REQ.CLAIMS.PACK", body, { reply: inbox });
    await until("the last line", () => got.at(-1)?.data.length === 0);
    got.sub.unsubscribe();
    return got.texts().slice(0, -1);
  };
  const lines = all.map((x) => `${x.public}|${fs.readFileSync(file(w, x), "utf8")}`);
  assert.deepEqual((await packed("")).filter((l) => !l.startsWith(expired.public)).toSorted(), lines.toSorted());
  assert.ok((await packed(Buffer.alloc(32, 7))).length >= 3);
});

scenario("FULL: these requests are the system account's", async (t) => {
  const w = await world(t, "allow_delete: true");
  const nc = await w.connect(w.a.user());
  for (const subject of ["$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.CLAIMS.DELETE", "$SYS.REQ.CLAIMS.PACK", `$SYS.REQ.ACCOUNT.${w.a.public}.CLAIMS.UPDATE`, `$SYS.REQ.ACCOUNT.${w.a.public}.CLAIMS.LOOKUP`])
    await silent(nc, subject, w.a.jwt());
});

scenario("FULL: what is no good account JWT is not stored, and the reason", async (t) => {
  const w = await world(t, "");
  const before = fs.readdirSync(w.s.file("jwt")).length;
  const push = async (body, subject = "$SYS.REQ.CLAIMS.UPDATE") => (await w.request(subject, body)).error;
  const what = "jwt update resulted in error";
  assert.deepEqual(await push(""), failed("n/a", `${what} - expected 3 chunks`));
  assert.deepEqual(await push("a.b"), failed("n/a", `${what} - expected 3 chunks`));
  assert.deepEqual(await push(w.a.user().jwt), failed("n/a", `${what} - not account claim`));
  const good = w.a.jwt();
  assert.deepEqual(await push(`${good.slice(0, -4)}AAAA`), failed("n/a", `${what} - claim failed V2 signature verification`));
  assert.deepEqual(await push(good, `$SYS.REQ.ACCOUNT.${w.b.public}.CLAIMS.UPDATE`), failed(w.b.public, `${what} - subject does not match jwt content`));
  const doubled = await push(w.a.jwt({ nats: { exports: [{ subject: "a", type: "stream" }, { subject: "a", type: "stream" }] } }));
  assert.equal(doubled.account, w.a.public);
  assert.match(doubled.description, /^jwt validation failed - .*stream export subject "a" already exports "a"/);
  assert.equal(fs.readdirSync(w.s.file("jwt")).length, before);
  await enters(w, w.a);
});

scenario("FULL: expired accounts are stored and refused at use; foreign ones are refused", async (t) => {
  const w = await world(t, "");
  const expired = w.operator.account("E", {}, { claims: { exp: now() - 10 } });
  assert.deepEqual((await w.push(expired)).data, updated(expired));
  await refusedUser(w, expired);
  const foreign = new Operator().account("F");
  const own = w.operator.account("S");
  own.signer = own.key;
  for (const x of [foreign, own]) {
    const answer = await w.push(x);
    // nats-server stores what decodes, and looks at the signer when the account is used.
    if (isMayfly) assert.match(answer.error.description, /^jwt update resulted in error - account validation failed: [OA][A-Z2-7]{55} is not a trusted operator key$/);
    else assert.deepEqual(answer.data, updated(x));
    await refusedUser(w, x);
  }
});

scenario("FULL: an operator with strict keys wants accounts of its signing keys", async (t) => {
  const operator = new Operator({ signingKey: true, nats: { strict_signing_key_usage: true } });
  const key = operator.system.signingKey();
  const w = await World.start(t, operator, [], { full: "" });
  w.root = await w.connect(operator.system.user("root", {}, { signer: key }));
  const [good, bad] = [operator.account("G"), operator.account("B", {}, { signer: operator.key })];
  assert.deepEqual((await w.push(good)).data, updated(good));
  assert.deepEqual((await w.push(bad)).error, failed(bad.public, "jwt update resulted in error - operator requires issuer to be a signing key"));
});

scenario("FULL: no more accounts than `limit`", async (t) => {
  const w = await world(t, "limit: 4");
  const [c, d] = [w.operator.account("C"), w.operator.account("D")];
  assert.deepEqual((await w.push(c)).data, updated(c));
  assert.deepEqual((await w.push(d)).error, failed(d.public, "jwt update resulted in error - jwt store is full"));
  assert.deepEqual((await w.push(c)).data, updated(c), "a known one");
});

// --- deletion ----------------------------------------------------------------------------------------

// The request that deletes these accounts.
const removal = (signer, accounts, sub = signer.public) => token({ name: "x", sub, nats: { accounts, type: "generic", version: 2 } }, signer);

scenario("FULL: deletion ends clients and renames files; a new JWT brings the account back", async (t) => {
  const w = await world(t, "allow_delete: true");
  const r = await w.raw(w.a.user());
  const absent = new Key("A").public;
  const answer = await w.request("$SYS.REQ.CLAIMS.DELETE", removal(w.operator.key, [w.a.public, absent]));
  assert.equal(answer.data.message, "deleted 2 accounts");
  assert.equal(answer.data.code, 200);
  await w.ends(r, "Account Authentication Expired", "Authentication Expired");
  assert.deepEqual([fs.existsSync(file(w, w.a)), fs.existsSync(file(w, w.a, ".jwt.deleted"))], [false, true]);
  await refusedUser(w, w.a);
  assert.deepEqual((await w.push(w.a)).data, updated(w.a));
  await enters(w, w.a);
  assert.deepEqual([fs.existsSync(file(w, w.a)), fs.existsSync(file(w, w.a, ".jwt.deleted"))], [true, true]);
  assert.equal((await w.request("$SYS.REQ.CLAIMS.DELETE", removal(w.operator.signing, [w.b.public]))).data.message, "deleted 1 accounts");
});

scenario("FULL: hard_delete leaves no file", async (t) => {
  const w = await world(t, "allow_delete: true, hard_delete: true, timeout: \"200ms\"");
  await w.request("$SYS.REQ.CLAIMS.DELETE", removal(w.operator.key, [w.a.public]));
  assert.ok(!fs.readdirSync(w.s.file("jwt")).some((f) => f.startsWith(w.a.public)));
  await refusedUser(w, w.a);
});

scenario("FULL: deletions that are refused, and why", async (t) => {
  const w = await world(t, "allow_delete: true");
  const { key, system } = w.operator;
  const why = async (body) => (await w.request("$SYS.REQ.CLAIMS.DELETE", body)).error.description;
  const stranger = new Key("O");
  const text = (sub, reason) => `delete accounts request by ${sub} failed - ${reason}`;
  assert.equal(await why("x"), text("", "expected 3 chunks"));
  assert.equal(await why(removal(key, [w.a.public], stranger.public)), text(stranger.public, "not self signed"));
  assert.equal(await why(removal(stranger, [w.a.public])), text(stranger.public, "not trusted"));
  for (const list of [undefined, ["FOO"], [w.a.public, new Key("U").public]]) assert.equal(await why(removal(key, list)), text(key.public, "malformed request"));
  assert.equal(await why(removal(key, [system.public])), text(key.public, "not allowed to delete system account"));
  await enters(w, w.a);
  const shut = await world(t, "");
  const { error } = await shut.request("$SYS.REQ.CLAIMS.DELETE", removal(shut.operator.key, [shut.a.public]));
  assert.equal(error.description, text(shut.operator.key.public, "delete must be enabled in server config"));
});

// --- what is not there yet ---------------------------------------------------------------------------

scenario("FULL: files that somebody puts there are found at their first use", async (t) => {
  const w = await world(t, 'timeout: "200ms"');
  const c = w.operator.account("C");
  await refusedUser(w, c);
  fs.writeFileSync(file(w, c), c.jwt());
  await enters(w, c);
  fs.writeFileSync(file(w, w.b), `${w.b.jwt().slice(0, -4)}AAAA`);
  await refusedUser(w, w.b);
});

scenario("FULL: a system account that is not there yet is a stand-in until its JWT comes", async (t) => {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("A");
  const w = Object.assign(new World(), { t, operator });
  w.s = await t.server({ config: `operator: "${operator.jwt()}"\nresolver: { type: full, dir: "DIR/jwt", timeout: "300ms" }\nauthorization { timeout: 60 }\n`, monitor: true });
  await w.s.logged(/Using bootstrapping system account/);
  // Only its own key signs its users.
  const { system } = operator;
  const key = system.signingKey();
  await w.out((info) => system.user("s", {}, { signer: key }).login(info));
  const root = await w.system();
  await w.update(a);
  await enters(w, a);
  await w.update(system);
  await w.s.logged(/System account fetched and updated/);
  await (await w.in((info) => system.user("s", {}, { signer: key }).login(info))).close();
  assert.equal(root.isClosed(), false);
  assert.deepEqual(JSON.parse((await root.request("$SYS.REQ.CLAIMS.LIST")).string()).data.toSorted(), [a.public, system.public].toSorted());
});

scenario("FULL: an account that nobody knows is refused; a lone nats-server waits first", async (t) => {
  const w = await world(t, 'timeout: "600ms"');
  const stranger = w.operator.account("X");
  const from = Date.now();
  await refusedUser(w, stranger);
  const ms = Date.now() - from;
  // Mayfly sees that there is nobody to ask.
  if (!isMayfly) assert.ok(ms >= 600, `${ms} ms`);
  await w.update(stranger);
  await enters(w, stranger);
});

scenario("FULL: a preload goes into the directory unless the file there is newer", async (t) => {
  const operator = new Operator();
  const a = operator.account("A", { limits: { conn: 5 } });
  const s = t.prepare({ config: `operator: "${operator.jwt()}"\nresolver: { type: full, dir: "DIR/jwt" }\n${preload(operator.system, a)}authorization { timeout: 60 }\n` });
  fs.mkdirSync(s.file("jwt"), { mode: 0o700 });
  const newer = a.jwt({ claims: { iat: now() + 100 } });
  fs.writeFileSync(s.file(`jwt/${a.public}.jwt`), newer);
  await s.start();
  assert.equal(fs.readFileSync(s.file(`jwt/${a.public}.jwt`), "utf8"), newer);
  await s.stop();
  const older = a.jwt({ claims: { iat: now() - 100 } });
  fs.writeFileSync(s.file(`jwt/${a.public}.jwt`), older);
  await s.start();
  assert.notEqual(fs.readFileSync(s.file(`jwt/${a.public}.jwt`), "utf8"), older);
});
