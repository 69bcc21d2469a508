// tool_connect.mjs: how the tool `mayfly` finds its server and proves who it is: flags, environment, contexts, TLS.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { scenario } from "./lib/scenario.mjs";
import { mayfly, tool } from "./lib/tool.mjs";

const JS = 'jetstream { store_dir: "DIR/js" }\n';
const USERS = `${JS}authorization { users: [ { user: ann, password: secret } ] }\n`;

// The list of streams is a request to the API: who gets it has connected, and as whom it should.
const list = (options, ...args) => mayfly(options, "stream", "ls", "--json", ...args);
async function works(options, ...args) {
  const r = await list(options, ...args);
  assert.equal(r.code, 0, r.stderr);
  JSON.parse(r.stdout);
}
async function fails(code, pattern, options, ...args) {
  const r = await list(options, ...args);
  assert.equal(r.code, code, r.stdout + r.stderr);
  assert.match(r.stderr, pattern);
  assert.equal(r.stdout, "");
}

// A folder of contexts as the nats CLI writes it.
function contexts(s, all, selected) {
  const dir = s.file("config/nats/context");
  fs.mkdirSync(dir, { recursive: true });
  for (const [name, value] of Object.entries(all)) fs.writeFileSync(path.join(dir, `${name}.json`), JSON.stringify(value));
  if (selected) fs.writeFileSync(s.file("config/nats/context.txt"), `${selected}\n`);
  return { XDG_CONFIG_HOME: s.file("config") };
}

scenario("mayfly: no server there: the message says where and what to do", async (t) => {
  const s = await t.server();
  await s.stop();
  await fails(2, /no server at nats:\/\/127\.0\.0\.1:\d+ .*-s URL/, {}, "-s", `nats://127.0.0.1:${s.port}`);
});

scenario("mayfly: a name that nobody has, and the address of the pages", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true });
  await fails(2, /the name nowhere\.invalid cannot be resolved/, {}, "-s", "nats://nowhere.invalid:4222");
  await fails(2, /is an address of pages; clients use nats:\/\/HOST:4222/, {}, "-s", s.http);
  await fails(2, /is it the monitoring port\? Clients use another \(4222\)/, {}, "-s", s.http.replace("http://", ""), "--timeout", "300ms");
});

scenario("mayfly: a server that does not answer", async (t) => {
  const mute = net.createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  t.after(() => mute.close());
  const held = [];
  mute.on("connection", (c) => held.push(c.on("error", () => {}))); // the tool may reset it
  t.after(() => held.forEach((c) => c.destroy()));
  await new Promise((ok) => mute.once("listening", ok));
  await fails(2, /did not answer in time|timed out/i, {}, "-s", `nats://127.0.0.1:${mute.address().port}`, "--timeout", "200ms");
});

scenario("mayfly: user and password by flag, by URL, by environment; a wrong one is refused", async (t) => {
  const s = await t.server({ config: USERS });
  const url = `nats://127.0.0.1:${s.port}`;
  await works({}, "-s", url, "--user", "ann", "--password", "secret");
  await works({}, "-s", `nats://ann:secret@127.0.0.1:${s.port}`);
  await works({ vars: { NATS_URL: url, NATS_USER: "ann", NATS_PASSWORD: "secret" } });
  await fails(5, /refused the credentials/, {}, "-s", url, "--user", "ann", "--password", "wrong");
  await fails(5, /refused the credentials/, { vars: { NATS_URL: url, NATS_USER: "ann", NATS_PASSWORD: "secret" } }, "--password", "wrong");
});

scenario("mayfly: a password of the URL is never shown", async (t) => {
  const s = await t.server({ config: USERS });
  const at = `127.0.0.1:${s.port}`;
  await fails(5, new RegExp(`nats://${at},nats://${at} refused`), {}, "-s", `nats://ann:hidden@${at},nats://ann:hidden@${at}`);
  for (const args of [["server", "info"], ["server", "info", "--json"], ["server", "ls"]]) {
    const r = await mayfly({}, ...args, "-s", `nats://ann:secret@${at}`);
    assert.equal(r.code, 0, r.stderr);
    assert.match(r.stdout, new RegExp(at));
    assert.doesNotMatch(r.stdout + r.stderr, /secret/);
  }
});

scenario("mayfly: a prefix that is too long is refused, not cut; a long --timeout is no short one", async (t) => {
  const s = await t.server({ config: JS });
  await fails(2, /the prefix of the JetStream API is too long/, s, "--js-api-prefix", "p".repeat(300));
  await works(s, "--timeout", "100000d");
});

scenario("mayfly: a line that is lost before the last one is an error too", async (t) => {
  const s = await t.server({ config: JS });
  const sh = (out) => new Promise((ok) => execFile("/bin/sh", ["-c", `'${tool}' -s ${s.url} req '$JS.API.INFO' '' --json >${out}`], (e) => ok(e?.code ?? 0)));
  assert.deepEqual([await sh("/dev/null"), await sh("/dev/full")], [0, 2]);
});

scenario("mayfly: a token, also as a user without a password", async (t) => {
  const s = await t.server({ config: `${JS}authorization { token: s3cret }\n` });
  await works({}, "-s", s.url, "--token", "s3cret");
  await works({}, "-s", s.url, "--user", "s3cret");
  await fails(5, /refused the credentials/, {}, "-s", s.url);
});

