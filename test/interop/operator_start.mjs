// operator_start.mjs: configurations in operator mode that a server does not start with, and what it says then; and those that it does.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Key, Operator, UNLIMITED, World, memory, now, preload, token } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly, runBinary } from "./lib/server.mjs";

// Starts a server that must not start, and returns what it said.  files: name -> text, in its folder.
async function refusal(t, config, files = {}) {
  const s = t.prepare({ config });
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(s.file(name), text);
  let said;
  await s.start().then(() => assert.fail(`it starts:\n${config.slice(0, 300)}\n${s.log()}`), (e) => (said = e.message));
  return said;
}
const quoted = (text) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

const operator = () => new Operator({ signingKey: true });
const system = (o) => preload(o.system);
const mem = (o, more = "") => `operator: "${o.jwt()}"\nresolver: MEM\n${system(o)}${more}\n`;
const full = (o, more = "", options = "") => `operator: "${o.jwt()}"\nresolver: { type: full, dir: "DIR/jwt"${options} }\n${more}\n`;
const sentinel = (o, nats) => o.account("S").user("guest", nats);

// name -> [configuration of an operator, its text]
const REFUSED = {
  "MEM without the system account": [(o) => `operator: "${o.jwt()}"\nresolver: MEM\n`, "error resolving system account: account missing"],
  "FULL without a system account": [(o) => full({ jwt: () => o.jwt({ nats: { system_account: undefined } }) }), "using nats based account resolver - the system account needs to be specified in configuration or the operator jwt"],
  "CACHE without a system account": [(o) => full({ jwt: () => o.jwt({ nats: { system_account: undefined } }) }).replace("full", "cache"), "using nats based account resolver - the system account needs to be specified in configuration or the operator jwt"],
  "accounts beside operators": [(o) => mem(o, "accounts { A { users: [ {user: a, password: b} ] } }"), "operators do not allow Accounts to be configured directly"],
  "users beside operators": [(o) => mem(o, "authorization { users: [ {user: a, password: b} ] }"), "operators do not allow users to be configured directly"],
  "trusted_keys beside operators": [(o) => mem(o, `trusted_keys: [${new Key("O").public}]`), "conflicting options for 'TrustedKeys' and 'TrustedOperators'"],
  "two system accounts": [(o) => mem(o, `system_account: ${new Key("A").public}`), "system_account in config and operator JWT must be identical"],
  "a callout in the file": [(o) => mem(o, `authorization { auth_callout { issuer: ${new Key("A").public}, auth_users: [x] } }`), "operators do not allow authorization callouts to be configured directly"],
  no_auth_user: [(o) => mem(o, "no_auth_user: x"), "no_auth_user not compatible with Trusted Operator"],
  "a sentinel that is no JWT": [(o) => mem(o, "default_sentinel: eyJx"), "default sentinel JWT not valid"],
  "a sentinel that is no bearer": [(o) => mem(o, `default_sentinel: "${sentinel(o).jwt}"`), "default sentinel must be a bearer token"],
  "a sentinel without operators": [(o) => `default_sentinel: "${sentinel(o, { bearer_token: true }).jwt}"\n`, "default sentinel requires operators and accounts"],
  "a preload for URL": [(o) => `operator: "${o.jwt()}"\nresolver: URL("http://127.0.0.1:9/")\n${system(o)}`, "resolver preloads only available for writeable resolver types MEM/DIR/CACHE_DIR"],
  "URL that nobody serves": [(o) => `operator: "${o.jwt()}"\nresolver: URL("http://127.0.0.1:9/jwt/")\n`, `could not fetch <"http://127.0.0.1:9/jwt/">: ${isMayfly ? "" : 'Get "http://127.0.0.1:9/jwt/": '}dial tcp 127.0.0.1:9: connect: ${isMayfly ? "C" : "c"}onnection refused`],
  "no resolver": [(o) => `operator: "${o.jwt()}"\n`, isMayfly ? "operators require an account resolver to be configured" : 'could not fetch <"/accounts/">: Get "/accounts/": unsupported protocol scheme ""'],
  "a word that is no resolver": [(o) => `operator: "${o.jwt()}"\nresolver: PAPER\n`, 'error parsing account resolver, should be MEM or  URL("url") or a map containing dir and type state=[FULL|CACHE])'],
  "no directory": [(o) => `operator: "${o.jwt()}"\nresolver: { type: full }\n`, "dir has no value and needs to point to a directory"],
  "CACHE with interval": [(o) => full(o, "", ', interval: "1m"').replace("full", "cache"), "CACHE does not accept sync"],
  "CACHE with allow_delete": [(o) => full(o, "", ", allow_delete: true").replace("full", "cache"), "CACHE does not accept allow_delete"],
  "CACHE with hard_delete": [(o) => full(o, "", ", hard_delete: true").replace("full", "cache"), "CACHE does not accept hard_delete"],
  "FULL with ttl": [(o) => full(o, "", ', ttl: "1h"'), "FULL does not accept ttl"],
  "hard_delete alone": [(o) => full(o, "", ", hard_delete: true"), "hard_delete has no effect without delete"],
  "a pinned account that is no key": [(o) => mem(o, "resolver_pinned_accounts: [FOO]"), 'pinned account key "FOO" is not a valid public account nkey'],
  "a preload that is no account": [(o) => `operator: "${o.jwt()}"\nresolver: MEM\nresolver_preload { ${o.system.public}: "${o.jwt()}" }\n`, "invalid account JWT"],
  "trusted_keys with a directory": [(o) => `trusted_keys: [${o.key.public}, ${o.signing.public}]\nsystem_account: ${o.system.public}\nresolver: { type: full, dir: "DIR/jwt" }\n${system(o)}`, "Could not start resolver: no operator key found"],
  "a later major version": [(o) => mem({ jwt: () => o.jwt({ nats: { assert_server_version: "9.0.0" } }), system: o.system }), "expected major version 9 > server major version 2"],
  "a later minor version": [(o) => mem({ jwt: () => o.jwt({ nats: { assert_server_version: "2.999.0" } }), system: o.system }), "expected minor version 999 > server minor version"],
  "a version that is none": [(o) => mem({ jwt: () => o.jwt({ nats: { assert_server_version: "x.y" } }), system: o.system }), "expects version x.y got error instead: asserted server version must be of the form <major>.<minor>.<update>"],
  "an operator that is no file": [() => `operator: "/nowhere/x.jwt"\nresolver: MEM\n`, "error parsing operator JWT: open /nowhere/x.jwt: no such file or directory"],
  "strict keys and a system account of the operator's own": [(o) => mem({ jwt: () => o.jwt({ nats: { strict_signing_key_usage: true } }), system: { public: o.system.public, jwt: () => o.system.jwt({ signer: o.key }) } }), "error resolving system account: account validation failed"],
};

