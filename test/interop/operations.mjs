// operations.mjs: flags, files, signals and logs, where an operator of nats-server expects them.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { headers } from "@nats-io/transport-node";
import { collect, scenario } from "./lib/scenario.mjs";
import { binary, isMayfly, runBinary } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const read = (f) => {
  try {
    return fs.readFileSync(f, "utf8");
  } catch {
    return "";
  }
};

scenario("-v and --version print the version, -h the flags", async () => {
  const v = await runBinary(["-v"]);
  assert.equal(v.code, 0);
  assert.match(v.text, /^[\w-]+: v\d+\.\d+\.\d+/);
  assert.equal((await runBinary(["--version"])).text, v.text);
  const h = await runBinary(["-h"]);
  assert.equal(h.code, 0);
  for (const flag of ["--addr", "--port", "--config", "--signal", "--ports_file_dir", "--jetstream", "--tlsverify"])
    assert.ok(h.text.includes(flag), flag);
});

scenario("an unknown flag or word starts nothing", async () => {
  const flag = await runBinary(["--nonsense"]);
  assert.match(flag.text, /flag provided but not defined: -nonsense/);
  assert.match(flag.text, /usage|--help/i);
  const word = await runBinary(["nonsense"]);
  assert.equal(word.code, 1);
  assert.match(word.text, /unrecognized command: "nonsense"/);
});

scenario("-t tests a configuration and starts nothing", async (t) => {
  const s = t.prepare({ listen: false });
  fs.writeFileSync(s.confFile, "port: 4222\nserver_name: x\n");
  const good = await runBinary(["-t", "-c", s.confFile]);
  assert.equal(good.code, 0);
  assert.match(good.text, /configuration file .* is valid/);
  fs.writeFileSync(s.confFile, "port: 4222\nserver_name: x\n  nonsense_key: 5\n");
  const bad = await runBinary(["-t", "-c", s.confFile]);
  assert.equal(bad.code, 1);
  assert.ok(bad.text.includes(`${s.confFile}:3:`), bad.text);
  assert.match(bad.text, /unknown field "nonsense_key"/);
});

const broken = [
  ["port: nonsense", /:3:/], ["max_payload: {}", /:3:/], ["authorization { user: a, token: b }", /token/],
  ["accounts { A { imports: [ {stream: {account: NOPE, subject: x}} ] } }", /NOPE/],
  ["tls { cert_file: \"/no/such/file\", key_file: \"/no/such/file\" }", /no such file/i],
  ["jetstream {", /map|brace|end|EOF/i], ["no_auth_user: ghost", /ghost/], ["ping_interval: \"abc\"", /abc|duration/i],
  ["include \"missing.conf\"", /missing\.conf/], ["x: $UNDEFINED_VARIABLE_X", /UNDEFINED_VARIABLE_X/],
  ["server_name: \"has spaces\"", /spaces/],
];
scenario(`a bad configuration never starts: ${broken.length} kinds`, async (t) => {
  for (const [config, pattern] of broken) {
    const s = t.prepare({ config });
    s.writeConfig();
    const r = await runBinary(["-c", s.confFile]);
    assert.equal(r.code, 1, `${config}: ${r.text}`);
    assert.match(r.text, pattern, config);
  }
});

scenario("includes, variables, environment and comments", async (t) => {
  const s = t.prepare({
    config: `# a comment
      TOKEN = "from-variable" // another
      include "part.conf"
      authorization { token: $TOKEN }
      max_payload: $FROM_ENV`,
    env: { FROM_ENV: "2048" },
  });
  fs.writeFileSync(s.file("part.conf"), "server_name = included\n");
  await s.start();
  const nc = await t.connect(s, { token: "from-variable" });
  assert.equal(nc.info.server_name, "included");
  assert.equal(nc.info.max_payload, 2048);
});

scenario("flags beat the configuration file", async (t) => {
  const s = await t.server({ config: "server_name: fromfile", args: ["-n", "fromflag", "-D"] });
  assert.equal((await t.connect(s)).info.server_name, "fromflag");
  await s.logged(/\[DBG\]/);
});

