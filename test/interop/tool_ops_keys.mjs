// tool_ops_keys.mjs: `mayfly passwd` and `mayfly nkey` make what a configuration needs, and the tool logs in with it; https pages.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { fromSeed } from "@nats-io/nkeys";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, json, mayfly } from "./lib/tool.mjs";

const only = { only: "mayfly" };
const JS = 'jetstream { store_dir: "DIR/js" }\n';
const hash = async (password, ...more) => (await expect(0, { input: `${password}\n` }, "passwd", "--stdin", "--cost", "4", ...more)).trim();

scenario("passwd: its text in a configuration lets the password in, and no other", only, async (t) => {
  const text = await hash("s3cret ü");
  assert.match(text, /^\$2a\$04\$[./A-Za-z0-9]{53}$/);
  assert.notEqual(await hash("s3cret ü"), text, "another salt each time");
  const s = await t.server({ config: `${JS}authorization { users: [ { user: alice, password: "${text}" } ] }\n` });
  await expect(0, s, "stream", "ls", "--user", "alice", "--password", "s3cret ü");
  assert.match(await expect(5, s, "stream", "ls", "--user", "alice", "--password", "s3cret"), /refused the credentials/);
  assert.match(await expect(5, s, "stream", "ls", "--user", "alice", "--password", text), /refused the credentials/);
});

scenario("passwd: bad input gets exit code 2 and prints no text", only, async () => {
  for (const [input, args, pattern] of [
    ["", ["--stdin"], /standard input holds no password/],
    ["\n", ["--stdin"], /the password is empty/],
    [`${"x".repeat(73)}\n`, ["--stdin"], /bcrypt reads 72 bytes of a password; this one has 73/],
    [`${"x".repeat(3000)}\n`, ["--stdin"], /this one has 3000/],
    ["a\0b\n", ["--stdin"], /the password holds a NUL/],
    ["secret\n", ["--stdin", "--cost", "3"], /--cost is a number from 4 to 31/],
    ["secret\n", [], /there is no terminal to ask on; give the password with --stdin/],
  ]) {
    const r = await mayfly({ input }, "passwd", ...args);
    assert.deepEqual([r.code, r.stdout], [2, ""], r.stderr);
    assert.match(r.stderr, pattern);
    assert.ok(!r.stderr.includes("secret"), "the password is not repeated");
  }
  assert.match(await hash("x".repeat(72)), /^\$2a\$04\$/);
  const doc = await json({ input: "secret" }, "passwd", "--stdin", "--cost", "5");
  assert.equal(doc.cost, 5);
  assert.match(doc.bcrypt, /^\$2a\$05\$/);
});

scenario("passwd in a terminal: asks twice without echo, and shows the lines of a configuration", only, async (t) => {
  const good = new Terminal(t, {}, ["passwd", "--cost", "4", "--name", "bob"]);
  await good.shows(/Password: /);
  good.type("s3cret\r");
  await good.shows(/Once more: /);
  good.type("s3cret\r");
  assert.equal(await good.end(), 0);
  assert.match(good.screen(), /^\$2a\$04\$\S{53}$[^]*users: \[ \{ user: bob, password: "\$2a\$04\$\S{53}" \} \]/m);
  assert.ok(!good.raw.includes("s3cret"));
  const bad = new Terminal(t, {}, ["passwd", "--cost", "4"]);
  await bad.shows(/Password: /);
  bad.type("one\r");
  await bad.shows(/Once more: /);
  bad.type("two\r");
  assert.equal(await bad.end(), 2);
  assert.match(bad.screen(), /the two passwords differ; nothing was made/);
  const left = new Terminal(t, {}, ["passwd"]);
  await left.shows(/Password: /);
  left.type("\x03");
  assert.notEqual(await left.end(), 0);
});

scenario("nkey: a made key logs in; another one, a damaged and a missing one do not", only, async (t) => {
  const s = t.prepare();
  const file = s.file("alice.nk");
  const key = (await expect(0, {}, "nkey", "make", "user", "--output", file)).trim();
  assert.match(key, /^U[A-Z2-7]{55}$/);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.match(fs.readFileSync(file, "utf8"), /^SU[A-Z2-7]{56}\n$/);
  s.writeConfig(`${JS}authorization { users: [ { nkey: ${key} } ] }\n`);
  await s.start();
  await expect(0, s, "stream", "ls", "--nkey", file);
  await expect(0, { url: s.url, vars: { NATS_NKEY: file } }, "stream", "ls");
  const other = s.file("bob.nk");
  await expect(0, {}, "nkey", "make", "user", "-o", other);
  assert.match(await expect(5, s, "stream", "ls", "--nkey", other), /refused the credentials/);
  assert.match(await expect(2, s, "stream", "ls", "--nkey", s.file("none")), /none: No such file/);
  const account = s.file("account.nk");
  await expect(0, {}, "nkey", "make", "account", "-o", account);
  assert.match(await expect(2, s, "stream", "ls", "--nkey", account), /holds no seed of a user/);
  const seed = fs.readFileSync(file, "utf8");
  fs.writeFileSync(other, seed.slice(0, 20) + (seed[20] === "A" ? "B" : "A") + seed.slice(21)); // the last letter has unused bits
  assert.match(await expect(2, s, "stream", "ls", "--nkey", other), /the seed has a mistake \(its checksum is wrong\)/);
  assert.match(await expect(2, {}, "nkey", "make", "user", "-o", file), /exists; it is not overwritten/);
  assert.equal(fs.readFileSync(file, "utf8"), seed);
});

