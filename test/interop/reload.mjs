// reload.mjs: SIGHUP takes over what may change, and refuses the rest as a whole.
import assert from "node:assert/strict";
import fs from "node:fs";
import tls from "node:tls";
import { certs } from "./lib/certs.mjs";
import { jetstreamBlock } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

// Reloads and waits until the server says that it did (or did not).
async function reload(s, config, said = /Reloaded server configuration/) {
  const before = s.log().length;
  s.reload(config);
  await until(`${said}`, () => said.test(s.log().slice(before)));
}

scenario("users come and go; who lost his user is cut off", async (t) => {
  const users = (...names) => `authorization { users: [ ${names.map((n) => `{user: ${n}, password: p}`).join(", ")} ] }`;
  const s = await t.server({ config: users("a", "b") });
  const a = await t.connect(s, { user: "a", pass: "p" });
  const b = await t.connect(s, { user: "b", pass: "p" });
  await t.refused(s, { user: "c", pass: "p" });
  await reload(s, users("b", "c"));
  await a.closed();
  await b.flush();
  assert.ok(!b.isClosed());
  await t.connect(s, { user: "c", pass: "p" });
  await t.refused(s, { user: "a", pass: "p" });
});

scenario("a changed password cuts off the old one", async (t) => {
  const config = (p) => `authorization { user: u, password: ${p} }`;
  const s = await t.server({ config: config("one") });
  const nc = await t.connect(s, { user: "u", pass: "one" });
  await reload(s, config("two"));
  await nc.closed();
  await t.refused(s, { user: "u", pass: "one" });
  await t.connect(s, { user: "u", pass: "two" });
});

scenario("permissions change under a living connection", async (t) => {
  const config = (sub, pub) => `authorization { users: [ {user: u, password: p, permissions: { subscribe: "${sub}", publish: "${pub}" } },
    {user: root, password: p} ] }`;
  const s = await t.server({ config: config("in.>", "out.>") });
  const nc = await t.connect(s, { user: "u", pass: "p" });
  const root = await t.connect(s, { user: "root", pass: "p" });
  const got = collect(nc, "in.a");
  const out = collect(root, ">");
  await nc.flush();
  await root.flush();
  await reload(s, config("other.>", "else.>"));
  await until("the lost subscription", () => nc.errors.length > 0 || got.length > 0);
  root.publish("in.a", "held back");
  await root.flush();
  nc.publish("out.x", "refused");
  nc.publish("else.x", "fine");
  await nc.flush();
  await until("the allowed one", () => out.some((m) => m.subject === "else.x"));
  assert.ok(!out.some((m) => m.subject === "out.x"));
  assert.ok(!got.some((m) => m.string?.() === "held back"));
});

scenario("certificates are replaced for new connections", async (t) => {
  const c = certs();
  const copy = (dir, from) => {
    fs.copyFileSync(`${c[from]}.pem`, `${dir}/live.pem`);
    fs.copyFileSync(`${c[from]}.key`, `${dir}/live.key`);
  };
  const s = t.prepare({ config: 'tls { cert_file: "DIR/live.pem", key_file: "DIR/live.key", timeout: 60 }' });
  copy(s.dir, "server");
  await s.start();
  const name = async () => {
    const r = await t.raw(s);
    r.socket.removeAllListeners("data");
    const secure = tls.connect({ socket: r.socket, ca: c.read("ca.pem"), servername: "localhost" });
    await new Promise((ok, bad) => {
      secure.once("secureConnect", ok);
      secure.once("error", bad);
    });
    const { CN } = secure.getPeerCertificate().subject;
    secure.destroy();
    return CN;
  };
  const before = await t.connect(s, { tls: { ca: c.read("ca.pem"), servername: "localhost" } });
  assert.equal(await name(), "server one");
  copy(s.dir, "server2");
  await reload(s);
  assert.equal(await name(), "server two");
  await before.flush();
});

scenario("debug and trace, on and off", async (t) => {
  const s = await t.server({ config: "debug: false" });
  await (await t.raw(s)).connect({ name: "one" });
  assert.doesNotMatch(s.log(), /\[DBG\]|\[TRC\]/);
  await reload(s, "debug: true, trace: true");
  await (await t.raw(s)).connect({ name: "two" });
  await s.logged(/\[DBG\]/);
  await s.logged(/\[TRC\].*CONNECT/);
  await reload(s, "debug: false, trace: false");
  const before = s.log().length;
  const r = await (await t.raw(s)).connect({ name: "three" });
  await r.ping();
  assert.doesNotMatch(s.log().slice(before), /\[DBG\]|\[TRC\]/);
});