scenario("ports file: named after program and pid, removed at the end", async (t) => {
  const s = await t.server({ monitor: true, config: "websocket { listen: \"127.0.0.1:-1\", no_tls: true }" });
  const file = s.portsFile();
  assert.equal(path.basename(file), `${path.basename(binary)}_${s.proc.pid}.ports`);
  assert.deepEqual(s.ports.nats, [`nats://127.0.0.1:${s.port}`]);
  assert.match(s.ports.monitoring[0], /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(s.ports.websocket[0], /^ws:\/\/127\.0\.0\.1:\d+$/);
  await s.stop();
  assert.ok(!fs.existsSync(file));
});

scenario("ports file and pid file by flags, -p -1", async (t) => {
  const s = t.prepare({ listen: false });
  s.spawn(["-a", "127.0.0.1", "-p", "-1", "-m", "-1", "-P", s.file("pid"), "--ports_file_dir", s.dir]);
  const ports = await until("the ports file", () => read(s.portsFile()).endsWith("}") && JSON.parse(read(s.portsFile())));
  assert.equal(ports.nats.length, 1);
  assert.equal(ports.monitoring.length, 1);
  assert.equal(read(s.file("pid")).trim(), String(s.proc.pid));
  s.signal("SIGTERM");
  await s.waitExit();
});

scenario("SIGTERM and SIGINT end it in good order, with clients connected", async (t) => {
  for (const signal of ["SIGTERM", "SIGINT"]) {
    const s = await t.server();
    const r = await (await t.raw(s)).connect();
    assert.equal((await s.stop(signal)).code, 0);
    await r.closed();
    assert.match(s.log(), /Server Exiting/);
  }
});

scenario("a port in use ends the start with an error", async (t) => {
  const s = await t.server();
  const why = `listen tcp 127.0.0.1:${s.port}: bind: address already in use`;
  const starts = [
    [["-p", `${s.port}`], `Error listening on port: 127.0.0.1:${s.port}, "${why}"`],
    [["-p", "-1", "-m", `${s.port}`], `Can't start monitoring: can't listen to the monitor port: ${why}`],
  ];
  for (const [args, text] of starts) {
    const r = await runBinary(["-a", "127.0.0.1", ...args]);
    assert.equal(r.code, 1);
    assert.ok(r.text.includes(`[FTL] ${text}`), r.text);
    if (isMayfly) assert.match(r.text, new RegExp(`stop the program that has it .*${args[1] === "-1" ? "-m" : "-p"} PORT`));
  }
});

scenario("log lines look like nats-server's", async (t) => {
  const s = await t.server();
  await s.logged(/Server is ready/);
  for (const line of s.log().trimEnd().split("\n"))
    assert.match(line, /^\[\d+\] \d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d{6} \[(INF|WRN|DBG|TRC|ERR|FTL)\] /);
  assert.match(s.log(), new RegExp(`^\\[${s.proc.pid}\\]`));
  assert.match(s.log(), new RegExp(`Listening for client connections on 127\\.0\\.0\\.1:${s.port}`));
});

scenario("trace shows the dialog", async (t) => {
  const s = await t.server({ args: ["-DV"] });
  const nc = await t.connect(s, { name: "talker" });
  nc.subscribe("some.subject", { callback: () => {} });
  nc.publish("some.subject", "payload text");
  await nc.flush();
  const cid = nc.info.client_id;
  await s.logged(new RegExp(`\\[TRC\\] 127\\.0\\.0\\.1:\\d+ - cid:${cid} .*<<- \\[SUB some\\.subject +1\\]`));
  await s.logged(/<<- \[PUB some\.subject 12\]/);
  await s.logged(/<<- MSG_PAYLOAD: \["payload text"\]/);
  await s.logged(/->> \[MSG some\.subject 1 12\]/);
  await s.logged(/\[DBG\] 127\.0\.0\.1:\d+ - cid:\d+ - Client connection created/);
});

const withSystem = `accounts { A { users: [ {user: a, password: p} ] }, SYS { users: [ {user: sys, password: p} ] } }, system_account: SYS`;
scenario("trace_verbose also shows what the server itself says in the system account", async (t) => {
  for (const [line, shown] of [["trace: true", false], ["trace_verbose: true", true]]) {
    const s = await t.server({ config: `${line}\n${withSystem}` });
    const sys = await t.connect(s, { user: "sys", pass: "p" });
    const seen = collect(sys, "$SYS.ACCOUNT.A.CONNECT");
    await sys.flush();
    await t.connect(s, { user: "a", pass: "p" });
    await until("the event", () => seen.length === 1);
    const id = JSON.parse((await sys.request("$SYS.REQ.SERVER.PING.IDZ", "", { timeout: 60000 })).string()).id;
    await s.logged(/<<- \[PUB \$SYS\.REQ\.SERVER\.PING\.IDZ /);
    await s.stop();
    const lines = s.log().split("\n").filter((l) => l.includes("[TRC] SYSTEM - <<- "));
    assert.equal(lines.some((l) => l.includes("[SUB $SYS.REQ.SERVER.PING.IDZ  ")), shown, line);
    assert.equal(lines.some((l) => /\[PUB _INBOX\.\S+  \d+\]/.test(l)), shown, line);
    assert.equal(lines.some((l) => l.includes("MSG_PAYLOAD") && l.includes(id)), shown, line);
    assert.equal(lines.some((l) => l.includes("[PUB $SYS.ACCOUNT.A.CONNECT  ")), shown, line);
  }
});

scenario("trace_headers shows headers, and no payloads", async (t) => {
  const s = await t.server({ config: "trace_headers: true" });
  const nc = await t.connect(s);
  const h = headers();
  h.set("Who", "me");
  nc.publish("with", "secret one", { headers: h });
  nc.publish("without", "secret two");
  await nc.flush();
  await s.logged(/<<- \[HPUB with /);
  await s.logged(/<<- \[PUB without /);
  await s.logged(/<<- MSG_PAYLOAD: \["NATS\/1\.0[^]*?Who: me/);
  assert.doesNotMatch(s.log(), /secret/);
});

scenario("-t says what the log would warn of", { only: "mayfly" }, async (t) => {
  const s = t.prepare({ listen: false });
  fs.writeFileSync(s.confFile, "port: 4222\ncluster { port: 6222 }\n");
  const r = await runBinary(["-t", "-c", s.confFile]);
  assert.equal(r.code, 0);
  assert.match(r.text, /warning: .*server\.conf:2:1: cluster: accepted, not active in this version\n[^]*is valid/);
});

scenario("a password in a broken CONNECT is not logged", async (t) => {
  const s = await t.server({ args: ["-DV"] });
  const r = await t.raw(s);
  r.send('CONNECT {"user":"bob","pass":hunter2}');
  await r.closed();
  await s.logged(/connection closed/i);
  assert.doesNotMatch(s.log(), /hunter/);
});

scenario("logtime off", async (t) => {
  const s = await t.server({ args: ["-T=false"] });
  await s.logged(/Server is ready/);
  assert.match(s.log(), /^\[\d+\] \[INF\] /);
});

scenario("a log file, reopened by SIGUSR1", async (t) => {
  const s = await t.server({ config: 'log_file: "DIR/server.log", debug: true' });
  const file = s.file("server.log");
  await until("the first lines", () => read(file).includes("Server is ready"));
  fs.renameSync(file, file + ".1");
  s.signal("SIGUSR1");
  await until("a new file", () => /re-?opened/i.test(read(file)));
  const nc = await t.connect(s);
  await nc.flush();
  await until("new lines in the new file", () => /Client connection created/.test(read(file)));
  assert.doesNotMatch(read(file + ".1"), /Client connection created/);
});

scenario("-sl sends signals", async (t) => {
  const s = await t.server({ config: 'log_file: "DIR/server.log"' });
  const r = await runBinary(["-sl", `reload=${s.proc.pid}`]);
  assert.equal(r.code, 0, r.text);
  await until("the reload", () => /Reloaded/.test(read(s.file("server.log"))));
  assert.equal((await runBinary(["--signal", `quit=${s.proc.pid}`])).code, 0);
  await s.waitExit();
  const none = await runBinary(["-sl", "nonsense=1"]);
  assert.equal(none.code, 1);
});

const later = {
  "cluster, leafnodes and websocket": `server_name: ibis
    cluster { name: C1, listen: "127.0.0.1:-1", authorization { user: r, password: r } }
    leafnodes { listen: "127.0.0.1:-1", authorization { user: l, password: l } }
    websocket { listen: "127.0.0.1:-1", no_tls: true }`,
  "jetstream with limits": `jetstream { store_dir: "DIR/js", max_mem: 1G, max_file: 10G, domain: d }
    accounts { A { jetstream: { max_mem: 512M, max_file: 1G, max_streams: 10 }, users: [ {user: a, password: p} ] } }
    no_auth_user: a`,
};
for (const [name, config] of Object.entries(later))
  scenario(`a configuration with ${name} loads and serves clients`, async (t) => {
    const s = await t.server({ monitor: true, config });
    const nc = await t.connect(s);
    const got = collect(nc, "a");
    nc.publish("a", "1");
    await nc.flush();
    assert.equal(got.length, 1);
    if (config.includes("cluster")) assert.ok(s.ports.cluster?.length > 0);
  });

scenario("listening sockets are where the configuration puts them", async (t) => {
  const s = await t.server();
  const other = new net.Socket();
  // Bound to 127.0.0.1 only.
  const refused = await new Promise((ok) => {
    other.once("error", () => ok(true));
    other.connect(s.port, "127.0.0.2", () => ok(false));
  });
  other.destroy();
  assert.ok(refused);
});
