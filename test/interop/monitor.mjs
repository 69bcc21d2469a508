// monitor.mjs: the pages that nats-top, prometheus-nats-exporter and operators read.
import assert from "node:assert/strict";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { Raw } from "./lib/raw.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const DURATION = /^(\d+y)?(\d+d)?(\d+h)?(\d+m)?\d+s$/;
const isTime = (v) => assert.ok(typeof v === "string" && !Number.isNaN(Date.parse(v)), `a time: ${v}`);

scenario("varz: what the tools read", async (t) => {
  const s = await t.server({ monitor: true, config: 'server_name: heron, server_tags: ["a:b"], max_connections: 77' });
  const nc = await t.connect(s);
  const got = collect(nc, "x");
  for (let i = 0; i < 10; i++) nc.publish("x", "12345");
  await nc.flush();
  assert.equal(got.length, 10);
  const { json: v, status, headers } = await s.page("/varz");
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.equal(v.server_id, nc.info.server_id);
  assert.equal(v.server_name, "heron");
  assert.equal(v.version, nc.info.version);
  assert.equal(v.proto, 1);
  assert.equal(v.host, "127.0.0.1");
  assert.equal(v.port, s.port);
  assert.equal(v.max_connections, 77);
  if (isMayfly) assert.equal(v.possible_connections, 77);
  assert.equal(v.max_payload, 1048576);
  assert.equal(v.max_pending, 67108864);
  assert.equal(v.max_control_line, 4096);
  assert.equal(v.ping_interval, 120000000000);
  assert.equal(v.ping_max, 2);
  assert.equal(v.write_deadline, 10000000000);
  assert.equal(v.connections, 1);
  assert.equal(v.total_connections, 1);
  assert.equal(v.in_msgs, 10);
  assert.equal(v.out_msgs, 10);
  assert.equal(v.in_bytes, 50);
  assert.equal(v.out_bytes, 50);
  assert.equal(v.slow_consumers, 0);
  assert.deepEqual(v.tags, ["a:b"]);
  assert.match(v.uptime, DURATION);
  for (const k of ["cores", "gomaxprocs", "cpu", "mem", "routes", "remotes", "leafnodes", "subscriptions"])
    assert.equal(typeof v[k], "number", k);
  for (const k of ["start", "now", "config_load_time"]) isTime(v[k]);
  assert.ok(v.mem > 1000000);
  assert.equal(typeof v.http_req_stats["/varz"], "number");
  assert.ok(v.jetstream);
  assert.equal(typeof v.http_port, "number");
});

scenario("connz: one connection in full", async (t) => {
  const s = await t.server({ monitor: true });
  const nc = await t.connect(s, { name: "needle" });
  nc.subscribe("a.b", { callback: () => {} });
  nc.subscribe("c", { queue: "q", callback: () => {} });
  nc.publish("a.b", "hello");
  await nc.flush();
  const { json } = await s.page("/connz");
  assert.equal(json.server_id, nc.info.server_id);
  isTime(json.now);
  assert.deepEqual([json.num_connections, json.total, json.offset, json.limit], [1, 1, 0, 1024]);
  const [c] = json.connections;
  assert.equal(c.cid, nc.info.client_id);
  assert.equal(c.kind, "Client");
  assert.equal(c.type, "nats");
  assert.equal(c.ip, "127.0.0.1");
  assert.ok(c.port > 0);
  assert.equal(c.name, "needle");
  assert.equal(c.lang, "nats.js");
  assert.match(c.version, /^\d+\.\d+/);
  assert.match(c.uptime, DURATION);
  assert.match(c.idle, DURATION);
  isTime(c.start);
  isTime(c.last_activity);
  assert.equal(c.subscriptions, 2);
  assert.deepEqual([c.in_msgs, c.in_bytes, c.out_msgs, c.out_bytes], [1, 5, 1, 5]);
  assert.equal(c.pending_bytes, 0);
  assert.equal(c.subscriptions_list, undefined);
  assert.equal(c.account, undefined);
  const subs = (await s.page("/connz?subs=1")).json.connections[0].subscriptions_list;
  assert.deepEqual(subs.sort(), ["a.b", "c"]);
  const detail = (await s.page("/connz?subs=detail")).json.connections[0].subscriptions_list_detail;
  const q = detail.find((d) => d.subject === "c");
  assert.equal(q.qgroup, "q");
  assert.equal(q.cid, c.cid);
  assert.equal(typeof q.sid, "string");
});

scenario("connz: rtt is a Go duration once it was measured", async (t) => {
  const s = await t.server({ monitor: true });
  await t.connect(s);
  const rtt = await until("a round trip", async () => (await s.page("/connz")).json.connections[0].rtt);
  assert.match(rtt, /^[\d.]+(ns|µs|ms|s)$/);
});