// nats.c leaves such a signature out of CONNECT.
scenario("nkey: a signature that begins with a zero byte is made again", only, async (t) => {
  const file = t.prepare().file("user.nk");
  await expect(0, {}, "nkey", "make", "user", "-o", file);
  const key = fromSeed(fs.readFileSync(file).subarray(0, 58));
  const signature = (nonce) => Buffer.from(key.sign(new TextEncoder().encode(nonce)));
  const nonces = Array.from({ length: 20_000 }, (_, i) => `nonce${i}`);
  const wrong = nonces.find((n) => signature(n)[0] === 0), right = nonces.find((n) => signature(n)[0] !== 0);
  const seen = [];
  const server = net.createServer((socket) => {
    const nonce = seen.length === 0 ? wrong : right;
    socket.on("error", () => {});
    socket.write(`INFO {"server_id":"N","version":"2.15.1","proto":1,"headers":true,"max_payload":1000,"auth_required":true,"nonce":"${nonce}"}\r\n`);
    socket.once("data", (bytes) => {
      seen.push(JSON.parse(/CONNECT (\{.*\})/.exec(bytes)[1]).sig === signature(nonce).toString("base64url"));
      socket.end("-ERR 'Authorization Violation'\r\n");
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  await expect(5, { url: `nats://127.0.0.1:${server.address().port}` }, "stream", "ls", "--nkey", file);
  assert.deepEqual(seen.slice(0, 2), [false, true]);
});

scenario("nkey show: the public key of a seed, from a file or standard input", only, async (t) => {
  const s = t.prepare();
  for (const [kind, letter] of Object.entries({ user: "U", account: "A", server: "N", operator: "O", cluster: "C", curve: "X" })) {
    const [seed, key] = (await expect(0, {}, "nkey", "make", kind)).split("\n");
    assert.ok(seed.startsWith(`S${letter}`) && key.startsWith(letter), `${seed} ${key}`);
    assert.equal((await expect(0, { input: `${seed}\n` }, "nkey", "show", "-")).trim(), key);
    const doc = await json({ input: seed }, "nkey", "show", "-");
    assert.deepEqual(doc, { kind, public: key });
  }
  const made = await json({}, "nkey", "make", "user");
  assert.deepEqual(Object.keys(made), ["kind", "public", "seed"]);
  const creds = s.file("x.creds"); // the file of credentials holds a seed, too
  fs.writeFileSync(creds, `-----BEGIN NATS USER JWT-----\neyJ0eXAi.e30.x\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${made.seed}\n------END USER NKEY SEED------\n`);
  assert.equal((await expect(0, {}, "nkey", "show", creds)).trim(), made.public);
  assert.match(await expect(2, { input: "x\n" }, "nkey", "show", "-"), /holds no seed/);
  assert.match(await expect(3, {}, "nkey", "show", s.file("none")), /No such file/);
  assert.match(await expect(2, {}, "nkey", "make", "nobody"), /there are no keys of kind nobody/);
});

scenario("a file of credentials: used where nobody asks, refused where its user is unknown, and clear mistakes", only, async (t) => {
  const s = await t.server({ config: JS });
  const guarded = await t.server({ config: `${JS}authorization { users: [ { user: ann, password: secret } ] }\n` });
  const { seed } = await json({}, "nkey", "make", "user");
  const creds = s.file("x.creds");
  const text = (jwt, key) => `${jwt ? `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` : ""}-----BEGIN USER NKEY SEED-----\n${key}\n------END USER NKEY SEED------\n`;
  fs.writeFileSync(creds, text("eyJ0eXAi.e30.x", seed));
  await expect(0, s, "stream", "ls", "--creds", creds);
  await expect(0, { url: s.url, vars: { NATS_CREDS: creds } }, "stream", "ls");
  assert.match(await expect(5, guarded, "stream", "ls", "--creds", creds), /refused the credentials/);
  assert.match(await expect(2, s, "stream", "ls", "--creds", s.file("none")), /none: No such file/);
  fs.writeFileSync(creds, "hello\n");
  assert.match(await expect(2, s, "stream", "ls", "--creds", creds), /x\.creds holds no seed/);
});

scenario("https pages: an authority by flag, environment and context; a stranger is not trusted", only, async (t) => {
  const c = certs();
  const s = await t.server({ config: `${JS}https: "127.0.0.1:-1"\n${tlsBlock()}` });
  assert.match(s.http, /^https:/);
  const ca = `${c.ca}.pem`;
  assert.match(await expect(0, {}, "server", "check", s.http, "--tlsca", ca), /^health +ok$/m);
  assert.equal((await json({ vars: { NATS_CA: ca } }, "server", "check", s.http)).healthy, true);
  const dir = s.file("config/nats/context");
  fs.mkdirSync(dir, { recursive: true });
  fs.copyFileSync(ca, s.file("ca.pem"));
  fs.writeFileSync(path.join(dir, "tls.json"), JSON.stringify({ ca: "~/ca.pem" }));
  const vars = { XDG_CONFIG_HOME: s.file("config"), HOME: s.dir };
  await expect(0, { vars }, "server", "report", "accounts", s.http, "--context", "tls");
  await expect(0, { vars }, "top", s.http, "--context", "tls", "--interval", "100ms");
  const untrusted = /certificate of 127\.0\.0\.1: .*\(--tlsca FILE names its authority\)/;
  assert.match(await expect(2, {}, "server", "check", s.http), untrusted);
  assert.match(await expect(2, {}, "top", s.http, "--tlsca", `${c.strangerCa}.pem`), untrusted);
  assert.match(await expect(2, {}, "server", "check", s.http, "--tlsca", s.file("none.pem")), /none\.pem/);
  assert.match(await expect(2, {}, "server", "check", s.http.replace("https", "http")), /no answer: a port with TLS wants https:\/\//);
  assert.match(await expect(2, {}, "server", "check", s.http, "--tlscert", `${c.client}.pem`), /belong together/);
});
