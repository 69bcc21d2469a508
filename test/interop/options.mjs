// options.mjs: options whose effect no other scenario shows: logs, TLS, WebSocket cookies, services.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { wsconnect } from "@nats-io/transport-node";
import WebSocket from "ws";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

scenario("logtime_utc: lines carry UTC, not the local time", async (t) => {
  for (const [line, hours] of [["logtime_utc: true", 0], ["", 9]]) {
    const s = await t.server({ config: line, env: { TZ: "Asia/Tokyo" } });
    const [, at] = await s.logged(/^\[\d+\] (\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d)\.\d+ \[INF\] Starting/);
    const ahead = Date.parse(`${at.replaceAll("/", "-").replace(" ", "T")}Z`) - Date.now();
    assert.ok(Math.abs(ahead / 3600e3 - hours) < 0.5, line);
  }
});

scenario("max_traced_msg_len: a payload is cut in the trace", async (t) => {
  const s = await t.server({ config: "trace: true, max_traced_msg_len: 5" });
  const nc = await t.connect(s);
  nc.publish("x", "12345678");
  await nc.flush();
  await s.logged(/MSG_PAYLOAD: \["12345\.\.\."\]/);
  assert.doesNotMatch(s.log(), /123456/);
});

scenario("log_size_limit, log_max_num: the log is rotated, and the oldest files go", async (t) => {
  const s = await t.server({ config: 'log_file: "DIR/log/server.log", log_size_limit: 2000, log_max_num: 3, debug: true', dir: makeLogDir() });
  const logs = () => fs.readdirSync(s.file("log"));
  const talk = async () => (await t.connect(s)).close();
  await until("two older files", async () => (await talk(), logs().length >= 3));
  for (let i = 0; i < 40; i++) await talk();
  await until("at most three files", () => logs().length <= 3);
  for (const f of logs()) assert.ok(fs.statSync(s.file(`log/${f}`)).size < 10000, f);
});
function makeLogDir() {
  const dir = fs.mkdtempSync("/tmp/mayfly-logs-");
  fs.mkdirSync(`${dir}/log`);
  return dir;
}

// A reader that takes nothing any more; the publisher is held up until that one is closed, or is not.
scenario("no_fast_producer_stall: a publisher is not held up by a slow reader", { only: "mayfly" }, async (t) => {
  for (const free of [true, false]) {
    const s = await t.server({ monitor: true, config: `max_pending: 4MB, write_deadline: "60s", no_fast_producer_stall: ${free}` });
    const slow = net.connect({ port: s.port, host: "127.0.0.1" });
    t.after(() => slow.destroy());
    slow.on("error", () => {});
    slow.write('CONNECT {"verbose":false}\r\nSUB x 1\r\nPING\r\n');
    await new Promise((r) => slow.once("data", r));
    slow.pause();
    const nc = await t.connect(s);
    const block = new Uint8Array(100000);
    await until("the reader to be closed", async () => {
      for (let i = 0; i < 5; i++) nc.publish("x", block);
      await nc.flush();
      return (await s.varz()).slow_consumers === 1;
    });
    assert.equal(((await s.varz()).stalled_clients ?? 0) > 0, !free);
    await s.stop();
  }
});

const dial = (s, options) => new Promise((resolve, reject) => {
  const plain = net.connect({ port: s.port, host: "127.0.0.1" });
  plain.on("error", reject);
  plain.once("data", () => {
    const c = tls.connect({ socket: plain, servername: "localhost", ...certs().trust(), ...options }, () => resolve(c));
    c.on("error", reject);
  });
});

scenario("tls: cipher_suites and curve_preferences are what is offered", async (t) => {
  const one = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
  const s = await t.server({ config: tlsBlock(`cipher_suites: ["${one}"], curve_preferences: ["CurveP384"]`) });
  const c = await dial(s, { maxVersion: "TLSv1.2" });
  t.after(() => c.destroy());
  assert.deepEqual([c.getCipher().standardName, c.getEphemeralKeyInfo().name], [one, "secp384r1"]);
  await assert.rejects(dial(s, { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }));
  await assert.rejects(dial(s, { maxVersion: "TLSv1.2", ecdhCurve: "prime256v1" }));
});

