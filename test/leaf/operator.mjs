// operator.mjs: leaf links in operator mode: a hub that lets servers in by user JWTs, and leaves whose accounts are JWTs.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Operator, STREAMS, directory, limits, memory, now } from "../interop/lib/operator.mjs";
import { collect } from "../interop/lib/scenario.mjs";
import { LIMIT_MS, until } from "../interop/lib/wait.mjs";
import { crosses, jetstreamOf, leafz, linked, logged, scenario } from "./lib/setup.mjs";

const A = { user: "a", pass: "a" };
const nc = (t, server, user) => t.connect(server, { authenticator: user.authenticator });

// A hub in operator mode with account "Hub".  options: of Setup.hub; full: JWTs in a directory.
export async function operatorHub(t, { nats = {}, claims, full = false, cluster = false, ...options } = {}) {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("Hub", { ...nats, limits: { ...STREAMS, ...nats.limits } }, { claims });
  const accounts = (full ? directory : memory)(operator, [a]);
  const nodes = cluster ? await t.cluster({ accounts, ...options }) : [await t.hub({ accounts, domain: null, ...options })];
  const w = { t, operator, a, nodes, s: nodes[0] };
  w.root = await nc(t, nodes.at(-1), operator.system.user("root"));
  w.change = async (nats) => {
    Object.assign(a.nats, nats);
    const answer = (await w.root.request(`$SYS.REQ.ACCOUNT.${a.public}.CLAIMS.UPDATE`, a.jwt(), { timeout: LIMIT_MS })).json();
    assert.equal(answer.data?.code, 200, JSON.stringify(answer));
  };
  return w;
}

// A leaf that shows this .creds text.  The file is leaf.creds.
export async function credsLeaf(t, to, text, { name = "LF", remote = "", domain = null, accounts = "" } = {}) {
  const leaf = t.prepare({ config: `server_name: ${name}\n${domain ? `jetstream { store_dir: "DIR/js", domain: ${domain} }\n` : ""}${accounts}
leafnodes { remotes: [ ${t.remote(to, { user: "", more: `credentials: "DIR/user.creds"\n${remote}` })} ] }\n`,
    monitor: true, program: t.program("leaf") });
  leaf.creds = leaf.file("user.creds");
  if (text !== undefined) fs.writeFileSync(leaf.creds, text);
  await leaf.start();
  t.after(() => leaf.stop());
  return leaf;
}

// --- the hub -----------------------------------------------------------------------------------------

scenario("a hub in operator mode: the link is in the user's account, and messages cross", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const user = w.a.user("link", { tags: ["site:x"] });
  const events = collect(w.root, "$SYS.ACCOUNT.*.CONNECT");
  await w.root.flush();
  const leaf = await credsLeaf(t, w.s, user.creds());
  const z = (await leafz(w.s)).leafs[0];
  assert.deepEqual([z.account, z.name, z.is_spoke], [w.a.public, "LF", false]);
  assert.equal((await leafz(leaf)).leafs[0].account, "$G");
  await linked(await nc(t, w.s, w.a.user("client")), await t.connect(leaf));
  // The hub shows it as a user of the account.
  const expected = { jwt: user.jwt, issuer_key: w.a.public, name_tag: "Hub", tags: ["site:x"] };
  const row = (await w.s.page("/connz?auth=1")).json.connections.find((c) => c.kind === "Leafnode");
  if (row) for (const [k, v] of Object.entries({ authorized_user: user.public, account: w.a.public, ...expected })) assert.deepEqual(row[k], v, k);
  const event = await until("CONNECT", () => events.map((m) => m.json()).find((e) => e.client.kind === "Leafnode"));
  for (const [k, v] of Object.entries({ acc: w.a.public, user: user.public, ...expected })) assert.deepEqual(event.client[k], v, k);
  const stats = (await w.s.page(`/accountz?acc=${w.a.public}`)).json.account_detail;
  assert.equal(stats.leafnode_connections, 1);
});