for (const [name, [make, text]] of Object.entries(REFUSED))
  scenario(`refused: ${name}`, async (t) => {
    assert.match(await refusal(t, make(operator())), quoted(text));
  });

scenario("refused: JetStream limits of the system account, on a server with JetStream", async (t) => {
  const o = operator();
  o.system.nats.limits = { ...UNLIMITED, mem_storage: -1, disk_storage: -1 };
  assert.match(await refusal(t, mem(o, 'jetstream { store_dir: "DIR/js" }')), /Not allowed to enable JetStream on the system account/);
});

// --- what starts -------------------------------------------------------------------------------------

scenario("the operator as a file, bare and decorated, as an inline JWT and in lists", async (t) => {
  const o = new Operator();
  const a = o.account("A");
  const jwt = o.jwt();
  const decorated = `-----BEGIN NATS OPERATOR JWT-----\n${jwt}\n------END NATS OPERATOR JWT------\n`;
  for (const [text, value] of [[`${jwt}\n`, '"DIR/op.jwt"'], [decorated, '["DIR/op.jwt"]'], ["", `"${jwt}"`], ["", `["${jwt}"]`]]) {
    const s = t.prepare({ config: memory(o, [a]).replace(/^operator: .*$/m, `operator: ${value}`), monitor: true });
    fs.writeFileSync(s.file("op.jwt"), text);
    await s.start();
    const nc = await t.connect(s, { authenticator: a.user().authenticator });
    await nc.close();
    assert.equal((await s.varz()).system_account, o.system.public);
    await s.stop();
  }
});