scenario("connz: paging, one cid, sorting, state", async (t) => {
  const s = await t.server({ monitor: true });
  const all = [];
  for (let i = 0; i < 6; i++) {
    const nc = await t.connect(s, { name: `n${i}` });
    for (let k = 0; k < i; k++) nc.subscribe(`s.${k}`, { callback: () => {} });
    for (let k = 0; k < 6 - i; k++) nc.publish("nobody", "x".repeat(k));
    await nc.flush();
    all.push(nc);
  }
  const names = async (q) => (await s.page(`/connz?${q}`)).json.connections.map((c) => c.name);
  const first = (await s.page("/connz?limit=2&offset=1")).json;
  assert.deepEqual(first.connections.map((c) => c.name), ["n1", "n2"]);
  assert.deepEqual([first.num_connections, first.total, first.offset, first.limit], [2, 6, 1, 2]);
  assert.deepEqual(await names("offset=99"), []);
  assert.deepEqual(await names("sort=subs"), ["n5", "n4", "n3", "n2", "n1", "n0"]);
  assert.deepEqual(await names("sort=msgs_from"), ["n0", "n1", "n2", "n3", "n4", "n5"]);
  assert.deepEqual(await names("sort=cid&limit=1"), ["n0"]);
  assert.deepEqual(await names("sort=start&limit=1"), ["n0"]);
  for (const k of ["pending", "msgs_to", "bytes_to", "bytes_from", "last", "idle", "uptime", "rtt"])
    assert.equal((await names(`sort=${k}`)).length, 6, k);
  assert.deepEqual(await names(`cid=${all[3].info.client_id}`), ["n3"]);
  await all[2].close();
  const closed = await until("the closed one", async () => {
    const { json } = await s.page("/connz?state=closed");
    return json.connections.length && json.connections;
  });
  assert.equal(closed[0].name, "n2");
  assert.equal(closed[0].reason, "Client Closed");
  isTime(closed[0].stop);
  assert.equal((await names("state=any")).length, 6);
  assert.equal((await names("state=closed&sort=stop")).length, 1);
  assert.equal((await names("state=closed&sort=reason")).length, 1);
});

scenario("bad parameters are refused with 400", async (t) => {
  const s = await t.server({ monitor: true });
  for (const p of ["/connz?limit=x", "/connz?sort=nonsense", "/connz?state=odd", "/connz?cid=-1x", "/subsz?offset=z", "/connz?sort=stop"])
    assert.equal((await s.page(p)).status, 400, p);
  assert.equal((await s.page("/nonsense")).status, 404);
});

scenario("subsz", async (t) => {
  const s = await t.server({ monitor: true });
  const nc = await t.connect(s);
  for (const p of ["foo.*", "foo.bar", "bar"]) nc.subscribe(p, { callback: () => {} });
  await nc.flush();
  const { json } = await s.page("/subsz");
  for (const k of ["num_subscriptions", "num_cache", "num_inserts", "num_removes", "num_matches", "cache_hit_rate", "max_fanout", "avg_fanout"])
    assert.equal(typeof json[k], "number", k);
  assert.ok(json.num_subscriptions >= 3);
  const list = (await s.page("/subsz?subs=1&acc=$G")).json.subscriptions_list.map((x) => x.subject);
  for (const p of ["foo.*", "foo.bar", "bar"]) assert.ok(list.includes(p), p);
  const hit = (await s.page("/subsz?subs=1&test=foo.bar")).json.subscriptions_list.map((x) => x.subject);
  assert.deepEqual(hit.sort(), ["foo.*", "foo.bar"]);
  assert.equal((await s.page("/subscriptionsz")).status, 200);
  const paged = (await s.page("/subsz?subs=1&limit=2")).json;
  assert.equal(paged.limit, 2);
  assert.equal(paged.subscriptions_list.length, 2);
});

// Removing very many subscriptions takes several turns of the event loop; meanwhile the closed connection gets nothing.
scenario("a connection that leaves with 30,000 subscriptions leaves none behind", async (t) => {
  const s = await t.server({ monitor: true });
  const before = (await s.page("/subsz")).json.num_subscriptions;
  const raw = await (await Raw.open(s.port)).connect();
  raw.sendBytes(Array.from({ length: 30_000 }, (_, i) => `SUB many.${i} ${i}\r\n`).join(""));
  await raw.ping();
  assert.equal((await s.page("/subsz")).json.num_subscriptions, before + 30_000);
  raw.socket.destroy();
  const nc = await t.connect(s);
  await until("the end of the connection", async () => (await s.page("/connz")).json.num_connections === 1);
  await until("the end of its subscriptions", async () => (await s.page("/subsz")).json.num_subscriptions === before);
  await assert.rejects(nc.request("many.77", "", { timeout: 5000 }), /no responders/i);
  if (isMayfly) assert.match((await s.page("/metrics")).text, /\nmayfly_stalls_total\{cause="connection close"\} \d+\n/);
});

scenario("a server that stops has removed the subscriptions of those who left", async (t) => {
  const s = await t.server({ monitor: true });
  const raw = await (await Raw.open(s.port)).connect();
  raw.sendBytes(Array.from({ length: 30_000 }, (_, i) => `SUB many.${i} ${i}\r\n`).join(""));
  await raw.ping();
  raw.socket.destroy();
  await s.stop(); // exit code and sanitizers are checked there
});