scenario("a scoped signing key's user: the template limits what crosses", { quick: true }, async (t) => {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("Hub");
  const key = a.signingKey({ pub: { allow: ["up.{{name()}}.>", "_R_.>", "_INBOX.>"] }, sub: { allow: ["down.>", "_INBOX.>"] } });
  const hub = await t.hub({ accounts: memory(operator, [a]), domain: null });
  const leaf = await credsLeaf(t, hub, a.user("bob", {}, { signer: key, scoped: true }).creds());
  await leafz(hub);
  const [h, l] = [await nc(t, hub, a.user("c")), await t.connect(leaf)];
  const [heard, got] = [collect(h, ">"), collect(l, ">")];
  collect(h, "up.bob.x"); // interest of its own: a wide one crosses, too
  l.subscribe("down.x");
  l.subscribe("secret");
  await Promise.all([h.flush(), l.flush()]);
  await until("what is allowed to cross", () => {
    l.publish("up.bob.x", "1");
    l.publish("up.eve.x", "2");
    h.publish("down.x", "3");
    h.publish("secret", "4");
    return heard.some((m) => m.string() === "1") && got.some((m) => m.string() === "3");
  });
  await Promise.all([h.flush(), l.flush()]);
  assert.ok(!heard.some((m) => m.string() === "2"), "out of the leaf");
  assert.ok(!got.some((m) => m.string() === "4"), "into the leaf");
});

scenario("restricted permissions of the user are named in the leaf's log", {}, async (t) => {
  const w = await operatorHub(t);
  const leaf = await credsLeaf(t, w.s, w.a.user("u", { pub: { allow: ["a.>"] } }).creds());
  // nats-server reads the JWT, mayflyd hears it from the hub.
  await logged(leaf, t.is("leaf", "nats") ? /LeafNode Remote for Account \$G uses credentials file ".*" with restricted permissions/ : /permissions of the hub's user apply/);
});

// --- who is refused ----------------------------------------------------------------------------------

const REFUSED = {
  expired: (w) => w.a.user("u", {}, { claims: { exp: now() - 5 } }).creds(),
  "a seed that is not the user's": (w) => w.a.user().creds().replace(/^SU.*$/m, w.a.user().key.seed),
  "of another account's key": (w) => w.a.user("u", {}, { signer: new Operator().account("X").key }).creds(),
  "for clients alone": (w) => w.a.user("u", { allowed_connection_types: ["STANDARD"] }).creds(),
};
for (const [what, make] of Object.entries(REFUSED))
  scenario(`refused, and tried again until the file has another user: ${what}`, { quick: what === "expired" }, async (t) => {
    const w = await operatorHub(t);
    const leaf = await credsLeaf(t, w.s, make(w));
    await logged(leaf, /Leafnode Error 'Authorization Violation'/);
    await logged(leaf, /Leafnode connection closed: /);
    assert.equal((await w.s.page("/leafz")).json.leafnodes, 0);
    fs.writeFileSync(leaf.creds, w.a.user().creds());
    await leafz(w.s); // no reload: the file is read at each attempt
  });

scenario("an nkey alone is refused", {}, async (t) => {
  const w = await operatorHub(t);
  const leaf = await t.leaf({ to: w.s, user: "", domain: null, remote: `nkey: ${w.a.user().key.seed}` });
  await logged(leaf, /Leafnode Error 'Authorization Violation'/);
});

scenario("the account's limit of leaves", {}, async (t) => {
  const w = await operatorHub(t, { nats: { limits: { leaf: 1 } } });
  await credsLeaf(t, w.s, w.a.user().creds());
  await leafz(w.s);
  const second = await credsLeaf(t, w.s, w.a.user().creds(), { name: "LG" });
  await logged(second, /Leafnode Error 'maximum account active connections exceeded'/);
  assert.equal((await w.s.page("/leafz")).json.leafnodes, 1);
  await w.change(limits(w.a, { leaf: 2 }));
  await leafz(w.s, 2);
});

// --- while it is up ----------------------------------------------------------------------------------

scenario("the user expires: the link ends in that second, and the next file brings it back", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const exp = now() + 3;
  const leaf = await credsLeaf(t, w.s, w.a.user("u", {}, { claims: { exp } }).creds());
  await leafz(w.s);
  await logged(leaf, /Leafnode Error 'User Authentication Expired'/);
  assert.ok(now() >= exp);
  fs.writeFileSync(leaf.creds, w.a.user().creds());
  await leafz(w.s);
});

