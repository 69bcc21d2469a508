// sys.mjs: system services and events field by field, and at their edges: filters, errors, silence,
// accounts that come and go.  (system.mjs walks the ways the nats CLI goes.)
import assert from "node:assert/strict";
import { collect, scenario } from "./lib/scenario.mjs";
import { steadily, until } from "./lib/wait.mjs";

const config = `server_name: owl, server_tags: ["az:1"], server_metadata: {k: v}
  accounts {
    A { users: [ {user: a, password: p} ] }
    B { users: [ {user: b, password: p, permissions: {
          publish: {allow: ["x.>", "$SYS.>"], deny: "x.y"}, subscribe: [">", "foo q"], allow_responses: {max: 3, expires: "5s"}}} ] }
    C { users: [ {user: c, password: p} ] }
    SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;
const as = (user) => ({ user, pass: "p", name: `client-${user}` });

const text = (body) => (typeof body === "string" ? body : JSON.stringify(body));
async function ask(nc, subject, body = "") {
  const m = await nc.request(subject, text(body), { timeout: 60000 });
  return JSON.parse(m.string());
}
const silent = (nc, subject, body = "") => assert.rejects(nc.request(subject, text(body), { timeout: 300 }), /timeout/i, subject);
const nobody = (nc, subject) => assert.rejects(nc.request(subject, "", { timeout: 60000 }), /no responders/i, subject);

// feature_flags: of a JetStream this version does not serve.
const fields = (o) => Object.keys(o).filter((k) => k !== "feature_flags");
const has = (o, list, what) => assert.deepEqual(fields(o), list.split(/\s+/).filter(Boolean), what);
const SERVER = "name host id ver tags metadata jetstream flags seq time";

scenario("answers: every field of the envelope and of statsz, in order", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const r = await ask(sys, "$SYS.REQ.SERVER.PING");
  has(r, "server statsz");
  has(r.server, SERVER);
  assert.deepEqual([r.server.metadata, r.server.flags], [{ k: "v" }, 0]);
  has(r.statsz, `start mem cores cpu connections total_connections active_accounts subscriptions sent sent_to_clients
    received received_from_clients slow_consumers active_servers gomaxprocs`);
  const later = await ask(sys, "$SYS.REQ.SERVER.PING.STATSZ");
  has(later, "server statsz");
  assert.ok(later.server.seq > r.server.seq, "seq grows");
  has(await ask(sys, "$SYS.REQ.SERVER.PING.IDZ", "any text"), "name host id");
  const v = await ask(sys, `$SYS.REQ.SERVER.${sys.info.server_id}.VARZ`);
  has(v, "server data");
  assert.equal(v.data.server_name, "owl");
});

scenario("answers: bad options are 400, a page's refusal is 500", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const connz = (body) => ask(sys, "$SYS.REQ.SERVER.PING.CONNZ", body);
  for (const body of ["{bad", "[]", '"x"', { limit: "x" }, { state: "closed" }, { auth: 1 }, { tags: "az:1" }, { cid: -1 }]) {
    const r = await connz(body);
    has(r, "server error", text(body));
    has(r.error, "code description");
    assert.equal(r.error.code, 400, text(body));
  }
  assert.ok((await connz("null")).data);
  assert.ok((await connz({ unknown: 1, limit: null })).data);
  assert.equal((await connz({ LIMIT: 7 })).data.limit, 7, "names in any case");
  const refusal = await connz({ sort: "zz" });
  has(refusal, "server data error");
  assert.deepEqual(refusal.error, { code: 500, description: "invalid sorting option: zz" });
  assert.equal((await connz({ filter_subject: "x" })).error.description, "filter by subject only valid with account filtering");
  const none = await ask(sys, "$SYS.REQ.ACCOUNT.NOBODY.INFO");
  assert.deepEqual([none.data, none.error], [null, { code: 500, description: "Account NOBODY does not exist" }]);
  assert.equal((await ask(sys, "$SYS.REQ.SERVER.PING.ACCOUNTZ", { account: "NOBODY" })).error.code, 500);
  assert.equal((await ask(sys, "$SYS.REQ.ACCOUNT.A.JSZ")).error.description, "jetstream not enabled");
});

scenario("filters: who is meant answers, all others keep silent", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const page = "$SYS.REQ.SERVER.PING.VARZ";
  for (const yes of [{ server_name: "ow" }, { server_name: "owl", exact_match: true }, { host: "127" }, { tags: ["AZ:1"] },
    { server_name: "" }, { server_name: "owl", host: "127.0.0.1", tags: ["az:1"] }])
    assert.ok((await ask(sys, page, yes)).data, text(yes));
  await Promise.all([{ server_name: "eagle" }, { server_name: "ow", exact_match: true }, { host: "10." }, { cluster: "x" },
    { tags: ["az:2"] }, { tags: ["az:1", "az:2"] }, { domain: "d" }].map((no) => silent(sys, page, no)));
  await silent(sys, "$SYS.REQ.SERVER.PING", { server_name: "eagle" });
  // Static: who it is, whatever was asked.
  assert.equal((await ask(sys, "$SYS.REQ.SERVER.PING.IDZ", { server_name: "eagle" })).name, "owl");
  await nobody(sys, "$SYS.REQ.SERVER.PING.NOPAGE");
  await nobody(sys, `$SYS.REQ.SERVER.N${"A".repeat(55)}.VARZ`);
});

scenario("connz options: state, subject filter, limit and sort", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const a = await t.connect(s, as("a"));
  a.subscribe("foo.*", { callback: () => {} });
  await a.flush();
  const a2 = await t.connect(s, as("a"));
  await a2.flush();
  const names = async (body) => (await ask(sys, "$SYS.REQ.SERVER.PING.CONNZ", body)).data.connections.map((c) => c.cid);
  assert.deepEqual(await names({ acc: "A", filter_subject: "foo.bar" }), [a.info.client_id]);
  assert.deepEqual(await names({ acc: "A", filter_subject: "*.bar" }), [a.info.client_id]);
  assert.deepEqual(await names({ acc: "A", filter_subject: "bar" }), []);
  assert.deepEqual(await names({ acc: "A", sort: "subs", limit: 1 }), [a.info.client_id]);
  assert.deepEqual(await names({ acc: "A", offset: 1 }), [a2.info.client_id]);
  assert.deepEqual(await names({ cid: a2.info.client_id }), [a2.info.client_id]);
  const cid = a2.info.client_id;
  await a2.close();
  await until("the closed one", async () => (await names({ state: 1 })).includes(cid));
  assert.equal((await names({ state: 2, acc: "A" })).length, 2);
});

scenario("requests about accounts: statz, conns, and silence where there is nothing", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  await t.connect(s, as("a"));
  const statz = (account, body) => ask(sys, `$SYS.REQ.ACCOUNT.${account}.STATZ`, body);
  assert.deepEqual((await statz("A")).data.account_statz.map((x) => x.acc), ["A"]);
  assert.deepEqual((await statz("PING")).data.account_statz.map((x) => x.acc).sort(), ["A", "SYS"]);
  assert.deepEqual((await statz("PING", { accounts: ["A", "C"] })).data.account_statz.map((x) => x.acc), ["A"]);
  assert.equal((await statz("C", { include_unused: true })).data.account_statz[0].conns, 0);
  await Promise.all([silent(sys, "$SYS.REQ.ACCOUNT.C.STATZ"), silent(sys, "$SYS.REQ.ACCOUNT.NOBODY.STATZ"),
    silent(sys, "$SYS.REQ.ACCOUNT.C.CONNS"), silent(sys, "$SYS.REQ.ACCOUNT.NOBODY.CONNS")]);
  const conns = await ask(sys, "$SYS.REQ.ACCOUNT.A.CONNS");
  has(conns, `type id timestamp server acc name conns leafnodes total_conns num_subscriptions sent received slow_consumers`);
  assert.deepEqual([conns.type, conns.conns], ["io.nats.server.advisory.v1.account_connections", 1]);
  assert.equal((await ask(sys, "$SYS.REQ.ACCOUNT.A.SUBSZ", { test: "nobody" })).data.total, 0);
  assert.deepEqual((await ask(sys, "$SYS.REQ.ACCOUNT.A.LEAFZ")).data.leafs, []);
  has((await ask(sys, "$SYS.REQ.ACCOUNT.A.INFO")).data, `account_name update_time expired complete jetstream_enabled
    leafnode_connections client_connections subscriptions imports name_tag sublist_stats`);
});

scenario("an account sees itself: USER.INFO with permissions, CONNZ and STATZ of no other", async (t) => {
  const s = await t.server({ config });
  const a = await t.connect(s, as("a"));
  const b = await t.connect(s, as("b"));
  const sys = await t.connect(s, as("sys"));
  assert.deepEqual((await ask(a, "$SYS.REQ.USER.INFO")).data, { user: "a", account: "A", account_name: "A" });
  assert.equal((await ask(sys, "$SYS.REQ.USER.INFO", "any text")).data.account, "SYS");
  const { permissions } = (await ask(b, "$SYS.REQ.USER.INFO")).data;
  has(permissions, "publish subscribe responses");
  assert.deepEqual(permissions.publish.allow.sort(), ["$SYS.>", "x.>"]);
  assert.deepEqual(permissions.publish.deny, ["x.y"]);
  assert.deepEqual(permissions.subscribe.allow.sort(), [">", "foo q"]);
  assert.deepEqual(permissions.responses, { max: 3, ttl: 5000000000 });
  for (const subject of ["$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ"])
    assert.deepEqual((await ask(a, subject, { acc: "B" })).data.connections.map((c) => c.name), ["client-a"], subject);
  assert.deepEqual((await ask(a, "$SYS.REQ.ACCOUNT.PING.STATZ", { accounts: ["B"] })).data.account_statz.map((x) => x.acc), ["A"]);
  for (const subject of ["$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.A.CONNZ", "$SYS.REQ.ACCOUNT.B.CONNZ", "$SYS.DEBUG.SUBSCRIBERS",
    `$SYS.REQ.SERVER.${a.info.server_id}.VARZ`, `$SYS.REQ.SERVER.${a.info.server_id}.RELOAD`, `$SYS.REQ.SERVER.${a.info.server_id}.KICK`])
    await nobody(a, subject);
});

scenario("without a system account there is nothing to ask", async (t) => {
  const s = await t.server({ config: "no_system_account: true" });
  const nc = await t.connect(s);
  for (const subject of ["$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING"]) await nobody(nc, subject);
});

scenario("KICK and LDM: whom they find, and what the events say", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const order = (what, body) => ask(sys, `$SYS.REQ.SERVER.${sys.info.server_id}.${what}`, body);
  assert.deepEqual((await order("KICK", { cid: 99999 })).error, { code: 500, description: "no such client or leafnode id" });
  assert.deepEqual((await order("LDM", { cid: 99999 })).error, { code: 500, description: "no such client id" });
  await nobody(sys, "$SYS.REQ.SERVER.PING.KICK");
  const went = collect(sys, "$SYS.ACCOUNT.A.DISCONNECT");
  await sys.flush();
  const old = await (await t.raw(s)).connect({ user: "a", pass: "p", protocol: 0 });
  assert.match((await order("LDM", { cid: old.info.client_id })).error.description, /^client does not support Lame Duck Mode/);
  const r = await order("KICK", { cid: old.info.client_id });
  has(r, "server");
  assert.equal(await old.closed(), "");
  await until("the event", () => went.length === 1);
  assert.equal(went[0].json().reason, "Kicked");
});

// nats-server may close before it answers.
scenario("KICK: who sends himself away still gets the answer", { only: "mayfly" }, async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  has(await ask(sys, `$SYS.REQ.SERVER.${sys.info.server_id}.KICK`, { cid: sys.info.client_id }), "server");
  await sys.closed();
});

scenario("events: fields of CONNECT, DISCONNECT and CONNS, in order", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.*.>");
  await sys.flush();
  const of = (subject) => until(subject, () => got.find((m) => m.subject === subject)).then((m) => m.json());
  const a = await t.connect(s, as("a"));
  const came = await of("$SYS.ACCOUNT.A.CONNECT");
  has(came, "type id timestamp server client");
  has(came.server, SERVER);
  has(came.client, "start host id acc user name lang ver name_tag kind client_type");
  assert.deepEqual([came.client.kind, came.client.client_type, came.client.name_tag], ["Client", "nats", "A"]);
  for (const subject of ["$SYS.ACCOUNT.A.SERVER.CONNS", "$SYS.SERVER.ACCOUNT.A.CONNS"]) {
    const conns = await of(subject);
    has(conns, "type id timestamp server acc name conns leafnodes total_conns num_subscriptions sent received slow_consumers");
    assert.deepEqual([conns.type, conns.acc, conns.conns], ["io.nats.server.advisory.v1.account_connections", "A", 1]);
  }
  got.length = 0;
  await a.close();
  const bye = await of("$SYS.ACCOUNT.A.DISCONNECT");
  has(bye, "type id timestamp server client sent received reason");
  has(bye.client, "start host id acc user name lang ver rtt stop name_tag kind client_type");
  has(bye.sent, "msgs bytes");
  assert.equal(typeof bye.client.rtt, "number");
  assert.equal((await of("$SYS.SERVER.ACCOUNT.A.CONNS")).conns, 0);
});

scenario("events: somebody who never got in", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.*.>");
  await sys.flush();
  const bare = await t.raw(s);
  bare.close();
  await until("its leaving", () => got.some((m) => m.subject === "$SYS.ACCOUNT.$G.DISCONNECT"));
  got.length = 0;
  await t.refused(s, { user: "burglar", pass: "crowbar" });
  const subjects = () => got.map((m) => m.subject.replace(sys.info.server_id, "ID")).filter((x) => !x.endsWith("STATSZ")).sort();
  await until("both events", () => subjects().length === 2);
  assert.deepEqual(subjects(), ["$SYS.ACCOUNT.$G.DISCONNECT", "$SYS.SERVER.ID.CLIENT.AUTH.ERR"]);
  for (const m of got) {
    if (m.subject.endsWith("STATSZ")) continue;
    const e = m.json();
    assert.deepEqual([e.type, e.reason, e.client.user, e.client.acc],
      ["io.nats.server.advisory.v1.client_disconnect", "Authentication Failure", "burglar", "$G"]);
    assert.doesNotMatch(m.string(), /crowbar/);
  }
});

scenario("events: the account's own users hear of a failed login too", async (t) => {
  const s = await t.server({ config: "authorization { user: u, password: p }" });
  const nc = await t.connect(s, { user: "u", pass: "p" });
  const got = collect(nc, "$SYS.ACCOUNT.CLIENT.AUTH.ERR");
  await nc.flush();
  await t.refused(s, { user: "burglar", pass: "crowbar" });
  await until("the event", () => got.length === 1);
  assert.equal(got[0].json().client.user, "burglar");
});

scenario("STATSZ: soon after the start, and at once when asked without a reply subject", (t) => steadily(async () => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const got = collect(sys, "$SYS.SERVER.*.STATSZ");
  await sys.flush();
  await until("the first", () => got.length > 0, 3000);
  const before = got.length;
  sys.publish("$SYS.REQ.SERVER.PING");
  await until("another", () => got.length > before, 1500);
  assert.equal(got[0].subject, `$SYS.SERVER.${sys.info.server_id}.STATSZ`);
  has(got[0].json(), "server statsz");
}));

scenario("SHUTDOWN and LAMEDUCK are announced, bare", async (t) => {
  const s = await t.prepare({ config: `lame_duck_duration: "30s", lame_duck_grace_period: "20s"\n${config}` }).start();
  const sys = await t.connect(s, as("sys"));
  const ducks = collect(sys, "$SYS.SERVER.*.LAMEDUCK");
  await sys.flush();
  s.signal("SIGUSR2");
  await until("the announcement", () => ducks.length === 1);
  has(ducks[0].json(), SERVER);
  const s2 = await t.server({ config });
  const r = await (await t.raw(s2)).connect({ user: "sys", pass: "p" });
  r.send("SUB $SYS.SERVER.*.SHUTDOWN 1");
  await r.ping();
  s2.signal("SIGTERM");
  const [, body] = (await r.closed()).match(/^MSG \$SYS\.SERVER\.\w+\.SHUTDOWN 1 +\d+\r\n(.*)\r\n/m);
  has(JSON.parse(body), SERVER);
  await s2.waitExit();
});

scenario("RELOAD: accounts that come are served, those that go are not, a bad file changes nothing", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  const reload = () => ask(sys, `$SYS.REQ.SERVER.${sys.info.server_id}.RELOAD`);
  s.writeConfig(config.replace("C {", "NEW { users: [ {user: n, password: p} ] }\nC {"));
  has(await reload(), "server");
  const n = await t.connect(s, as("n"));
  assert.equal((await ask(n, "$SYS.REQ.USER.INFO")).data.account, "NEW");
  assert.equal((await ask(n, "$SYS.REQ.ACCOUNT.PING.CONNZ")).data.num_connections, 1);
  s.writeConfig("nonsense {");
  const bad = await reload();
  has(bad, "server error");
  assert.equal(bad.error.code, 500);
  assert.match(bad.error.description, /Unexpected EOF processing map/);
  assert.equal((await ask(n, "$SYS.REQ.USER.INFO")).data.user, "n");
  s.writeConfig(config);
  has(await reload(), "server");
  await n.closed();
  assert.equal((await ask(sys, "$SYS.REQ.ACCOUNT.NEW.INFO")).error.code, 500);
  assert.equal((await ask(sys, "$SYS.REQ.SERVER.PING")).server.name, "owl");
});

scenario("DEBUG.SUBSCRIBERS counts the system account's subscribers", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  for (const [subject, queue] of [["foo.*"], ["foo.bar"], ["foo.bar", "q"], ["other"]])
    sys.subscribe(subject, { queue, callback: () => {} });
  await sys.flush();
  const count = async (body) => Number((await sys.request("$SYS.DEBUG.SUBSCRIBERS", body, { timeout: 60000 })).string());
  assert.equal(await count("foo.bar"), 3);
  assert.equal(await count("foo.x"), 1);
  assert.equal(await count("foo.bar q"), 1);
  assert.equal(await count("foo.>"), 3);
  assert.equal(await count("nobody"), 0);
});

scenario("requests answered by the server itself cannot be turned into a loop", async (t) => {
  const s = await t.server({ config });
  const sys = await t.connect(s, as("sys"));
  for (const page of ["PING", "PING.CONNZ", "PING.IDZ", `${sys.info.server_id}.KICK`, `${sys.info.server_id}.RELOAD`])
    sys.publish(`$SYS.REQ.SERVER.${page}`, "{}", { reply: `$SYS.REQ.SERVER.${page}` });
  await sys.flush();
  assert.ok((await ask(sys, "$SYS.REQ.SERVER.PING")).statsz);
});
