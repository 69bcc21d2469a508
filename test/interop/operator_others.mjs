// operator_others.mjs: account JWTs that are elsewhere: at a web server, and at nats-servers of a cluster behind a leaf link.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { freePort } from "../leaf/lib/ports.mjs";
import { Key, Operator, World, now, token } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary, isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const enters = async (w, account) => (await w.in((info) => account.user().login(info))).close();
const refused = (w, account) => w.out((info) => account.user().login(info));

// --- URL ---------------------------------------------------------------------------------------------

// A web server with the JWTs of some accounts: `asked` are the paths that it was asked for.
async function web(t, accounts) {
  const w = { asked: [], jwts: new Map(accounts.map((a) => [a.public, a.jwt()])) };
  const server = http.createServer((req, res) => {
    w.asked.push(req.url);
    const name = req.url.replace("/jwt/", "");
    const jwt = name === "" ? "" : w.jwts.get(name);
    res.writeHead(jwt === undefined ? 404 : 200).end(jwt ?? "no such account");
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  w.url = `http://127.0.0.1:${server.address().port}/jwt/`;
  return w;
}

async function urlWorld(t, config = (url) => `resolver: URL("${url}")`) {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("A"), operator.account("B")];
  const site = await web(t, [operator.system, a]);
  const w = Object.assign(new World(), { t, operator, a, b, site });
  w.s = await t.server({ config: `operator: "${operator.jwt()}"\n${config(site.url)}\nauthorization { timeout: 60 }\n`, monitor: true });
  return w;
}

scenario("URL: asked once with no name at start, then once for each account; 404 refuses", async (t) => {
  const w = await urlWorld(t);
  const asked = (account) => w.site.asked.filter((p) => p === `/jwt/${account.public}`).length;
  assert.equal(w.site.asked[0], "/jwt/");
  assert.ok(asked(w.operator.system) >= 1);
  assert.equal(asked(w.a), 0, "nobody needed it yet");
  for (let i = 0; i < 3; i++) await enters(w, w.a);
  assert.equal(asked(w.a), 1);
  await refused(w, w.b);
  assert.ok(asked(w.b) >= 1);
  w.site.jwts.set(w.b.public, w.b.jwt());
  await enters(w, w.b);
  assert.equal(w.site.asked.filter((p) => p === "/jwt/").length, 1);
});

scenario("URL: what it answers is checked as any other: foreign accounts, other accounts, no JWTs", async (t) => {
  const w = await urlWorld(t);
  const bad = {
    "of a foreign operator": (x) => token({ sub: x.public, nats: { limits: { conn: -1, subs: -1 }, type: "account", version: 2 } }, new Key("O")),
    "of another account": () => w.a.jwt(),
    "not a JWT": () => "hello",
    empty: () => "",
    expired: (x) => x.jwt({ claims: { exp: now() - 10 } }),
  };
  for (const [what, make] of Object.entries(bad)) {
    const x = w.operator.account(what);
    w.site.jwts.set(x.public, make(x));
    await refused(w, x).catch((e) => assert.fail(`${what}: ${e.message}`));
  }
  await enters(w, w.a);
});

scenario("URL: updates change loaded accounts in memory; the other requests find nobody", async (t) => {
  const w = await urlWorld(t);
  const root = await w.system();
  assert.deepEqual((await w.push(w.a)).data, { account: w.a.public, code: 200, message: "jwt update skipped" });
  await enters(w, w.a);
  await w.change(w.a, { limits: { ...w.a.nats.limits, conn: 0 } });
  await w.out((info) => w.a.user().login(info), "maximum account active connections exceeded");
  for (const subject of ["$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.CLAIMS.PACK"])
    await assert.rejects(root.request(subject, w.a.jwt(), { timeout: 10000 }), (e) => /no responders/i.test(`${e.message} ${e.cause?.message}`));
});

scenario("account_server_url of the operator is the resolver where there is no other", async (t) => {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("A");
  const site = await web(t, [operator.system, a]);
  operator.nats.account_server_url = site.url.replace("/jwt/", "/jwt/v1");
  for (const x of [operator.system, a]) site.jwts.set(`v1/accounts/${x.public}`, x.jwt());
  site.jwts.set("v1/accounts/", "");
  const w = Object.assign(new World(), { t, operator });
  w.s = await t.server({ config: `operator: "${operator.jwt()}"\nauthorization { timeout: 60 }\n`, monitor: true });
  assert.ok(site.asked.every((p) => p.startsWith("/jwt/v1/accounts/")), site.asked.join(" "));
  await enters(w, a);
});

// --- nats-servers ------------------------------------------------------------------------------------

const nats = isMayfly ? process.env.NATS_SERVER : binary;

// Two nats-servers in a cluster, N1 with all accounts and N2 with some; and the server under test, a leaf of N1 by the system account.
async function cluster(t, resolver) {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("A"), operator.account("B")];
  const [r1, r2, leaf] = [await freePort(), await freePort(), await freePort()];
  const text = `operator: "${operator.jwt()}"\nauthorization { timeout: 60 }\n`;
  const loaded = `resolver_preload { ${operator.system.public}: "${operator.system.jwt()}" }\n`;
  const member = (name, port, kind, more = "") => t.server({ program: nats, monitor: true,
    config: `server_name: ${name}\n${text}${loaded}resolver: { type: ${kind}, dir: "DIR/jwt" }\ncluster { name: C, listen: "127.0.0.1:${port}", routes: ["nats://127.0.0.1:${r1}", "nats://127.0.0.1:${r2}"] }\n${more}` });
  const [n1, n2] = [await member("N1", r1, "full, allow_delete: true", `leafnodes { listen: "127.0.0.1:${leaf}" }`), await member("N2", r2, "cache")];
  const lone = t.prepare({ monitor: true, config: `server_name: L\n${text}${loaded}resolver: { ${resolver}, dir: "DIR/jwt" }\nleafnodes { remotes: [ { url: "nats-leaf://127.0.0.1:${leaf}", account: ${operator.system.public}, credentials: "DIR/sys.creds" } ] }\n` });
  fs.writeFileSync(lone.file("sys.creds"), operator.system.user("link").creds());
  await lone.start();
  await until("the cluster and the link", async () => (await n2.varz()).routes > 0 && (await lone.varz()).leafnodes === 1 && (await n1.varz()).leafnodes === 1);
  const at = (s) => Object.assign(new World(), { t, operator, s });
  const w = { operator, a, b, n1: at(n1), n2: at(n2), lone: at(lone) };
  const has = (x, account) => fs.existsSync(x.s.file(`jwt/${account.public}.jwt`));
  // N1 stores it; others answer as they are.
  const push = async (account, from = w.n1) => {
    const root = await from.system();
    const answers = [];
    const inbox = `_INBOX.push.${Math.random()}`;
    root.subscribe(inbox, { callback: (_, m) => answers.push(m.json()) });
    await root.flush();
    root.publish("$SYS.REQ.CLAIMS.UPDATE", account.jwt(), { reply: inbox });
    await until("the file", () => has(w.n1, account));
    await until("three answers", () => answers.length === 3);
    return Object.fromEntries(answers.map((x) => [x.server.name, x.data?.message ?? x.error.description]));
  };
  return Object.assign(w, { has, push });
}

