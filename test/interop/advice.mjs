// advice.mjs: what the log and -t tell an operator: open servers, plain passwords, changes by a reload, recovery.
import assert from "node:assert/strict";
import dgram from "node:dgram";
import fs from "node:fs";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { jetstreamBlock } from "./lib/js.mjs";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly, runBinary } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const bcrypt = "$2a$04$P/.bd.7unw9Ew7yWJqXsl.f4oNRLQGvadEL2YnqQXbbb.IVQajRdK";
const plain = /\[WRN\] Plaintext passwords detected, use nkeys or bcrypt/;

scenario("passwords in clear are warned of; bcrypt, nkeys and tokens are not", async (t) => {
  const cases = [
    ["authorization { user: a, password: b }", true],
    ["authorization { users: [ {user: a, password: b} ] }", true],
    ["accounts { A { users: [ {user: a, password: b} ] } }", true],
    [`authorization { user: a, password: "${bcrypt}" }`, false],
    [`accounts { A { users: [ {user: a, password: "${bcrypt}"} ] } }`, false],
    ["authorization { users: [ {nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4} ] }", false],
    ["authorization { token: abc }", false],
    ["debug: false", false],
  ];
  for (const [config, wanted] of cases) {
    const s = await t.server({ config });
    await s.logged(/Server is ready/);
    assert.equal(plain.test(s.log()), wanted, config);
    await s.stop();
  }
});