scenario("the user is revoked: told so, and refused until the file has another one", {}, async (t) => {
  const w = await operatorHub(t);
  const user = w.a.user();
  const gone = collect(w.root, "$SYS.ACCOUNT.*.DISCONNECT");
  const leaf = await credsLeaf(t, w.s, user.creds());
  await leafz(w.s);
  await w.change({ revocations: { [user.public]: now() + 1 } });
  await logged(leaf, /Leafnode Error 'User Authentication Revoked'/);
  const event = await until("DISCONNECT", () => gone.map((m) => m.json()).find((e) => e.client.kind === "Leafnode"));
  assert.deepEqual([event.reason, event.client.user], ["Credentials Revoked", user.public]);
  await logged(leaf, /Leafnode Error 'Authorization Violation'/);
  fs.writeFileSync(leaf.creds, w.a.user().creds());
  await leafz(w.s);
});

scenario("the hub's account expires and is renewed", {}, async (t) => {
  const w = await operatorHub(t, { claims: { exp: now() + 4 } });
  const leaf = await credsLeaf(t, w.s, w.a.user().creds());
  await leafz(w.s);
  await logged(leaf, /Leafnode Error 'Account Authentication Expired'/);
  w.a.claims = {};
  await w.change({});
  await leafz(w.s);
  await crosses(await nc(t, w.s, w.a.user("c")), await t.connect(leaf));
});

// --- the leaf in operator mode -----------------------------------------------------------------------

// A leaf whose account "Leaf" is a JWT.
const leafAccount = () => {
  const operator = new Operator({ name: "LEAVES", signingKey: true });
  return { operator, a: operator.account("Leaf", { limits: STREAMS }) };
};

scenario("a leaf in operator mode: its remote names an account by its key", { quick: true }, async (t) => {
  const hub = await t.hub({ domain: null });
  const l = leafAccount();
  const leaf = await t.leaf({ to: hub, domain: null, accounts: memory(l.operator, [l.a]), remote: `account: ${l.a.public}` });
  assert.equal((await leafz(leaf)).leafs[0].account, l.a.public);
  assert.equal((await leafz(hub)).leafs[0].account, "ACC");
  await linked(await nc(t, leaf, l.a.user()), await t.connect(hub, A));
});

scenario("both in operator mode, of different operators", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const l = leafAccount();
  const leaf = await credsLeaf(t, w.s, w.a.user().creds(), { accounts: directory(l.operator, [l.a]), remote: `account: ${l.a.public}` });
  await leafz(w.s);
  await linked(await nc(t, leaf, l.a.user()), await nc(t, w.s, w.a.user()));
});

scenario("a remote without an account, or with one that is no key, does not start", {}, async (t) => {
  const l = leafAccount();
  for (const more of ["", "account: Leaf"]) {
    const s = t.prepare({ config: `${memory(l.operator, [l.a])}leafnodes { remotes: [ ${t.remote({ port: 9 }, { more })} ] }\n`, program: t.program("leaf") });
    await assert.rejects(s.start(), /operator mode requires account nkeys in remotes/);
  }
});

scenario("the leaf's account is not known yet: the link comes with its JWT", { quick: true }, async (t) => {
  const hub = await t.hub({ domain: null });
  const l = leafAccount();
  const leaf = await t.leaf({ to: hub, domain: null, accounts: directory(l.operator, [], "", 'timeout: "100ms"'), remote: `account: ${l.a.public}` });
  await logged(leaf, /Unable to lookup account A\w+ for solicited leafnode connection: /);
  assert.equal((await hub.page("/leafz")).json.leafnodes, 0);
  const root = await nc(t, leaf, l.operator.system.user());
  await root.request("$SYS.REQ.CLAIMS.UPDATE", l.a.jwt(), { timeout: LIMIT_MS });
  await leafz(hub);
  await linked(await nc(t, leaf, l.a.user()), await t.connect(hub, A));
});

