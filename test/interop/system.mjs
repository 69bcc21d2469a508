// system.mjs: the system account's requests and events, as the nats CLI uses them.
import assert from "node:assert/strict";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const config = `server_name: owl, server_tags: ["az:1", "test"]
  accounts { A { users: [ {user: a, password: p} ] }, SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;
const as = (user) => ({ user, pass: "p" });

async function ask(nc, subject, body = "") {
  const m = await nc.request(subject, typeof body === "string" ? body : JSON.stringify(body), { timeout: 60000 });
  return JSON.parse(m.string());
}

function isServer(server, nc) {
  assert.equal(server.name, "owl");
  assert.equal(server.id, nc.info.server_id);
  assert.equal(server.ver, nc.info.version);
  assert.equal(server.host, "127.0.0.1");
  assert.deepEqual(server.tags, ["az:1", "test"]);
  assert.equal(typeof server.seq, "number");
  assert.ok(!Number.isNaN(Date.parse(server.time)));
}

scenario("SERVER.PING answers with statistics", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const a = await t.connect(s, as("a"));
  a.publish("x", "hello");
  await a.flush();
  const r = await ask(sys, "$SYS.REQ.SERVER.PING");
  isServer(r.server, sys);
  assert.equal(r.statsz.connections, 2);
  assert.equal(r.statsz.total_connections, 2);
  assert.ok(r.statsz.received.msgs >= 1);
  assert.ok(r.statsz.mem > 0);
  assert.ok(r.statsz.cores >= 1);
  assert.ok(r.statsz.active_accounts >= 1);
  assert.equal(r.statsz.slow_consumers, 0);
  assert.ok(!Number.isNaN(Date.parse(r.statsz.start)));
  for (const k of ["cpu", "subscriptions", "active_servers"]) assert.equal(typeof r.statsz[k], "number", k);
  for (const k of ["sent", "received"]) for (const n of ["msgs", "bytes"]) assert.equal(typeof r.statsz[k][n], "number");
});

scenario("IDZ is bare", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const r = await ask(sys, "$SYS.REQ.SERVER.PING.IDZ");
  assert.deepEqual({ name: r.name, host: r.host, id: r.id }, { name: "owl", host: "127.0.0.1", id: sys.info.server_id });
});

const pages = [
  ["STATSZ", (d) => d.connections], ["VARZ", (d) => d.max_payload], ["CONNZ", (d) => d.connections.length],
  ["SUBSZ", (d) => d.num_subscriptions], ["ACCOUNTZ", (d) => d.accounts.length], ["HEALTHZ", (d) => d.status === "ok"],
  ["ROUTEZ", (d) => d.server_id], ["GATEWAYZ", (d) => d.server_id], ["LEAFZ", (d) => d.server_id], ["JSZ", (d) => d.server_id],
];
scenario(`each page as a request, to all and to one: ${pages.map((p) => p[0]).join(" ")}`, async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  for (const [page, look] of pages)
    for (const to of ["PING", sys.info.server_id]) {
      const r = await ask(sys, `$SYS.REQ.SERVER.${to}.${page}`);
      isServer(r.server, sys);
      const data = page === "STATSZ" ? (r.data ?? r.statsz) : r.data;
      assert.ok(data, `${to}.${page} has data: ${JSON.stringify(r)}`);
      assert.ok(look(data), `${to}.${page}: ${JSON.stringify(data).slice(0, 300)}`);
    }
});

scenario("requests take the pages' options and filters", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const a = await t.connect(s, { ...as("a"), name: "needle" });
  a.subscribe("some.subject", { callback: () => {} });
  await a.flush();
  const r = await ask(sys, "$SYS.REQ.SERVER.PING.CONNZ", { acc: "A", subscriptions: true, auth: true });
  assert.equal(r.data.connections.length, 1);
  assert.equal(r.data.connections[0].name, "needle");
  assert.equal(r.data.connections[0].account, "A");
  assert.deepEqual(r.data.connections[0].subscriptions_list, ["some.subject"]);
  assert.equal((await ask(sys, "$SYS.REQ.SERVER.PING.VARZ", { server_name: "owl" })).data.server_name, "owl");
  // A filter that excludes this server: no answer at all.
  await assert.rejects(sys.request("$SYS.REQ.SERVER.PING.VARZ", '{"server_name":"eagle"}', { timeout: 300 }), /timeout/i);
  const bad = await ask(sys, "$SYS.REQ.SERVER.PING.CONNZ", "{not json");
  assert.equal(bad.error.code, 400);
});

scenario("requests about one account", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const a = await t.connect(s, as("a"));
  await a.flush();
  const connz = await ask(sys, "$SYS.REQ.ACCOUNT.A.CONNZ");
  assert.equal(connz.data.connections.length, 1);
  const info = await ask(sys, "$SYS.REQ.ACCOUNT.A.INFO");
  assert.equal(info.data.account_name, "A");
  assert.equal(info.data.client_connections, 1);
  const subsz = await ask(sys, "$SYS.REQ.ACCOUNT.A.SUBSZ");
  assert.equal(typeof subsz.data.num_subscriptions, "number");
});

scenario("an ordinary account may ask about itself only", async (t) => {
  const s = await t.server({ config });
  const a = await t.connect(s, { ...as("a"), name: "self" });
  const user = await ask(a, "$SYS.REQ.USER.INFO");
  assert.equal(user.data.user, "a");
  assert.equal(user.data.account, "A");
  isServer(user.server, a);
  const connz = await ask(a, "$SYS.REQ.ACCOUNT.PING.CONNZ");
  assert.deepEqual(connz.data.connections.map((c) => c.name), ["self"]);
  const statz = await ask(a, "$SYS.REQ.ACCOUNT.PING.STATZ");
  assert.ok(statz.data);
  await assert.rejects(a.request("$SYS.REQ.SERVER.PING", "", { timeout: 60000 }), /no responders/i);
  await assert.rejects(a.request("$SYS.REQ.SERVER.PING.VARZ", "", { timeout: 60000 }), /no responders/i);
});

scenario("connect and disconnect are announced", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const came = collect(sys, "$SYS.ACCOUNT.*.CONNECT");
  const went = collect(sys, "$SYS.ACCOUNT.*.DISCONNECT");
  await sys.flush();
  const a = await t.connect(s, { ...as("a"), name: "visitor" });
  a.publish("x", "12345");
  await a.flush();
  await until("the arrival", () => came.length === 1);
  const hello = came[0].json();
  assert.equal(came[0].subject, "$SYS.ACCOUNT.A.CONNECT");
  assert.equal(hello.type, "io.nats.server.advisory.v1.client_connect");
  assert.equal(hello.server.name, "owl");
  assert.equal(hello.client.name, "visitor");
  assert.equal(hello.client.acc, "A");
  assert.equal(hello.client.user, "a");
  assert.equal(hello.client.host, "127.0.0.1");
  assert.equal(hello.client.id, a.info.client_id);
  assert.match(hello.id, /^\w{22}$/);
  await a.close();
  await until("the departure", () => went.length === 1);
  const bye = went[0].json();
  assert.equal(bye.type, "io.nats.server.advisory.v1.client_disconnect");
  assert.equal(bye.client.name, "visitor");
  assert.equal(bye.reason, "Client Closed");
  // From the client's side: what it sent and what it received.
  assert.deepEqual([bye.sent.msgs, bye.sent.bytes, bye.received.msgs], [1, 5, 0]);
});

scenario("a failed login is announced to the system account", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.SERVER.*.CLIENT.AUTH.ERR");
  await sys.flush();
  await t.refused(s, { user: "a", pass: "wrong", name: "burglar" });
  await until("the event", () => got.length === 1);
  const e = got[0].json();
  assert.equal(e.client.name, "burglar");
  assert.equal(e.reason, "Authentication Failure");
  assert.doesNotMatch(got[0].string(), /wrong/);
});

scenario("statistics come by themselves", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.SERVER.*.STATSZ");
  await sys.flush();
  await until("a heartbeat", () => got.length > 0);
  const e = got[0].json();
  assert.equal(e.server.id, sys.info.server_id);
  assert.equal(typeof e.statsz.connections, "number");
});

scenario("KICK closes one client, RELOAD loads the configuration, LDM warns one client", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const id = sys.info.server_id;
  const victim = await t.connect(s, as("a"));
  const cid = victim.info.client_id;
  await ask(sys, `$SYS.REQ.SERVER.${id}.KICK`, { cid });
  await victim.closed();
  const duck = await t.connect(s, as("a"));
  await duck.flush();
  await ask(sys, `$SYS.REQ.SERVER.${id}.LDM`, { cid: duck.info.client_id });
  await until("the warning", () => duck.events.some((e) => e.type === "ldm"));
  s.writeConfig(config.replace("user: a, password: p", "user: a, password: changed"));
  await ask(sys, `$SYS.REQ.SERVER.${id}.RELOAD`);
  await t.refused(s, as("a"));
  await t.connect(s, { user: "a", pass: "changed" });
});

scenario("the system account is closed to the default account", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect({ headers: true, no_responders: true });
  r.send("SUB box 1", "PUB $SYS.REQ.SERVER.PING box 0", "");
  assert.match(await r.ping(), /HMSG box 1 \d+ \d+\r\nNATS\/1\.0 503/);
  // $SYS subjects are ordinary ones here.
  r.send("SUB $SYS.SERVER.FOO 2", "PUB $SYS.SERVER.FOO 2", "hi");
  assert.match(await r.ping(), /MSG \$SYS\.SERVER\.FOO 2 2\r\nhi/);
});

scenario("events of an account with a very long name have its whole name in their subjects", async (t) => {
  const name = "A".repeat(700);
  const s = await t.server({ config: config.replace("A {", `${name} {`) });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.>");
  await sys.flush();
  const a = await t.connect(s, as("a"));
  await a.close();
  const wanted = [`$SYS.ACCOUNT.${name}.CONNECT`, `$SYS.SERVER.ACCOUNT.${name}.CONNS`, `$SYS.ACCOUNT.${name}.SERVER.CONNS`, `$SYS.ACCOUNT.${name}.DISCONNECT`];
  await until("its events", () => wanted.every((w) => got.some((m) => m.subject === w)));
});
