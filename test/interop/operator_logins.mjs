// operator_logins.mjs: what the log says of logins by JWT, sentinels, pinned accounts, cookies, and links of other servers.
import assert from "node:assert/strict";
import fs from "node:fs";
import { wsconnect } from "@nats-io/transport-node";
import WebSocket from "ws";
import { Key, Operator, World, isMayfly, memory, now } from "./lib/operator.mjs";
import { Raw } from "./lib/raw.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";
import { freePort } from "../leaf/lib/ports.mjs";

async function world(t, { nats, ...options } = {}) {
  const operator = new Operator();
  const [a, b] = [operator.account("Apple", nats), operator.account("Birch")];
  return Object.assign(await World.start(t, operator, [a, b], options), { a, b });
}
const enter = (user, more) => (info) => user.login(info, more);
const quoted = (text) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

// --- the log -----------------------------------------------------------------------------------------

scenario("each refusal has its reason in the log, and its JWT is not there", async (t) => {
  const w = await world(t, { config: "debug: true", nats: { limits: { disallow_bearer: true }, revocations: {} } });
  const { a } = w;
  const revoked = a.user("r", {}, { claims: { iat: now() - 100 } });
  (await w.in(enter(a.user()))).close(); // loads the account
  a.nats.revocations[revoked.public] = now() - 50;
  await w.update(a);
  const cases = [
    [enter(a.user("u", {}, { claims: { exp: now() - 5 } })), "User JWT no longer valid"],
    [enter(new Operator().account("X").user()), "Account JWT lookup error"],
    [enter(a.user("u", {}, { signer: new Key("A") })), "User JWT issuer is not known"],
    [enter(a.user("u", { bearer_token: true })), "Account does not allow bearer tokens"],
    [enter(a.user("u", { allowed_connection_types: ["WEBSOCKET"] })), "Connection type not allowed"],
    [() => ({ jwt: a.user().jwt }), "Signature missing"],
    [() => ({ jwt: a.user().jwt, sig: "%%%" }), "Signature not valid base64"],
    [() => ({ jwt: a.user().jwt, sig: a.key.sign("x").toString("base64url") }), "Signature not verified"],
    [enter(revoked), "User authentication revoked"],
    [enter(a.user("u", { src: ["10.0.0.0/8"] })), "Bad src Ip 127.0.0.1"],
    [enter(a.user("u", { times: [{ start: "00:00:00", end: "00:00:00" }] })), "Outside connect times"],
    [() => ({}), "Authentication requires a user JWT"],
  ];
  for (const [login, text] of cases) {
    await w.out(login);
    await w.s.logged(quoted(text));
  }
  assert.match(w.s.log(), /\[ERR\] [^\n]*Bad src Ip/);
  assert.match(w.s.log(), /\[ERR\] [^\n]*Outside connect times/);
  assert.match(w.s.log(), /\[DBG\] [^\n]*Signature missing/);
  await w.s.logged(/\[ERR\] [^\n]*authentication error/);
  if (isMayfly) assert.doesNotMatch(w.s.log(), /eyJ/);
});

scenario("the log names who is in: key and account; bearers' tokens are nowhere", async (t) => {
  const w = await world(t, { config: "debug: true" });
  const [user, bearer] = [w.a.user("bob"), w.a.user("b", { bearer_token: true })];
  const [one, two] = [await w.in(enter(user)), await w.in(() => ({ jwt: bearer.jwt }))];
  await w.s.logged(quoted(`Authenticated JWT: Client "${user.public}" (claim-name: "bob"`));
  await w.s.logged(quoted(`signed with "${w.a.public}" by Account "${w.a.public}" (claim-name: "Apple"`));
  one.send("PUB no..subject 0", "");
  one.send("BOGUS");
  await one.closed();
  await w.s.logged(quoted(`${w.a.public}/Apple/jwt:${user.public}`));
  two.close();
  if (!isMayfly) return;
  const pages = await Promise.all(["/connz?auth=1", "/connz?auth=1&state=closed", "/varz", "/accountz", `/accountz?acc=${w.a.public}`].map(async (p) => JSON.stringify((await w.s.page(p)).json)));
  assert.doesNotMatch(w.s.log() + pages.join(""), quoted(bearer.jwt.split(".")[2]));
});

scenario("a client that says nothing is closed, one that has not said who it is gets nothing", async (t) => {
  const operator = new Operator();
  const s = await t.server({ config: memory(operator).replace("timeout: 60", "timeout: 0.5") });
  const silent = await t.raw(s);
  assert.equal((await silent.closed()).replace(/^INFO .*\r\n/gm, ""), "-ERR 'Authentication Timeout'\r\n");
  for (const line of ["SUB a 1", "PUB a 0\r\n", "PING"]) {
    const r = await t.raw(s);
    r.send(line);
    assert.match(await r.closed(), /^-ERR 'Authorization Violation'\r\n$/);
  }
});