scenario("mayfly: contexts of the nats CLI: by name, the selected one, and flags before both", async (t) => {
  const s = await t.server({ config: USERS });
  const env = contexts(s, { good: { url: s.url, user: "ann", password: "secret" }, bad: { url: s.url, user: "ann", password: "no" } }, "good");
  await works({ vars: env });
  await works({ vars: { ...env, NATS_CONTEXT: "good" } });
  await fails(5, /refused the credentials/, { vars: env }, "--context", "bad");
  await works({ vars: env }, "--context", "bad", "--password", "secret");
  await fails(2, /context none: .*nats context ls/, { vars: env }, "--context", "none");
  await fails(2, /holds a slash/, { vars: env }, "--context", "../x");
  fs.writeFileSync(s.file("config/nats/context/odd.json"), "[1]");
  await fails(2, /holds no JSON object/, { vars: env }, "--context", "odd");
});

scenario("mayfly: contexts: ~/ in paths, --no-context, and settings that the tool cannot honour", async (t) => {
  const { seed, public: key } = JSON.parse((await mayfly({}, "nkey", "make", "user", "--json")).stdout);
  const s = await t.server({ config: `${JS}authorization { users: [ { nkey: ${key} } ] }\n` });
  fs.writeFileSync(s.file("me.nk"), `${seed}\n`);
  const env = { ...contexts(s, { home: { url: s.url, nkey: "~/me.nk" }, lost: { url: s.url, nkey: "~/none.nk" }, proxy: { url: s.url, socks_proxy: "socks5://x" }, first: { url: s.url, tls_first: true },
    far: { url: s.url, jetstream_domain: "hub" } }, "home"), HOME: s.dir };
  await works({ vars: env });
  await fails(5, /refused the credentials/, { vars: env }, "--no-context", "-s", s.url);
  await fails(2, /none\.nk: No such file/, { vars: env }, "--context", "lost");
  await fails(2, /context proxy asks for socks_proxy, which this tool cannot do; use flags and --no-context/, { vars: env }, "--context", "proxy");
  await fails(2, /context first asks for tls_first/, { vars: env }, "--context", "first");
  await fails(2, /no JetStream there/, { vars: env }, "--context", "far", "--nkey", s.file("me.nk"));
  await fails(2, /exclude each other/, { vars: env }, "--context", "home", "--no-context");
});

scenario("mayfly: TLS before the greeting: reached with auto, and named where nothing else is spoken", async (t) => {
  const ca = ["--tlsca", `${certs().ca}.pem`];
  const at = async (first) => `tls://localhost:${(await t.server({ config: JS + tlsBlock(`handshake_first: ${first}`, first === "true" ? 1 : undefined) })).port}`;
  await works({}, "-s", await at("auto"), ...ca);
  await fails(2, /handshake_first: true\? This tool needs auto there, or false/, {}, "-s", await at("true"), ...ca);
});

scenario("mayfly: TLS: authorities, client certificates, and who is not trusted", async (t) => {
  const c = certs();
  const s = await t.server({ config: JS + tlsBlock("verify: true") });
  const url = `tls://localhost:${s.port}`;
  const mine = ["--tlscert", `${c.client}.pem`, "--tlskey", `${c.client}.key`];
  await works({}, "-s", url, "--tlsca", `${c.ca}.pem`, ...mine);
  await fails(2, /TLS failed/, {}, "-s", url, "--tlsca", `${c.strangerCa}.pem`, ...mine);
  await fails(2, /belong together/, {}, "-s", url, "--tlsca", `${c.ca}.pem`, "--tlscert", `${c.client}.pem`);
  await fails(2, /nothere\.pem/, {}, "-s", url, "--tlsca", "nothere.pem");
});

scenario("mayfly: a denied request is named at once, whatever the timeout", async (t) => {
  const s = await t.server({ config: `${JS}authorization { users: [ { user: ann, password: secret,
    permissions: { publish: { deny: "$JS.API.>" } } } ] }\n` });
  const start = Date.now();
  await fails(5, /not permitted: publish to "\$JS\.API\.STREAM\.[A-Z]+" \(ask for publish permission on it\)/, {}, "-s", s.url, "--user", "ann", "--password",
    "secret", "--timeout", "10m");
  assert.ok(Date.now() - start < 600_000);
});

scenario("mayfly: replies below an inbox of its own", async (t) => {
  const s = await t.server({ config: `${JS}authorization { users: [ { user: ann, password: secret,
    permissions: { subscribe: "_INBOX_ann.>" } } ] }\n` });
  const login = ["-s", s.url, "--user", "ann", "--password", "secret"];
  await works({}, ...login, "--inbox-prefix", "_INBOX_ann");
  await fails(5, /not permitted: .*subscri/i, {}, ...login, "--timeout", "10m");
});

scenario("mayfly: a server without JetStream says so", async (t) => {
  const s = await t.server();
  await fails(2, /no JetStream there: start the server with -js/, {}, "-s", s.url);
});

scenario("mayfly: a domain by its name", async (t) => {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js", domain: hub }\n' });
  await works({}, "-s", s.url, "--js-domain", "hub");
  await works({}, "-s", s.url, "--js-api-prefix", "$JS.hub.API");
  await fails(2, /no JetStream there/, {}, "-s", s.url, "--js-domain", "other");
});
