// pages.mjs: the pages field by field: names, order, types, and when a field is left out.  Each list
// below is what nats-server 2.15.1 shows in the same situation; run against it, they must hold too.
import assert from "node:assert/strict";
import WebSocket from "ws";
import { nkeyAuthenticator } from "@nats-io/transport-node";
import { createUser } from "@nats-io/nkeys";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { parseMetrics } from "./lib/prometheus.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

// What only one of the two has: our version; flags of a JetStream this version does not serve; the
// expiry of certificates.
const OURS = ["mayfly", "possible_connections"];
const THEIRS = ["feature_flags", "tls_cert_not_after"];
const fields = (o) => Object.keys(o).filter((k) => !OURS.includes(k) && !THEIRS.includes(k));
const has = (o, list, what) => assert.deepEqual(fields(o), list.split(/\s+/).filter(Boolean), what);

const accounts = `server_name: heron
  accounts {
    A { users: [ {user: a, password: p} ]
        exports: [ {stream: "s.>"}, {service: "q.*"}, {service: "w.>", response_type: stream, accounts: [B]} ] }
    B { users: [ {user: b, password: p} ]
        imports: [ {stream: {account: A, subject: "s.x"}}, {service: {account: A, subject: "q.*"}, to: "z.*"} ]
        mappings: { m: n } }
    SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;
const as = (user) => ({ user, pass: "p", name: `client-${user}` });

const VARZ = `server_id server_name version proto go host port max_connections ping_interval ping_max http_host
  http_port http_base_path https_port auth_timeout max_control_line max_payload max_pending cluster gateway leaf
  mqtt websocket jetstream tls_timeout write_deadline start now uptime mem cores gomaxprocs cpu connections
  total_connections routes remotes leafnodes in_msgs in_bytes in_client_msgs in_client_bytes out_msgs out_bytes
  out_client_msgs out_client_bytes slow_consumers stale_connections stalled_clients subscriptions http_req_stats
  config_load_time config_digest system_account slow_consumer_stats stale_connection_stats disk_io_wait_stats`;

scenario("varz: every field of a plain server, in order", async (t) => {
  const s = await t.server({ monitor: true });
  const v = (await s.page("/varz")).json;
  has(v, VARZ);
  for (const block of ["cluster", "gateway", "leaf", "mqtt", "websocket", "jetstream"]) has(v[block], "", block);
  for (const k of ["slow_consumer_stats", "stale_connection_stats"]) has(v[k], "clients routes gateways leafs", k);
  has(v.disk_io_wait_stats, "waiters waits wait_time max_wait_time");
  assert.deepEqual(v.http_req_stats, { "/varz": 1 });
  assert.equal(v.system_account, "$SYS");
  assert.ok(v.cpu >= 0 && v.cpu < 1000);
});

scenario("varz: fields that depend on the configuration", async (t) => {
  const s = await t.server({ monitor: true, config: `server_tags: ["a:b"], server_metadata: {k: v}, max_subs: 9
    authorization { user: u, password: p, timeout: 5 }
    client_advertise: "advertised.test:4000"
    websocket { listen: "127.0.0.1:-1", no_tls: true, same_origin: true, allowed_origins: ["http://a.test"]
                handshake_timeout: "3s", compression: true, advertise: "ws.test:1" }
    ${tlsBlock("verify: true")}` });
  const v = (await s.page("/varz")).json;
  has(v, VARZ.replace("port max_connections", "port auth_required tls_required tls_verify max_connections max_subscriptions")
    .replace("config_digest", "config_digest tags metadata"));
  has(v.websocket, "host port advertise handshake_timeout no_tls same_origin allowed_origins compression");
  assert.deepEqual([v.host, v.port], ["advertised.test", 4000]);
  assert.deepEqual([v.auth_timeout, v.tls_timeout, v.max_subscriptions], [5, 60, 9]);
  assert.deepEqual([v.tags, v.metadata], [["a:b"], { k: "v" }]);
});

scenario("varz and gatewayz: blocks of features beyond one server", async (t) => {
  const s = await t.server({ monitor: true, config: `
    cluster { name: CC, listen: "127.0.0.1:-1", routes: ["nats://user:secret@127.0.0.1:1"] }
    leafnodes { listen: "127.0.0.1:-1" }
    accounts { SYS { users: [ {user: sys, password: p} ] } }, system_account: SYS
    gateway { name: CC, listen: "127.0.0.1:-1" }` });
  const r = await s.page("/varz");
  assert.doesNotMatch(r.text, /secret/);
  const { cluster, leaf, gateway } = r.json;
  assert.deepEqual([cluster.name, cluster.addr, cluster.urls], ["CC", "127.0.0.1", ["127.0.0.1:1"]]);
  for (const port of [cluster.cluster_port, leaf.port, gateway.port]) assert.ok(port > 0);
  assert.deepEqual([leaf.host, gateway.host, gateway.name], ["127.0.0.1", "127.0.0.1", "CC"]);
  has((await s.page("/gatewayz")).json, "server_id now name host port outbound_gateways inbound_gateways");
});

scenario("varz: no system account, no field", async (t) => {
  const s = await t.server({ monitor: true, config: "no_system_account: true" });
  has((await s.page("/varz")).json, VARZ.replace("system_account ", ""));
  has((await s.page("/accountz")).json, "server_id now accounts");
});

const CONN = `cid kind type ip port start last_activity rtt uptime idle pending_bytes in_msgs out_msgs in_bytes out_bytes
  subscriptions name lang version`;

scenario("connz: every field, with and without auth and subscriptions", async (t) => {
  const s = await t.server({ monitor: true, config: accounts });
  const a = await t.connect(s, as("a"));
  a.subscribe("one", { queue: "q", callback: () => {} });
  a.subscribe("two", { max: 5, callback: () => {} });
  await a.flush();
  const page = async (q) => (await s.page(`/connz?${q}`)).json;
  has(await page(""), "server_id now num_connections total offset limit connections");
  const plain = (await page("")).connections[0];
  has(plain, CONN);
  assert.match(plain.rtt, /^[\d.]+(ns|µs|ms|s)$/); // from accept to CONNECT, until a ping was answered
  has((await page("auth=1")).connections[0], `${CONN} authorized_user account name_tag`);
  has((await page("auth=1&subs=true")).connections[0], `${CONN} authorized_user account subscriptions_list name_tag`);
  const detail = (await page("subs=DETAIL")).connections[0];
  has(detail, `${CONN} subscriptions_list_detail`);
  const by = Object.fromEntries(detail.subscriptions_list_detail.map((d) => [d.subject, d]));
  has(by.one, "subject qgroup sid msgs cid");
  has(by.two, "subject sid msgs max cid");
  await a.close();
  const gone = await until("the closed one", async () => (await page("state=Closed&auth=1&subs=detail")).connections[0]);
  has(gone, `${CONN.replace("rtt", "stop reason rtt")} authorized_user account subscriptions_list_detail name_tag`);
  has(gone.subscriptions_list_detail.find((d) => d.subject === "one"), "account account_tag subject qgroup sid msgs cid");
  assert.deepEqual([gone.reason, gone.account, gone.name_tag], ["Client Closed", "A", "A"]);
});

scenario("connz: the global account is not named, users are, tokens are not shown", async (t) => {
  const open = await t.server({ monitor: true });
  await t.connect(open);
  has((await open.page("/connz?auth=1")).json.connections[0], `${CONN.replace("name ", "")} name_tag`);
  const token = await t.server({ monitor: true, config: "authorization { token: hush }" });
  await t.connect(token, { token: "hush" });
  const r = await token.page("/connz?auth=1");
  assert.doesNotMatch(r.text, /hush/);
  assert.equal(r.json.connections[0].authorized_user, "[REDACTED]");
  const key = createUser();
  const nk = await t.server({ monitor: true, config: `authorization { users: [ { nkey: ${key.getPublicKey()} } ] }` });
  await t.connect(nk, { authenticator: nkeyAuthenticator(key.getSeed()) });
  const [c] = (await nk.page("/connz?auth=1")).json.connections;
  has(c, `${CONN.replace("name ", "")} authorized_user issuer_key name_tag`);
  assert.deepEqual([c.authorized_user, c.issuer_key], [key.getPublicKey(), "$G"]); // an account's name is its key here
});

scenario("connz: TLS: version, cipher, certificate of the peer", async (t) => {
  const s = await t.server({ monitor: true, config: tlsBlock("verify: true") });
  const c = certs();
  await t.connect(s, { tls: { caFile: `${c.ca}.pem`, certFile: `${c.client}.pem`, keyFile: `${c.client}.key` } });
  const open = `${CONN.replace("name ", "")} tls_version tls_cipher_suite`;
  const [plain] = (await s.page("/connz")).json.connections;
  has(plain, open);
  assert.match(plain.tls_version, /^1\.[23]$/);
  assert.match(plain.tls_cipher_suite, /^TLS_/);
  const [auth] = (await s.page("/connz?auth=true")).json.connections;
  has(auth, `${open} tls_peer_certs name_tag`);
  has(auth.tls_peer_certs[0], "subject spki_sha256 cert_sha256");
  assert.equal(auth.tls_peer_certs[0].subject, "CN=client");
});

scenario("connz: TLS before INFO, and a client that never gets in", async (t) => {
  const s = await t.server({ monitor: true, config: `${tlsBlock("handshake_first: true")}
    authorization { user: u, password: p }` });
  const c = certs();
  await t.refused(s, { user: "ghost", pass: "x", tls: { caFile: `${c.ca}.pem`, handshakeFirst: true } });
  const gone = await until("the refused one", async () => (await s.page("/connz?state=closed&auth=1")).json.connections[0]);
  assert.deepEqual([gone.tls_first, gone.authorized_user, gone.reason], [true, "ghost", "Authentication Failure"]);
});

scenario("connz: a WebSocket client", async (t) => {
  const s = await t.server({ monitor: true, config: 'websocket { listen: "127.0.0.1:-1", no_tls: true }' });
  const ws = new WebSocket(s.ws, { perMessageDeflate: false });
  t.after(() => ws.terminate());
  await new Promise((ok, bad) => ws.once("message", ok).once("error", bad));
  ws.send('CONNECT {"verbose":false,"name":"browser"}\r\nPING\r\n');
  await until("it", async () => (await s.page("/connz")).json.connections.some((c) => c.name === "browser"));
  assert.equal((await s.page("/connz")).json.connections[0].type, "websocket");
});

scenario("connz: what total, limit and offset count; bad queries", async (t) => {
  const s = await t.server({ monitor: true, config: accounts });
  for (const u of ["a", "a", "b"]) await t.connect(s, as(u));
  const page = async (q) => (await s.page(`/connz?${q}`)).json;
  const counts = async (q) => {
    const r = await page(q);
    return [r.num_connections, r.total, r.offset, r.limit];
  };
  assert.deepEqual(await counts("user=b"), [1, 3, 0, 1024]);
  assert.deepEqual(await counts("acc=A"), [2, 2, 0, 1024]);
  assert.deepEqual(await counts("cid=999"), [0, 3, 0, 1]);
  assert.deepEqual(await counts("offset=-1&limit=-1"), [3, 3, 0, 1024]);
  assert.deepEqual(await counts("acc=NOBODY"), [0, 0, 0, 1024]);
  assert.deepEqual(await counts("mqtt_client=x"), [0, 3, 0, 1024]);
  const up = (await page("sort=uptime")).connections.map((c) => c.cid);
  assert.deepEqual(up, [...up].sort((x, y) => y - x), "the youngest first");
  for (const [q, text] of [
    ["sort=zz", "invalid sorting option: zz"],
    ["sort=stop", "sort by stop only valid on closed connections"],
    ["sort=reason", "sort by reason only valid on closed connections"],
    ["state=zz", "Error decoding state for zz"],
    ["auth=zz", `Error decoding boolean for 'auth': strconv.ParseBool: parsing "zz": invalid syntax`],
    ["limit=zz", `Error decoding int for 'limit': strconv.Atoi: parsing "zz": invalid syntax`],
    ["cid=-1", `Error decoding uint64 for 'cid': strconv.ParseUint: parsing "-1": invalid syntax`],
  ]) {
    const r = await s.page(`/connz?${q}`);
    assert.deepEqual([r.status, r.text], [400, text]);
  }
});

const SUBLIST = "num_subscriptions num_cache num_inserts num_removes num_matches cache_hit_rate max_fanout avg_fanout";

scenario("subsz: counts, list, account, test subject", async (t) => {
  const s = await t.server({ monitor: true, config: accounts });
  const a = await t.connect(s, as("a"));
  a.subscribe("foo.*", { callback: () => {} });
  a.subscribe("foo.bar", { queue: "q", callback: () => {} });
  const b = await t.connect(s, as("b"));
  b.subscribe("foo.bar", { callback: () => {} });
  await a.flush();
  await b.flush();
  const page = async (q) => (await s.page(`/subsz?${q}`)).json;
  has(await page(""), `server_id now ${SUBLIST} total offset limit`);
  assert.deepEqual([(await page("")).total, (await page("test=foo.bar")).total], [0, 0]);
  const all = await page("subs=1&test=foo.bar");
  has(all, `server_id now ${SUBLIST} total offset limit subscriptions_list`);
  assert.equal(all.total, 3);
  const mine = await page("subs=1&acc=A&test=foo.bar");
  assert.deepEqual(mine.subscriptions_list.map((x) => x.subject).sort(), ["foo.*", "foo.bar"]);
  has(mine.subscriptions_list.find((x) => x.qgroup), "account account_tag subject qgroup sid msgs cid");
  assert.equal((await page("subs=1&test=foo.bar&limit=2")).subscriptions_list.length, 2);
  assert.equal((await page("subs=1&test=foo.bar&offset=2")).subscriptions_list.length, 1);
  has(await page("subs=1&test=nobody.here"), `server_id now ${SUBLIST} total offset limit`);
  assert.equal((await page("acc=NOBODY")).num_subscriptions, 0);
  const bad = await s.page("/subsz?test=foo.*");
  assert.deepEqual([bad.status, bad.text], [400, "invalid test subject, must be valid publish subject: foo.*"]);
});

scenario("accountz: one account in full", async (t) => {
  const s = await t.server({ monitor: true, config: accounts });
  await t.connect(s, as("b"));
  const names = (await s.page("/accountz")).json;
  has(names, "server_id now system_account accounts");
  assert.deepEqual([...names.accounts].sort(), ["$G", "A", "B", "SYS"]);
  const DETAIL = `account_name update_time expired complete jetstream_enabled leafnode_connections client_connections
    subscriptions mappings exports imports name_tag sublist_stats`;
  const page = async (name) => (await s.page(`/accountz?acc=${name}`)).json;
  has(await page("A"), "server_id now system_account account_detail");
  const A = (await page("A")).account_detail;
  has(A, DETAIL.replace("mappings ", ""));
  has(A.sublist_stats, SUBLIST);
  assert.equal(A.subscriptions, A.sublist_stats.num_subscriptions);
  const out = Object.fromEntries(A.exports.map((x) => [x.subject, x]));
  assert.deepEqual(out["s.>"], { subject: "s.>", type: "stream" });
  assert.deepEqual(out["q.*"], { subject: "q.*", type: "service", response_type: "Singleton" });
  assert.deepEqual(out["w.>"], { subject: "w.>", type: "service", response_type: "Streamed", approved_accounts: ["B"] });
  const B = (await page("B")).account_detail;
  has(B, DETAIL.replace("exports ", ""));
  assert.equal(B.client_connections, 1);
  assert.deepEqual(B.mappings, { m: [{ subject: "n", weight: 100 }] });
  const into = Object.fromEntries(B.imports.map((x) => [x.local_subject, x]));
  has(into["s.x"], "subject account local_subject type invalid share tracking");
  has(into["z.*"], "subject account to local_subject type invalid share tracking");
  for (const own of ["USER.INFO", "ACCOUNT.PING.CONNZ", "ACCOUNT.PING.STATZ", "SERVER.PING.CONNZ"])
    assert.equal(into[`$SYS.REQ.${own}`].account, "SYS", own);
  assert.equal((await page("SYS")).account_detail.is_system, true);
  const none = await s.page("/accountz?acc=NOBODY");
  assert.deepEqual([none.status, none.text], [400, "Account NOBODY does not exist"]);
});

scenario("accountz: accounts import the JetStream API, those without JetStream too", async (t) => {
  const config = `jetstream { store_dir: "DIR/js" }\naccounts {
    A { jetstream: enabled, users: [ {user: a, password: p} ] }
    B { users: [ {user: b, password: p} ] }
    SYS { users: [ {user: s, password: p} ] } }\nsystem_account: SYS`;
  const s = await t.server({ monitor: true, config });
  const api = async (name) => (await s.page(`/accountz?acc=${name}`)).json.account_detail.imports.filter((x) => x.subject === "$JS.API.>");
  for (const name of ["A", "B"]) {
    const [one, ...more] = await api(name);
    assert.deepEqual([one.account, one.local_subject, one.to, one.type, one.invalid, more], ["SYS", "$JS.API.>", "$JS.API.>", "service", false, []], name);
  }
});

scenario("accstatz: accounts in use, or all", async (t) => {
  const s = await t.server({ monitor: true, config: accounts });
  const a = await t.connect(s, as("a"));
  a.subscribe("x", { callback: () => {} });
  a.publish("x", "12345");
  await a.flush();
  const page = (await s.page("/accstatz")).json;
  has(page, "server_id now account_statz");
  assert.deepEqual(page.account_statz.map((x) => x.acc), ["A"]);
  const [x] = page.account_statz;
  has(x, "acc name conns leafnodes total_conns num_subscriptions sent received slow_consumers");
  for (const k of ["sent", "received"]) {
    has(x[k], "msgs bytes gateways routes leafs", k);
    assert.deepEqual([x[k].msgs, x[k].bytes], [1, 5]);
  }
  assert.deepEqual((await s.page("/accstatz?unused=1")).json.account_statz.map((y) => y.acc).sort(), ["$G", "A", "B", "SYS"]);
});

scenario("routez, gatewayz, leafz, jsz, raftz, ipqueuesz of a server alone", async (t) => {
  const s = await t.server({ monitor: true });
  const page = async (p) => (await s.page(p)).json;
  has(await page("/routez"), "server_id server_name now num_routes routes");
  has(await page("/gatewayz"), "server_id now outbound_gateways inbound_gateways");
  has(await page("/leafz"), "server_id now leafnodes leafs");
  const j = await page("/jsz");
  has(j, `memory storage reserved_memory reserved_storage accounts ha_assets api server_id now disabled config
    streams consumers messages bytes total`);
  has(j.api, "level total errors");
  assert.equal(j.disabled, true);
  const raft = await s.page("/raftz");
  assert.deepEqual([raft.status, raft.text], [404, "No Raft nodes registered"]);
  assert.equal((await s.page("/ipqueuesz")).status, 200);
  assert.equal((await s.page("/stacksz")).status, 200);
  assert.equal((await s.page("/nothing")).status, 404);
});

scenario("healthz: what is asked wrongly, and a server that leaves", async (t) => {
  // Killed at the end: it would take its time to leave.
  const s = await t.prepare({ monitor: true, config: 'lame_duck_duration: "30s", lame_duck_grace_period: "20s"' }).start();
  assert.equal((await s.page("/healthz")).text, '{"status":"ok"}');
  assert.equal((await s.page("/healthz?account=$G&stream=S&details=1")).text, '{"status":"ok"}'); // no JetStream, nothing ill
  const stream = '"account" must not be empty when checking stream health';
  const r = await s.page("/healthz?stream=S");
  assert.deepEqual([r.status, r.json], [400, { status: "error", error: stream }]);
  const d = await s.page("/healthz?stream=S&details=true");
  assert.deepEqual([d.status, d.json], [400, { status: "error", errors: [{ type: "BAD_REQUEST", error: stream }] }]);
  const c = await s.page("/healthz?account=$G&consumer=C");
  assert.deepEqual([c.status, c.json.error], [400, '"stream" must not be empty when checking consumer health']);
  await t.connect(s);
  s.signal("SIGUSR2");
  const ill = await until("it to be ill", async () => {
    const h = await s.page("/healthz");
    return h.status !== 200 && h;
  });
  assert.equal(ill.status, 500);
  assert.equal(ill.json.status, "error");
  assert.match(ill.json.error, /^failed to be ready for connections/);
});

scenario("http_req_stats counts each page by its path", async (t) => {
  const s = await t.server({ monitor: true });
  for (const p of ["/", "/connz", "/connz", "/subscriptionsz", "/subsz", "/healthz"]) await s.page(p);
  assert.deepEqual((await s.varz()).http_req_stats, { "/": 1, "/connz": 2, "/healthz": 1, "/subsz": 2, "/varz": 1 });
});

scenario("metrics are strictly valid and say what the other pages say", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: `${accounts}\nserver_name: "q\\"uote\\\\back"` });
  const a = await t.connect(s, as("a"));
  a.subscribe("x", { callback: () => {} });
  a.publish("x", "12345");
  await a.flush();
  const r = await s.page("/metrics");
  assert.equal(r.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const m = parseMetrics(r.text);
  const value = (name, labels = {}) => m.get(name).samples.find((x) => Object.entries(labels).every(([k, v]) => x.labels[k] === v)).value;
  assert.equal(value("mayfly_connections"), 1);
  assert.equal(value("mayfly_in_msgs_total"), 1);
  assert.equal(value("mayfly_out_bytes_total"), 5);
  assert.equal(value("mayfly_account_connections", { account: "A" }), 1);
  assert.equal(value("mayfly_account_connections", { account: "B" }), 0);
  assert.equal(m.get("mayfly_info").samples[0].labels.server_name, 'q"uote\\back');
  assert.ok(value("process_resident_memory_bytes") > 1e6);
  for (const [name, metric] of m)
    assert.equal(metric.type, name.endsWith("_total") ? "counter" : "gauge", `${name}: counters end in _total`);
});
