// auth.mjs: the ways in which a leaf shows the hub that it may attach, and the account to which it is bound.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createAccount, createOperator, createUser } from "../interop/lib/clients.mjs";
import { until } from "../interop/lib/wait.mjs";
import { crosses, leafz, logged, scenario } from "./lib/setup.mjs";

const two = (more = "", inA = "") => `accounts {
  A { jetstream: enabled, users: [ {user: ua, password: pa} ${inA} ] }
  B { jetstream: enabled, users: [ {user: ub, password: pb} ] }
  SYS { users: [ {user: s, password: s} ] }
}
system_account: SYS\n${more}`;
const A = { user: "ua", pass: "pa" };
const B = { user: "ub", pass: "pb" };
const text = (bytes) => new TextDecoder().decode(bytes);

// The link is in `account`, and in no other.
async function bound(t, hub, leaf, account, users = { A, B }, client = {}) {
  const z = await leafz(hub);
  assert.equal(z.leafs[0].account, account);
  const nc = await t.connect(leaf, client);
  await crosses(nc, await t.connect(hub, users[account]));
}

const ways = {
  "one user of the leafnodes block": { hub: `authorization { user: l, password: p, account: B }`, user: "l:p", account: "B" },
  "one of several users, with an account each": { hub: `authorization { users: [ {user: l, password: p, account: A}, {user: m, password: q, account: B} ] }`, user: "m:q", account: "B" },
  "a user of an account": { user: "ua:pa", account: "A" },
};
for (const [what, way] of Object.entries(ways))
  scenario(`${what}: the right account`, { quick: true }, async (t) => {
    const hub = await t.hub({ accounts: two(), leafnodes: way.hub ?? "" });
    const leaf = await t.leaf({ to: hub, user: way.user });
    await bound(t, hub, leaf, way.account);
  });

scenario("an nkey of an account's user", { quick: true }, async (t) => {
  const key = createUser();
  const hub = await t.hub({ accounts: two("", `, {nkey: ${key.getPublicKey()}}`) });
  const leaf = await t.leaf({ to: hub, user: "", remote: `nkey: ${text(key.getSeed())}` });
  await bound(t, hub, leaf, "A");
});

scenario("an nkey of the leafnodes block", { quick: true }, async (t) => {
  const key = createUser();
  const hub = await t.hub({ accounts: two(), leafnodes: `authorization { nkey: ${key.getPublicKey()}, account: B }` });
  const leaf = await t.leaf({ to: hub, user: "", remote: `nkey: ${text(key.getSeed())}` });
  await bound(t, hub, leaf, "B");
});

scenario("a token in the URL", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: `authorization { token: sesame }\n` });
  const leaf = await t.leaf({ to: hub, user: "sesame" });
  await leafz(hub);
  await crosses(await t.connect(leaf), await t.connect(hub, { token: "sesame" }));
});

scenario("nobody has to log in: $G, or the account that the block names", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: "" });
  const leaf = await t.leaf({ to: hub, user: "" });
  await bound(t, hub, leaf, "$G", { $G: {} });
});

scenario("a remote is bound to the local account that it names", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: two() });
  const leaf = await t.leaf({ to: hub, user: "ua:pa", accounts: two(), remote: "account: B" });
  assert.equal((await leafz(leaf)).leafs[0].account, "B");
  await crosses(await t.connect(leaf, B), await t.connect(hub, A));
  assert.match(leaf.log(), /account: B/);
});

scenario("two remotes of one leaf, an account each: two links that do not mix", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: two() });
  const leaf = await t.leaf({ accounts: two(), remotes: [t.remote(hub, { user: "ua:pa", more: "account: A" }), t.remote(hub, { user: "ub:pb", more: "account: B" })] });
  assert.deepEqual((await leafz(hub, 2)).leafs.map((l) => l.account).sort(), ["A", "B"]);
  const [la, lb, ha, hb] = [await t.connect(leaf, A), await t.connect(leaf, B), await t.connect(hub, A), await t.connect(hub, B)];
  await crosses(la, ha);
  await crosses(hb, lb);
  la.subscribe("only.a", { callback: (_, m) => m.respond("A") });
  await crosses(ha, la);
  assert.equal((await ha.request("only.a")).string(), "A");
  await assert.rejects(hb.request("only.a", "", { timeout: 60000 }), /no responders/i);
});