// nats-server lets bearers in whatever `sub` is.
scenario("a bearer whose sub is no key is refused", { only: "mayfly" }, async (t) => {
  const w = await world(t, { config: "debug: true" });
  const user = w.a.user();
  for (const sub of [undefined, "", "X", user.public + "AA", new Key("N").public])
    await w.out(() => ({ jwt: w.a.user("b", { bearer_token: true }, { claims: { sub } }).jwt }));
  await w.s.logged(/User nkey not valid/);
  (await w.in(enter(user))).close();
});

// --- sentinels and pinned accounts -------------------------------------------------------------------

scenario("the default sentinel is for clients without a JWT that can be read, not for those with a bad one", async (t) => {
  const operator = new Operator();
  const a = operator.account("A");
  const guest = a.user("guest", { bearer_token: true, pub: { allow: ["hello"] } });
  const w = Object.assign(await World.start(t, operator, [a], { config: `default_sentinel: "${guest.jwt}"` }), { a });
  for (const login of [() => ({}), () => ({ jwt: "" }), () => ({ jwt: "eyJx.eyJ9.x" }), () => ({ user: "u", pass: "p" })]) {
    const r = await w.in(login);
    r.send("PUB other 0", "");
    await r.expect(/Permissions Violation for Publish to "other"/);
    r.close();
  }
  await w.out(enter(a.user("u", {}, { claims: { exp: now() - 5 } })));
  await w.out(() => ({ jwt: a.user().jwt }));
});

scenario("pinned accounts: users of others are refused; a reload changes who is pinned", async (t) => {
  const operator = new Operator();
  const [a, b] = [operator.account("A"), operator.account("B")];
  const pinned = (...l) => `resolver_pinned_accounts: [${l.map((x) => x.public).join(", ")}]`;
  const w = await World.start(t, operator, [a, b], { config: `debug: true\n${pinned(a)}` });
  const r = await w.in(enter(a.user()));
  await w.out(enter(b.user()));
  await w.s.logged(quoted(`Account ${b.public} not listed as operator pinned account`));
  assert.equal((await w.s.varz()).pinned_account_fails, 1);
  (await w.in(enter(operator.system.user()))).close();
  if (!isMayfly) return; // nats-server does not take this over
  w.s.reload(w.s.config.replace(pinned(a), pinned(b))); // the JWTs stay as they are
  assert.match(await r.closed(), /-ERR 'Authorization Violation'\r\n$/);
  (await w.in(enter(b.user()))).close();
  await w.out(enter(a.user()));
});

// --- permissions -------------------------------------------------------------------------------------

scenario("a permission that is no subject: a deny entry may not become nothing", async (t) => {
  const w = await world(t, { config: "debug: true" });
  const user = w.a.user("u", { pub: { deny: ["a.>.b"] } });
  if (!isMayfly) return (await w.in(enter(user))).close();
  await w.out(enter(user));
  await w.s.logged(/User JWT has invalid permissions: subject "a\.>\.b" is not a valid subject/);
});

// --- WebSocket ---------------------------------------------------------------------------------------

scenario("jwt_cookie: a bearer's JWT comes with the handshake", async (t) => {
  const w = await world(t, { config: 'websocket { listen: "127.0.0.1:-1", no_tls: true, jwt_cookie: "token" }' });
  const [bearer, signer] = [w.a.user("b", { bearer_token: true, allowed_connection_types: ["websocket"] }), w.a.user("s")];
  const open = (cookie, options = {}) => wsconnect({ servers: w.s.ws, reconnect: false, timeout: LIMIT_MS, ...options,
    wsFactory: async () => ({ socket: new WebSocket(w.s.ws, { headers: { Cookie: `a=b; token=${cookie}; c=d` } }), encrypted: false }) });
  const nc = await open(bearer.jwt);
  assert.equal((await nc.request("$SYS.REQ.USER.INFO", "", { timeout: LIMIT_MS })).json().data.user, bearer.public);
  await nc.close();
  await assert.rejects(open(signer.jwt), /authorization/i); // there is no signature
  const own = await open(bearer.jwt, { authenticator: signer.authenticator });
  assert.equal((await own.request("$SYS.REQ.USER.INFO", "", { timeout: LIMIT_MS })).json().data.user, signer.public);
  await own.close();
  await w.out(() => ({ jwt: bearer.jwt })); // not over TCP
});

// --- links of other servers --------------------------------------------------------------------------