scenario("CACHE: beside others that have all, it stores what it needed once", async (t) => {
  if (!nats) return;
  const w = await cluster(t, "type: cache");
  assert.deepEqual(await w.push(w.a), { N1: "jwt updated", N2: "jwt update cache skipped", L: "jwt update cache skipped" });
  assert.ok(!w.has(w.lone, w.a));
  await enters(w.lone, w.a);
  await until("the file", () => w.has(w.lone, w.a));
  const r = await w.lone.raw(w.a.user());
  w.a.nats.default_permissions = { pub: { deny: ["no"] } };
  assert.deepEqual(await w.push(w.a), { N1: "jwt updated", N2: "jwt update cache skipped", L: "jwt updated cache" });
  r.send("PUB no 0", "");
  assert.match(await r.ping(), /Permissions Violation for Publish to "no"/);
  await refused(w.lone, w.b);
});

scenario("FULL: it asks the others, keeps what it heard, and follows their deletions", async (t) => {
  if (!nats) return;
  const w = await cluster(t, 'type: full, allow_delete: true, timeout: "5s"');
  assert.deepEqual(await w.push(w.a), { N1: "jwt updated", N2: "jwt update cache skipped", L: "jwt updated" });
  assert.ok(w.has(w.lone, w.a));
  // N1 alone knows it.
  fs.writeFileSync(w.n1.s.file(`jwt/${w.b.public}.jwt`), w.b.jwt());
  await enters(w.lone, w.b);
  const r = await w.lone.raw(w.a.user());
  const root = await w.n1.system();
  root.publish("$SYS.REQ.CLAIMS.DELETE", token({ nats: { accounts: [w.a.public], type: "generic", version: 2 }, sub: w.operator.key.public }, w.operator.key));
  assert.equal((await r.closed()).replace(/^INFO .*\r\n/gm, ""), "-ERR 'Account Authentication Expired'\r\n");
  await until("the deletion here", () => !w.has(w.lone, w.a));
});