// The ports file names 127.0.0.1, and nobody else connects.
const open = /\[WRN\] Everybody who reaches this machine can connect/g;
scenario("a server that is open to everybody says so once, in one line, and how to restrict it", mayfly, async (t) => {
  const cases = [
    ["debug: false", 1],
    ['host: "::"', 1],
    ["authorization { token: abc }", 0],
    ["accounts { A { users: [ {user: a, password: b} ] } }", 0],
    ['listen: "127.0.0.1:-1"', 0],
    ['listen: "127.0.0.1:-1", websocket { listen: "0.0.0.0:-1", no_tls: true }', 1],
    ['listen: "127.0.0.1:-1", websocket { listen: "127.0.0.1:-1", no_tls: true }', 0],
    ['listen: "127.0.0.1:-1", websocket { listen: "0.0.0.0:-1", no_tls: true, authorization { token: abc } }', 0],
  ];
  for (const [config, times] of cases) {
    const s = t.prepare({ config, listen: false });
    s.args = [...(config.includes("listen") ? [] : ["-p", "-1"]), "--ports_file_dir", s.dir];
    await s.start();
    await s.logged(/Server is ready/);
    s.reload(`${config}\nping_max: 3`);
    await s.logged(/Reloaded server configuration/);
    assert.equal((s.log().match(open) ?? []).length, times, config);
    if (times) assert.match(s.log(), /Everybody.* (-a 127\.0\.0\.1 \(|websocket \{ )listen: "127\.0\.0\.1:.*authorization block\n/);
    await s.stop();
  }
});

const changes = (text) => [...text.matchAll(/(?:\[INF\] |")Reload(?:ed)?: ([^"\n]*)/g)].map((m) => m[1]);
async function reload(s, config) {
  const before = s.log().length;
  s.reload(config);
  await until("the reload", () => /Reloaded server configuration/.test(s.log().slice(before)));
  return changes(s.log().slice(before));
}

scenario("a reload says what changed, as nats-server does", async (t) => {
  const s = await t.server({ config: "debug: false" });
  const said = await reload(s, `debug: true, max_payload: 2000, ping_interval: "1m", ping_max: 4, max_connections: 10, write_deadline: "3s",
    max_control_line: 8192, max_traced_msg_len: 10, no_fast_producer_stall: true, server_tags: [a], server_metadata { a: b },
    pid_file: "DIR/pid", authorization { user: a, password: c }`);
  for (const line of ["debug = true", "max_payload = 2000", "ping_interval = 1m0s", "ping_max = 4", "max_connections = 10", "write_deadline = 3s",
    "max_control_line = 8192", "max_traced_msg_len = 10", "fast producers will not be stalled", "tags", "metadata", `pid_file = ${s.file("pid")}`,
    "authorization username", "authorization password"]) assert.ok(said.includes(line), `${line} is not among ${said}`);
  const back = await reload(s, "debug: false");
  for (const line of ["debug = false", "max_payload = 1048576", "ping_interval = 2m0s", "fast producers will be stalled", "authorization username"])
    assert.ok(back.includes(line), `${line} is not among ${back}`);
});

scenario("a reload says nothing that did not change, and no secret", mayfly, async (t) => {
  const accounts = (p) => `accounts { A { users: [ {user: a, password: ${p}} ] } }\n`;
  const s = await t.server({ config: jetstreamBlock() + accounts("s3cret") });
  assert.deepEqual(await reload(s), []);
  assert.deepEqual(await reload(s, jetstreamBlock() + accounts("0ther")), ["accounts"]);
  assert.deepEqual(await reload(s, `${jetstreamBlock()}${accounts("0ther")}ttl { warn: "2h" }`), ["ttl: warn"]);
  const more = `${jetstreamBlock('scrub: "24h"')}${accounts("0ther")}ttl { default: "1d", max: "2d" }`;
  assert.deepEqual(await reload(s, more), ["jetstream: scrub", "ttl: default, max, warn"]);
  assert.doesNotMatch(s.log(), /s3cret|0ther/);
});

// Every option that a reload accepts, one at a time.  Secrets are marked by the word s3cret.
const each = [
  ['client_advertise: "a:1"', "client_advertise = a:1"], ["trace: true", "trace = true"], ["trace_verbose: true", "trace_verbose = true"],
  ["trace_headers: true", "trace_headers = true"], ["logtime: false", "logtime = false"], ["logtime_utc: true", "logtime_utc = true"],
  ["log_format: json", "log_format"], ["max_conn: 7", "max_connections = 7"], ["connect_error_reports: 5", "connect_error_reports = 5"],
  ["reconnect_error_reports: 5", "reconnect_error_reports = 5"], ['busy_poll: "1ms"', "busy_poll = 1ms"], ["write_timeout: retry", "write_timeout"],
  ["authorization { token: s3cret }", "authorization token"], ["authorization { timeout: 9 }", "authorization timeout = 9s"],
  ["authorization { users: [ {user: a, password: s3cret} ] }", "authorization users"],
  ["authorization { user: a, password: s3cret, default_permissions { publish: x } }", "authorization default_permissions"],
  ["authorization { user: a, password: s3cret, permissions { publish: x } }", "authorization default_permissions"],
  ["maps { a: b }", "mappings"], ["server_tags: [x]", "tags"], ["feature_flags { x: true }", "feature_flags"], ["proxy_protocol: true", "proxy_protocol"],
  ["default_js_domain { \"$G\": hub }", "default_js_domain"], ["ocsp: false", "ocsp"], ["prof_port: 0", "prof_port"],
];
scenario(`each of ${each.length} options that a reload changes is named, with no secret`, mayfly, async (t) => {
  const s = await t.server({ config: "debug: false" });
  for (const [config, line] of each) {
    const said = await reload(s, config);
    assert.ok(said.includes(line), `${config}: ${line} is not among ${said}`);
    assert.ok((await reload(s, "debug: false")).length > 0, config);
  }
  assert.doesNotMatch(s.log(), /s3cret/);
});

scenario("two paths that differ after a hundred characters are a change", mayfly, async (t) => {
  const s = t.prepare();
  const file = (n) => `pid_file: "DIR/${"./".repeat(80)}${n}"`;
  s.config = file("a");
  await s.start();
  assert.equal((await reload(s, file("b"))).length, 1);
  assert.deepEqual([fs.existsSync(s.file("a")), fs.existsSync(s.file("b"))], [false, true]);
});

scenario("a file with DOS line ends and a byte order mark is read as another", async (t) => {
  const s = t.prepare();
  fs.writeFileSync(s.confFile, Buffer.from(`${isMayfly ? "\ufeff" : ""}${s.head}max_payload: 2000\nauthorization {\n  token: abc\n}\n`.replaceAll("\n", "\r\n")));
  s.writeConfig = () => s.confFile;
  await s.start();
  assert.equal((await t.connect(s, { token: "abc" })).info.max_payload, 2000);
});

scenario("a file that cannot be read prevents a start, and a reload keeps the configuration", mayfly, async (t) => {
  const s = t.prepare({ config: "max_payload: 2000", listen: false });
  s.args = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", s.dir]; // so that an empty file moves no address
  await s.start();
  for (const broken of ["missing", "a folder", "half", "empty"]) {
    const before = s.log().length;
    fs.rmSync(s.confFile, { recursive: true, force: true });
    if (broken === "a folder") fs.mkdirSync(s.confFile);
    if (broken === "half") fs.writeFileSync(s.confFile, "max_payload: ");
    if (broken === "empty") fs.writeFileSync(s.confFile, "# nothing\n");
    else {
      const start = await runBinary(["-c", s.confFile]);
      assert.equal(start.code, 1, broken);
      assert.match(start.text, /server\.conf/, broken);
    }
    s.signal("SIGHUP");
    await until(`the refusal: ${broken}`, () => /\[ERR\] Failed to reload server configuration: .*server\.conf/.test(s.log().slice(before)));
    assert.equal((await t.connect(s)).info.max_payload, 2000, broken);
  }
});

scenario("a storm of SIGHUP: the last file counts, and nobody is disconnected", mayfly, async (t) => {
  const s = await t.server({ config: "max_payload: 2000", monitor: true });
  const nc = await t.connect(s);
  for (let i = 0; i < 200; i++) {
    fs.writeFileSync(`${s.confFile}.new`, `${s.head}max_payload: ${3000 + i}`);
    fs.renameSync(`${s.confFile}.new`, s.confFile); // as editors do: never half a file
    s.signal("SIGHUP");
  }
  await until("the last file", () => s.log().includes("Reloaded: max_payload = 3199"));
  await nc.flush();
  assert.deepEqual([nc.isClosed(), (await s.varz()).total_connections], [false, 1]);
  assert.doesNotMatch(s.log(), /Failed to reload/);
});

scenario("a start says how many streams and messages it recovered, and in what time", mayfly, async (t) => {
  const s = await t.server({ config: jetstreamBlock() });
  await s.logged(/Recovered 0 streams with 0 messages \(0 with a deadline\) in \S+s/);
  const nc = await t.connect(s);
  const jsm = await jetstreamManager(nc);
  for (const name of ["A", "B"]) await jsm.streams.add({ name, subjects: [`${name}.>`], allow_msg_ttl: true });
  const ttl = headers();
  ttl.set("Nats-TTL", "1h");
  await jetstream(nc).publish("A.1", "x");
  await jetstream(nc).publish("A.2", "x", { headers: ttl });
  await jetstream(nc).publish("B.1", "x");
  await s.restart();
  await s.logged(/Recovered 2 streams with 3 messages \(1 with a deadline\) in \S+s/);
});

// What passes -t does start, and the other way round.
scenario("-t and a start refuse the same", mayfly, async () => {
  const cases = [
    ["port: 14221, http_port: 14221", /port 14221 is for clients and for monitoring/],
    ['listen: "127.0.0.1:14221", websocket { port: 14221, no_tls: true }', /port 14221 is for clients and for websocket/],
    ['port: -1, log_file: "DIR/none/log"', /none.*No such file/],
    ['port: -1, log_file: "DIR"', /folder|directory/],
    ['port: -1, pid_file: "DIR/none/pid"', /none.*No such file/],
    ['port: -1, ports_file_dir: "DIR/none"', /none.*No such file/],
    ['port: -1, ports_file_dir: "/bin/sh"', /\/bin\/sh.*not a directory/i],
    ['listen: "localhost:14221", http: "127.0.0.1:14221"', /port 14221 is for clients and for monitoring|14221: bind: address already in use/],
    ['port: -1, remote_syslog: "udp:127.0.0.1:514"', /remote syslog .*network is none of udp, tcp, unix/],
    ['port: -1, remote_syslog: "tcp://127.0.0.1:1"', /remote syslog .*connect: Connection refused/],
    ['listen: "203.0.113.1:4222"', /203\.0\.113\.1:4222: bind: cannot assign requested address/],
  ];
  for (const [config, reason] of cases) {
    for (const flags of [["-t"], []]) {
      const file = `/tmp/mayfly-advice-${process.pid}`;
      fs.mkdirSync(file, { recursive: true });
      fs.writeFileSync(`${file}/c`, config.replace(/\bDIR\b/g, file));
      const r = await runBinary([...flags, "-c", `${file}/c`]);
      fs.rmSync(file, { recursive: true });
      assert.deepEqual([r.code, flags], [1, flags], `${config}: ${r.text}`);
      assert.match(r.text, reason, config);
    }
  }
});

scenario("-t names addresses that are in use, and passes: perhaps the server is to be reloaded", mayfly, async (t) => {
  const s = await t.server({ monitor: true, config: jetstreamBlock() });
  const http = new URL(s.http).port;
  fs.writeFileSync(s.confFile, `listen: "127.0.0.1:${s.port}", http: "127.0.0.1:${http}", jetstream { store_dir: "${s.file("js")}" }`);
  const r = await runBinary(["-t", "-c", s.confFile]);
  assert.equal(r.code, 0, r.text);
  assert.match(r.text, new RegExp(`warning: clients: listen tcp 127\\.0\\.0\\.1:${s.port}: bind: address already in use; a start succeeds when`));
  assert.match(r.text, new RegExp(`warning: monitoring: listen tcp 127\\.0\\.0\\.1:${http}: `));
  await (await t.raw(s)).connect({}); // the server noticed nothing
});

scenario("-t gives the warnings that a start would log", mayfly, async (t) => {
  const s = t.prepare({ config: "authorization { user: a, password: b }" });
  const r = await runBinary(["-t", "-c", s.writeConfig()]);
  assert.deepEqual([r.code, /warning: Plaintext passwords detected/.test(r.text)], [0, true]);
  fs.writeFileSync(s.confFile, "debug: false");
  const o = await runBinary(["-t", "-p", "-1", "-c", s.confFile]);
  assert.deepEqual([o.code, /warning: Everybody who reaches/.test(o.text)], [0, true]);
  const env = { HOME: "/nonexistent", XDG_STATE_HOME: "", TMPDIR: s.dir };
  const j = await runBinary(["-t", "-js", "-p", "-1", "-c", s.confFile], { env });
  assert.deepEqual([j.code, /warning: Temporary storage directory used/.test(j.text)], [0, true], j.text);
});

scenario("remote_syslog: the log goes to that address", mayfly, async (t) => {
  const sink = dgram.createSocket("udp4");
  t.after(() => sink.close());
  let text = "";
  sink.on("message", (m) => (text += `${m}\n`));
  await new Promise((r) => sink.bind(0, "127.0.0.1", r));
  await t.server({ config: `remote_syslog: "udp://127.0.0.1:${sink.address().port}"` });
  await until("a line", () => /Server is ready/.test(text));
});