scenario("accountz and accstatz", async (t) => {
  const s = await t.server({
    monitor: true,
    config: "accounts { A { users: [ {user: a, password: p} ] } }",
  });
  const nc = await t.connect(s, { user: "a", pass: "p" });
  nc.publish("x", "123");
  await nc.flush();
  const { json } = await s.page("/accountz");
  assert.equal(json.system_account, "$SYS");
  for (const name of ["A", "$G", "$SYS"]) assert.ok(json.accounts.includes(name), name);
  const d = (await s.page("/accountz?acc=A")).json.account_detail;
  assert.equal(d.account_name, "A");
  assert.ok(!d.is_system);
  assert.equal(d.expired, false);
  assert.equal(d.complete, true);
  assert.equal(d.jetstream_enabled, false);
  assert.equal(d.leafnode_connections, 0);
  assert.equal(d.client_connections, 1);
  assert.equal(typeof d.subscriptions, "number");
  const st = (await s.page("/accstatz")).json.account_statz.find((x) => x.acc === "A");
  assert.equal(st.conns, 1);
  assert.equal(st.received.msgs, 1);
  assert.equal(st.received.bytes, 3);
  assert.ok((await s.page("/accstatz?unused=1")).json.account_statz.length >= 2);
});

scenario("healthz", async (t) => {
  const s = await t.server({ monitor: true });
  const r = await s.page("/healthz");
  assert.equal(r.status, 200);
  assert.deepEqual(r.json, { status: "ok" });
  for (const q of ["js-server-only=true", "js-enabled-only=false"]) assert.equal((await s.page(`/healthz?${q}`)).status, 200, q);
});

scenario("the pages of what is not configured are there and empty", async (t) => {
  const s = await t.server({ monitor: true });
  assert.equal((await s.page("/routez")).json.num_routes, 0);
  assert.deepEqual((await s.page("/routez")).json.routes, []);
  const g = (await s.page("/gatewayz")).json;
  assert.deepEqual(g.outbound_gateways, {});
  assert.deepEqual(g.inbound_gateways, {});
  assert.equal((await s.page("/leafz")).json.leafnodes, 0);
  const js = (await s.page("/jsz")).json;
  assert.equal(typeof js.memory, "number");
  assert.equal(js.disabled, true);
  isTime(js.now);
});

scenario("the front page links to the others", async (t) => {
  const s = await t.server({ monitor: true });
  const r = await s.page("/");
  assert.match(r.headers.get("content-type"), /text\/html/);
  for (const p of ["varz", "connz", "subsz", "accountz", "healthz"]) assert.ok(r.text.includes(p), p);
});

scenario("a base path moves all pages", async (t) => {
  const s = await t.server({ monitor: true, config: 'http_base_path: "/nats"' });
  assert.equal((await s.page("/nats/varz")).status, 200);
  assert.equal((await s.page("/nats/healthz")).json.status, "ok");
  assert.notEqual((await s.page("/varz")).status, 200);
});

scenario("pages over https", async (t) => {
  const s = await t.server({ config: `https: "127.0.0.1:-1"\n${tlsBlock()}` });
  assert.match(s.http, /^https:/);
  const https = await import("node:https");
  const body = await new Promise((ok, bad) => {
    https.get(`${s.http}/varz`, { ca: certs().read("ca.pem") }, (res) => {
      let text = "";
      res.on("data", (d) => (text += d));
      res.on("end", () => ok(text));
    }).on("error", bad);
  });
  assert.ok(JSON.parse(body).server_id);
});

scenario("several requests on one HTTP connection, and one that never ends", async (t) => {
  const s = await t.server({ monitor: true });
  const { Raw } = await import("./lib/raw.mjs");
  const port = Number(new URL(s.http).port);
  const h = await Raw.open(port, { silent: true });
  t.after(() => h.close());
  for (let i = 0; i < 3; i++) {
    h.sendBytes("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await h.expect(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n[^]*?"status": ?"ok"[^]*?\}/);
  }
  const lazy = await Raw.open(port, { silent: true });
  t.after(() => lazy.close());
  lazy.sendBytes("GET /var");
  assert.equal((await s.page("/healthz")).status, 200);
});

scenario("Prometheus text at /metrics", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true });
  const nc = await t.connect(s);
  nc.publish("x", "123");
  await nc.flush();
  const r = await s.page("/metrics");
  assert.equal(r.status, 200);
  assert.match(r.headers.get("content-type"), /^text\/plain/);
  const lines = r.text.trimEnd().split("\n");
  const samples = lines.filter((l) => !l.startsWith("#"));
  assert.ok(samples.length > 10);
  for (const l of samples) assert.match(l, /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? [-+0-9.eE]+(Inf)?$/, l);
  const types = new Set(lines.filter((l) => l.startsWith("# TYPE")).map((l) => l.split(" ")[2]));
  for (const l of samples) {
    const name = l.match(/^[a-zA-Z0-9_:]+/)[0];
    assert.ok(types.has(name) || types.has(name.replace(/_(bucket|sum|count|total)$/, "")), `TYPE of ${name}`);
  }
});