async function hub(t, options = {}) {
  const leafPort = await freePort();
  return Object.assign(await world(t, { ...options, config: `debug: true\nleafnodes { listen: "127.0.0.1:${leafPort}" }` }), { leafPort });
}
async function link(t, w, user) {
  const r = await Raw.open(w.leafPort);
  t.after(() => r.close());
  r.send(`CONNECT ${JSON.stringify({ ...user.login(r.info), server_id: user.public, name: "L", headers: true })}`, "PING");
  await r.expect(/PONG\r\n/);
  return r;
}
const rest = async (r) => (await r.closed()).replace(/^(?:PONG|PING|INFO .*|LS.*)\r\n/gm, "");

scenario("a link ends with its user: expiry to the second, revocation, the account's end", async (t) => {
  const w = await hub(t);
  const at = now() + 2;
  const short = await link(t, w, w.a.user("s", {}, { claims: { exp: at } }));
  assert.equal(await rest(short), "-ERR 'User Authentication Expired'\r\n");
  assert.ok(Date.now() >= at * 1000 - 50 && Date.now() < at * 1000 + 1500, `${Date.now() - at * 1000} ms after`);
  const user = w.a.user();
  const held = await link(t, w, user);
  await w.change(w.a, { revocations: { [user.public]: now() } });
  assert.equal(await rest(held), "-ERR 'User Authentication Revoked'\r\n");
  const last = await link(t, w, w.b.user());
  await w.update(w.b, w.b.jwt({ claims: { exp: now() + 2 } }));
  assert.equal(await rest(last), "-ERR 'Account Authentication Expired'\r\n");
});

scenario("permissions of a link's user bind what crosses", async (t) => {
  const w = await hub(t);
  const r = await link(t, w, w.a.user("l", { pub: { allow: ["in.>"] }, sub: { allow: ["out.>"] } }));
  const nc = await w.connect(w.a.user());
  const got = [];
  nc.subscribe("in.>", { callback: (_, m) => got.push(m.subject) });
  await nc.flush();
  r.send("LMSG in.a 2", "ok");
  await until("the message", () => got.length === 1);
  r.send("LMSG other 2", "no");
  assert.match(await r.closed(), /-ERR 'Permissions Violation for Publish to "other"'/);
});

// A real server at the other end, each with the other's program where there are two.
for (const from of ["mayfly", "nats"])
  scenario(`a ${from} server attaches with credentials, and again with new ones in the same file`, async (t) => {
    const other = isMayfly ? process.env.NATS_SERVER : null;
    const program = (from === "mayfly") === isMayfly ? binary : other;
    if (!program) return;
    const w = await hub(t);
    const s = t.prepare({ program, config: `server_name: leaf\nleafnodes { reconnect: 1, remotes: [ { url: "nats-leaf://127.0.0.1:${w.leafPort}", credentials: "DIR/user.creds" } ] }` });
    const first = w.a.user();
    fs.writeFileSync(s.file("user.creds"), first.creds());
    await s.start();
    const links = async () => (await w.s.varz()).leafnodes;
    await until("the link", async () => (await links()) === 1);
    const [near, far] = [await w.connect(w.a.user()), await t.connect(s)];
    const got = [];
    near.subscribe("over", { callback: (_, m) => got.push(m.string()) });
    await near.flush();
    await until("a message over the link", async () => {
      far.publish("over", "1");
      await far.flush();
      return got.length > 0;
    });
    fs.writeFileSync(s.file("user.creds"), w.a.user("later", {}, { claims: { iat: now() + 10 } }).creds());
    await w.change(w.a, { revocations: { [first.public]: now() } });
    await s.logged(/User Authentication Revoked/);
    await until("the link with the new credentials", async () => (await links()) === 1);
  });

scenario("accounts of remotes are loaded, at the start and for a reload", async (t) => {
  const leafPort = await freePort();
  const operator = new Operator();
  const [a, b] = [operator.account("A"), operator.account("B")];
  await t.server({ config: `leafnodes { listen: "127.0.0.1:${leafPort}" }` });
  const remotes = (...l) => `server_name: spoke\nleafnodes { remotes: [ ${l.map((x) => `{ url: "nats-leaf://127.0.0.1:${leafPort}", account: ${x.public} }`).join(", ")} ] }`;
  const w = await World.start(t, operator, [a, b], { config: remotes(a) });
  const linked = async () => (await w.s.page("/leafz")).json.leafs?.map((l) => l.account).sort();
  await until("the link", async () => (await linked())?.length === 1);
  assert.deepEqual(await linked(), [a.public]);
  if (!isMayfly) return; // both remotes lead to $G there, which Mayfly refuses: one after the other
  w.s.reload(memory(operator, [a, b], remotes(b)));
  await until("the other link", async () => (await linked())?.[0] === b.public);
});