scenario("limits change; connected clients are told the new max_payload", async (t) => {
  const s = await t.server({ config: "max_payload: 1024, max_connections: 100", monitor: true });
  const r = await (await t.raw(s)).connect();
  await reload(s, 'max_payload: 2048, max_connections: 50, ping_interval: "7s", ping_max: 9, write_deadline: "3s"');
  const v = await s.varz();
  assert.deepEqual([v.max_payload, v.max_connections, v.ping_interval, v.ping_max, v.write_deadline], [2048, 50, 7e9, 9, 3e9]);
  r.send("PUB a 2000", "x".repeat(2000));
  await r.ping();
  assert.equal((await t.connect(s)).info.max_payload, 2048);
});

scenario("a broken file changes nothing", async (t) => {
  const s = await t.server({ config: "authorization { token: keep }" });
  const nc = await t.connect(s, { token: "keep" });
  for (const bad of ["authorization { token: new }, nonsense: 1", "authorization {", "authorization { token: new, user: x }"]) {
    await reload(s, bad, /\[ERR\].*[Ff]ailed to reload/);
    await t.refused(s, { token: "new" });
    await t.connect(s, { token: "keep" });
  }
  await nc.flush();
  await reload(s, "authorization { token: new }");
  await t.connect(s, { token: "new" });
});

scenario("what cannot change at run time refuses the whole file", async (t) => {
  const s = await t.server({ config: "server_name: one" });
  s.head = s.head.replace("127.0.0.1:-1", "127.0.0.1:1");
  await reload(s, "server_name: one, max_payload: 512", /\[ERR\].*not supported/i);
  assert.equal((await t.connect(s)).info.max_payload, 1048576);
});

scenario("accounts, imports and exports change", async (t) => {
  const config = (more) => `accounts {
    A { users: [ {user: a, password: p} ], exports: [ {stream: "x"} ] }
    B { users: [ {user: b, password: p} ]
      ${more} } }`;
  const s = await t.server({ config: config("") });
  const a = await t.connect(s, { user: "a", pass: "p" });
  const b = await t.connect(s, { user: "b", pass: "p" });
  const got = collect(b, "x");
  await b.flush();
  a.publish("x", "before");
  await a.flush();
  await b.flush();
  assert.equal(got.length, 0);
  await reload(s, config("imports: [ {stream: {account: A, subject: x}} ]"));
  a.publish("x", "during");
  await a.flush();
  await until("the import to work", () => got.length === 1);
  await reload(s, config(""));
  a.publish("x", "after");
  await a.flush();
  await b.flush();
  assert.deepEqual(got.texts(), ["during"]);
});

scenario("config_load_time moves with a reload", async (t) => {
  const s = await t.server({ monitor: true, config: "debug: false" });
  const before = (await s.varz()).config_load_time;
  await reload(s, "debug: true");
  assert.ok(Date.parse((await s.varz()).config_load_time) > Date.parse(before));
});

scenario("a reload under traffic loses nothing", async (t) => {
  const s = await t.server({ config: "max_payload: 1024" });
  const a = await t.connect(s);
  const b = await t.connect(s);
  const got = collect(b, "x");
  await b.flush();
  let sent = 0;
  for (let round = 0; round < 5; round++) {
    s.reload(`max_payload: ${2048 + round}`);
    for (let i = 0; i < 1000; i++) a.publish("x", String(sent++));
    await a.flush();
  }
  await until("all messages", () => got.length === sent);
  assert.deepEqual(got.texts(), Array.from({ length: sent }, (_, i) => String(i)));
});

// What it asks for after a reload is told with what the server is now: its origin is made anew.
scenario("a stream that sources another goes on after a reload", async (t) => {
  const config = (debug) => `${jetstreamBlock("domain: hub")}debug: ${debug}\n`;
  const s = await t.server({ config: config(false) });
  const nc = await t.connect(s);
  const api = async (what, body) => JSON.parse((await nc.request(`$JS.API.${what}`, JSON.stringify(body) ?? "", { timeout: LIMIT_MS })).string());
  const origin = { name: "O", subjects: ["o"] };
  await api("STREAM.CREATE.O", origin);
  await api("STREAM.CREATE.S", { name: "S", sources: [{ name: "O" }] });
  const holds = (n) => until(`${n} messages`, async () => (await api("STREAM.INFO.S")).state.messages === n);
  await nc.request("o", "one");
  await holds(1);
  await reload(s, config(true));
  await nc.request("o", "two");
  await holds(2);
  await api("STREAM.DELETE.O");
  await api("STREAM.CREATE.O", origin);
  await nc.request("o", "three");
  await holds(3);
});