// Operator mode is nats-server's alone: a hub in it, and a leaf that shows a .creds file.
scenario("a creds file, to a hub in operator mode", { hub: "nats" }, async (t) => {
  const b64 = (x) => Buffer.from(x).toString("base64url");
  const jwt = (signer, claims) => {
    const head = b64(JSON.stringify({ typ: "JWT", alg: "ed25519-nkey" }));
    const body = b64(JSON.stringify({ jti: String(Math.random()), iat: Math.floor(Date.now() / 1000), iss: signer.getPublicKey(), ...claims }));
    return `${head}.${body}.${b64(signer.sign(new TextEncoder().encode(`${head}.${body}`)))}`;
  };
  const [op, sys, acc, user] = [createOperator(), createAccount(), createAccount(), createUser()];
  const none = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const account = (key, name) => jwt(op, { name, sub: key.getPublicKey(), nats: { limits: none, type: "account", version: 2 } });
  const operator = jwt(op, { name: "O", sub: op.getPublicKey(), nats: { type: "operator", version: 2, system_account: sys.getPublicKey() } });
  const userJwt = jwt(acc, { name: "u", sub: user.getPublicKey(), nats: { pub: {}, sub: {}, subs: -1, data: -1, payload: -1, type: "user", version: 2 } });
  const creds = `-----BEGIN NATS USER JWT-----\n${userJwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${text(user.getSeed())}\n------END USER NKEY SEED------\n`;
  const accounts = `operator: "${operator}"\nsystem_account: ${sys.getPublicKey()}\nresolver: MEMORY\nresolver_preload { ${acc.getPublicKey()}: "${account(acc, "ACC")}", ${sys.getPublicKey()}: "${account(sys, "SYS")}" }\n`;
  const hub = await t.hub({ accounts, domain: null });
  const leaf = t.prepare({ config: `server_name: LF\nleafnodes { remotes: [ { url: "nats-leaf://127.0.0.1:${hub.leafPort}", credentials: "DIR/user.creds" } ] }\n`, monitor: true, program: t.program("leaf") });
  fs.writeFileSync(leaf.file("user.creds"), creds);
  await leaf.start();
  t.after(() => leaf.stop());
  const z = await leafz(hub);
  assert.equal(z.leafs[0].account, acc.getPublicKey());
  assert.equal(z.leafs[0].name, "LF");
});

scenario("a wrong password: refused, named in both logs, tried again each second", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: two(), leafnodes: "authorization { user: l, password: p, account: A }" });
  const proxy = await t.proxy(hub);
  const leaf = await t.leaf({ to: proxy, user: "l:wrong" });
  await proxy.seen("down", /^-ERR 'Authorization Violation'$/);
  await logged(leaf, /Leafnode Error 'Authorization Violation'/);
  await logged(hub, /authentication error/i);
  await until("a third attempt", () => proxy.links.length >= 3);
  assert.doesNotMatch(hub.log() + leaf.log(), /\bwrong\b/, "no password in a log");
  // It is let in as soon as the hub knows it.  nats-server refuses to reload this block.
  if (!t.is("hub", "mayfly")) return;
  hub.reload(hub.config.replace("password: p, account", "password: wrong, account"));
  await leafz(hub);
  await crosses(await t.connect(leaf), await t.connect(hub, A));
});

scenario("a user of whom only standard connections are allowed is refused", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: two("", `, {user: std, password: p, allowed_connection_types: ["STANDARD"]}, {user: lf, password: p, allowed_connection_types: ["LEAFNODE"]}`) });
  const leaf = await t.leaf({ to: hub, user: "std:p" });
  await logged(leaf, /Leafnode Error 'Authorization Violation'/);
  const second = await t.leaf({ name: "L2", domain: "l2", to: hub, user: "lf:p" });
  assert.equal((await leafz(hub)).leafs[0].name, "L2");
  await crosses(await t.connect(second), await t.connect(hub, A));
});

scenario("an account's max_leafnodes is kept", { quick: true }, async (t) => {
  const hub = await t.hub({ accounts: two().replace("A { ", "A { limits { max_leafnodes: 1 }, ") });
  await t.leaf({ to: hub, user: "ua:pa" });
  await leafz(hub);
  const second = await t.leaf({ name: "L2", domain: "l2", to: hub, user: "ua:pa" });
  await logged(second, /maximum account active connections exceeded/);
  assert.equal((await leafz(hub)).leafs[0].name, "LF");
});

scenario("a hub that asks for a later version than the leaf's: named, tried again after 6 s", {}, async (t) => {
  const hub = await t.hub({ leafnodes: `min_version: "99.0.0"` });
  const proxy = await t.proxy(hub);
  const leaf = await t.leaf({ to: proxy });
  await logged(leaf, /minimum version required is "99.0.0"/);
  await until("a second attempt", () => proxy.links.length >= 2);
  const [a, b] = proxy.links.map((l) => l.down.list[0]?.at).filter(Boolean);
  assert.ok(b === undefined || b - a >= 4500, `${b - a} ms`);
});