// nats-server dials again with an expired account.
scenario("the leaf's account expires: the link ends until it is renewed", { leaf: "mayfly" }, async (t) => {
  const hub = await t.hub({ domain: null });
  const l = leafAccount();
  l.a.claims = { exp: now() + 3 };
  const leaf = await t.leaf({ to: hub, domain: null, accounts: memory(l.operator, [l.a]), remote: `account: ${l.a.public}` });
  await leafz(hub);
  await logged(leaf, /Leafnode connection closed: Authentication Expired/);
  await logged(leaf, /Unable to lookup account A\w+ for solicited leafnode connection: account expired/);
  assert.equal((await hub.page("/leafz")).json.leafnodes, 0);
  l.a.claims = {};
  const root = await nc(t, leaf, l.operator.system.user());
  await root.request(`$SYS.REQ.ACCOUNT.${l.a.public}.CLAIMS.UPDATE`, l.a.jwt(), { timeout: LIMIT_MS });
  await leafz(hub);
});

scenario("a reload takes the leaf's account away, and another brings it back", { leaf: "mayfly" }, async (t) => {
  const hub = await t.hub({ domain: null });
  const l = leafAccount();
  const config = (accounts) => `server_name: LF\n${memory(l.operator, accounts)}leafnodes { remotes: [ ${t.remote(hub, { more: `account: ${l.a.public}` })} ] }\n`;
  const leaf = await t.server({ config: config([l.a]), monitor: true, program: t.program("leaf") });
  await leafz(hub);
  leaf.reload(config([]));
  await until("no link", async () => (await hub.page("/leafz")).json.leafnodes === 0);
  await logged(leaf, /Unable to lookup account A\w+ for solicited leafnode connection: account missing/);
  leaf.reload(config([l.a]));
  await leafz(hub);
  await linked(await nc(t, leaf, l.a.user()), await t.connect(hub, A));
});

// --- JetStream and clusters --------------------------------------------------------------------------

scenario("JetStream of a hub in operator mode, by its domain, from a leaf in operator mode", { quick: true }, async (t) => {
  const w = await operatorHub(t, { domain: "hub" });
  const l = leafAccount();
  const leaf = await credsLeaf(t, w.s, w.a.user().creds(), { domain: "lf", accounts: memory(l.operator, [l.a]), remote: `account: ${l.a.public}` });
  await leafz(w.s);
  const c = await nc(t, leaf, l.a.user());
  await linked(c, await nc(t, w.s, w.a.user()));
  const far = await jetstreamOf(c, "hub");
  await far.jsm.streams.add({ name: "S", subjects: ["s.>"] });
  assert.equal((await far.js.publish("s.x", "1")).seq, 1);
  const near = await jetstreamOf(c);
  await near.jsm.streams.add({ name: "M", mirror: { name: "S", external: { api: "$JS.hub.API", deliver: "" } } });
  await until("the mirror", async () => (await near.jsm.streams.info("M")).state.messages === 1);
});

scenario("a cluster of three in operator mode, by .creds", { cluster: true, quick: true }, async (t) => {
  const w = await operatorHub(t, { cluster: true, full: true, domain: "hub" });
  const l = leafAccount();
  const leaf = await credsLeaf(t, w.nodes, w.a.user().creds(), { domain: "lf", accounts: memory(l.operator, [l.a]), remote: `account: ${l.a.public}` });
  const c = await nc(t, leaf, l.a.user());
  for (const node of w.nodes) await linked(c, await nc(t, node, w.a.user()));
  const far = await jetstreamOf(c, "hub");
  await until("a stream of three", () => far.jsm.streams.add({ name: "S", subjects: ["s.>"], num_replicas: 3 }).then(() => true, () => false));
  const near = await jetstreamOf(c);
  await near.jsm.streams.add({ name: "M", mirror: { name: "S", external: { api: "$JS.hub.API", deliver: "" } } });
  for (let i = 0; i < 20; i++) await far.js.publish("s.x", `${i}`);
  await until("the mirror", async () => (await near.jsm.streams.info("M")).state.messages === 20);
  // A revocation that one node is told of ends the link, wherever it is.
  const user = w.a.user();
  await w.change({ revocations: { "*": now() } });
  await logged(leaf, /Leafnode Error 'User Authentication Revoked'/);
  fs.writeFileSync(leaf.creds, w.a.user("u", {}, { claims: { iat: now() + 2 } }).creds());
  await linked(c, await nc(t, w.nodes[0], w.a.user("v", {}, { claims: { iat: now() + 2 } })));
  assert.ok(user);
});