scenario("tls: connection_rate_limit refuses what is more within a second", async (t) => {
  const s = await t.server({ config: tlsBlock("connection_rate_limit: 5") });
  const results = await Promise.allSettled(Array.from({ length: 60 }, () => dial(s, {})));
  for (const r of results) r.value?.destroy();
  const inside = results.filter((r) => r.status === "fulfilled").length;
  assert.ok(inside >= 5 && inside < 60, `${inside} of 60`);
});

const web = (s, headers, options = {}) => wsconnect({ servers: s.ws, reconnect: false, timeout: LIMIT_MS,
  wsFactory: async () => ({ socket: new WebSocket(s.ws, { headers }), encrypted: false }), ...options });
scenario("websocket: user_cookie, pass_cookie, token_cookie log a client in", async (t) => {
  const listen = 'websocket { listen: "127.0.0.1:-1", no_tls: true,';
  const two = await t.server({ config: `${listen} user_cookie: "u", pass_cookie: "p" }\nauthorization { user: ann, password: secret }` });
  const one = await t.server({ config: `${listen} token_cookie: "k" }\nauthorization { token: abc }` });
  const nc = await web(two, { Cookie: "x=1; u=ann; p=secret" });
  t.after(() => nc.close());
  const other = await web(one, { Cookie: "k=abc" });
  t.after(() => other.close());
  for (const [s, cookie] of [[two, "u=ann; p=wrong"], [two, "x=1"], [one, "k=no"]]) await assert.rejects(web(s, { Cookie: cookie }), /authorization violation/i);
});

scenario("websocket: authorization { token } is the WebSocket's own", async (t) => {
  const s = await t.server({ config: 'websocket { listen: "127.0.0.1:-1", no_tls: true, authorization { token: abc } }' });
  const nc = await web(s, {}, { token: "abc" });
  t.after(() => nc.close());
  await assert.rejects(web(s, {}), /authorization violation/i);
  await t.connect(s); // needs none
});

scenario("websocket: headers go out with the upgrade", async (t) => {
  const s = await t.server({ config: 'websocket { listen: "127.0.0.1:-1", no_tls: true, headers { "X-Mayfly": "yes" } }' });
  const ws = new WebSocket(s.ws);
  t.after(() => ws.terminate());
  const [res] = await new Promise((resolve, reject) => (ws.on("upgrade", (r) => resolve([r])), ws.on("error", reject)));
  assert.equal(res.headers["x-mayfly"], "yes");
});

const services = `accounts { A { users: [ {user: a, password: p} ], exports: [ {service: "svc", threshold: "200ms", latency: { subject: lat, sampling: 100 }} ] }
  B { users: [ {user: b, password: p} ], imports: [ {service: {account: A, subject: "svc"}} ] } }`;
scenario("exports: latency is reported, and an answer after the threshold finds no way back", async (t) => {
  const s = await t.server({ config: services });
  const [a, b] = await Promise.all(["a", "b"].map((user) => t.connect(s, { user, pass: "p" })));
  const reports = collect(a, "lat");
  const asked = collect(a, "svc");
  const got = collect(b, "in");
  await Promise.all([a.flush(), b.flush()]);
  b.publish("svc", "1", { reply: "in" });
  await until("a request", () => asked.length === 1);
  asked[0].respond("soon");
  await until("an answer and a report", () => got.length === 1 && reports.length === 1);
  assert.deepEqual([reports[0].json().type, reports[0].json().status], ["io.nats.server.metric.v1.service_latency", 200]);
  b.publish("svc", "2", { reply: "in" });
  await until("a report of a timeout", () => reports.length === 2);
  assert.equal(reports[1].json().status, 504);
  asked[1].respond("late");
  await a.flush();
  await b.flush();
  assert.equal(got.length, 1);
});