// nats-server never looks: whoever ends an operator means it.
scenario("an expired operator JWT", async (t) => {
  const o = new Operator({ claims: { exp: now() - 1000 } });
  const a = o.account("A");
  if (isMayfly) return assert.match(await refusal(t, memory(o, [a])), /operator O[A-Z2-7]{55} expired at \d{4}-/);
  const w = await World.start(t, o, [a]);
  await (await w.connect(a.user())).close();
});

// nats-server never looks: Mayfly wants the operator's own signature.
scenario("an operator JWT that another operator signed", async (t) => {
  const o = new Operator();
  o.text = o.jwt({ signer: new Key("O") });
  if (isMayfly) return assert.match(await refusal(t, memory(o)), /is not signed by itself/);
  await World.start(t, o, [o.account("A")]);
});

scenario("an operator JWT with a forged signature is refused", async (t) => {
  const o = new Operator();
  o.text = token({ name: "OP", sub: o.key.public, iss: o.key.public, nats: { type: "operator", version: 2 } }, new Key("O"));
  assert.match(await refusal(t, memory(o)), /claim failed V2 signature verification/);
});

scenario("trusted_keys in place of an operator, with accounts in memory", async (t) => {
  const o = new Operator();
  const a = o.account("A");
  const s = await t.server({ config: `trusted_keys: [${o.key.public}]\nsystem_account: ${o.system.public}\nresolver: MEM\n${preload(o.system, a)}authorization { timeout: 60 }\n` });
  await (await t.connect(s, { authenticator: a.user().authenticator })).close();
  await t.refused(s, { authenticator: new Operator().account("X").user().authenticator });
  await t.refused(s, {});
});

scenario("two operators: accounts of both", async (t) => {
  const [o, p] = [new Operator({ name: "O" }), new Operator({ name: "P" })];
  const [a, b] = [o.account("A"), p.account("B")];
  const s = await t.server({ config: `operator: ["${o.jwt()}", "${p.jwt({ nats: { system_account: undefined } })}"]\nsystem_account: ${o.system.public}\nresolver: MEM\n${preload(o.system, a, b)}authorization { timeout: 60 }\n` });
  for (const x of [a, b]) await (await t.connect(s, { authenticator: x.user().authenticator })).close();
});

scenario("preloads that are expired or of a foreign operator: started, named or refused at use", async (t) => {
  const o = new Operator();
  const [good, late, foreign] = [o.account("A"), o.account("L", {}, { claims: { exp: now() - 100 } }), new Operator().account("F")];
  const w = await World.start(t, o, [good, late, foreign]);
  await (await w.connect(good.user())).close();
  for (const x of [late, foreign]) await w.out((info) => x.user().login(info));
});

scenario("the text beside a preloaded JWT is not looked at", async (t) => {
  const o = new Operator();
  const s = await t.server({ config: memory(o).replace("resolver_preload {", `resolver_preload {\n  FOO: "${o.account("A").jwt()}"`) });
  await (await t.connect(s, { authenticator: o.system.user().authenticator })).close();
});

scenario("the log names the operator, and no JWT", async (t) => {
  const o = new Operator({ name: "Orchard", claims: { exp: now() + 100000 } });
  const a = o.account("A");
  const w = await World.start(t, o, [a], { config: isMayfly ? "debug: true" : "" });
  await w.s.logged(/Trusted Operators/);
  await w.s.logged(/Operator: "Orchard"/);
  await (await w.connect(a.user())).close();
  assert.doesNotMatch(w.s.log(), /eyJ|\bS[OAUN][A-Z2-7]{56}\b/);
});

scenario("-t checks an operator configuration without starting", async () => {
  const o = operator();
  const dir = fs.mkdtempSync("/tmp/mayfly-operator-");
  try {
    fs.writeFileSync(`${dir}/good.conf`, mem(o));
    fs.writeFileSync(`${dir}/bad.conf`, mem(o, "no_auth_user: x"));
    const good = await runBinary(["-c", `${dir}/good.conf`, "-t"]);
    assert.equal(good.code, 0, good.text);
    const bad = await runBinary(["-c", `${dir}/bad.conf`, "-t"]);
    if (isMayfly) assert.notEqual(bad.code, 0, bad.text);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});

scenario("a resolver without operators does nothing", async (t) => {
  const s = await t.server({ config: "resolver: MEM" });
  await (await t.connect(s)).close();
});
