// accounts.mjs: separate subject spaces, exports and imports.
import assert from "node:assert/strict";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const as = (user) => ({ user, pass: "p" });
const account = (name, more = "") => `${name} { users: [ {user: ${name.toLowerCase()}, password: p} ]\n${more}\n}`;
const accounts = (...list) => ({ config: `accounts { ${list.join("\n")} }` });

scenario("what is said in one account stays there", async (t) => {
  const s = await t.server(accounts(account("A"), account("B")));
  const a = await t.connect(s, as("a"));
  const a2 = await t.connect(s, as("a"));
  const b = await t.connect(s, as("b"));
  const inA = collect(a2, ">");
  const inB = collect(b, ">");
  await a2.flush();
  await b.flush();
  a.publish("secret", "x");
  await a.flush();
  await a2.flush();
  await b.flush();
  assert.equal(inA.length, 1);
  assert.equal(inB.length, 0);
});

scenario("stream export and import, same subject", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {stream: "ticks.>"} ]'),
    account("B", 'imports: [ {stream: {account: A, subject: "ticks.>"}} ]'),
    account("C"),
  ));
  const a = await t.connect(s, as("a"));
  const b = await t.connect(s, as("b"));
  const c = await t.connect(s, as("c"));
  const wide = collect(b, ">");
  const narrow = collect(b, "ticks.eur");
  const none = collect(c, ">");
  await b.flush();
  await c.flush();
  a.publish("ticks.eur", "1");
  a.publish("ticks.usd", "2");
  a.publish("other", "3");
  await a.flush();
  await until("the imported messages", () => wide.length === 2);
  assert.deepEqual(wide.map((m) => m.subject), ["ticks.eur", "ticks.usd"]);
  assert.deepEqual(narrow.texts(), ["1"]);
  // One way only.
  const inA = collect(a, "ticks.>");
  await a.flush();
  b.publish("ticks.eur", "back");
  await b.flush();
  await a.flush();
  assert.equal(inA.length, 0);
  assert.equal(none.length, 0);
});

scenario("stream import under a prefix and under another name", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {stream: "ticks.*"} ]'),
    account("B", 'imports: [ {stream: {account: A, subject: "ticks.*"}, prefix: "from.a"} ]'),
    account("C", 'imports: [ {stream: {account: A, subject: "ticks.*"}, to: "price.$1"} ]'),
  ));
  const a = await t.connect(s, as("a"));
  const b = await t.connect(s, as("b"));
  const c = await t.connect(s, as("c"));
  const inB = collect(b, "from.>");
  const inC = collect(c, "price.*");
  await b.flush();
  await c.flush();
  a.publish("ticks.eur", "1");
  await a.flush();
  await until("both", () => inB.length === 1 && inC.length === 1);
  assert.equal(inB[0].subject, "from.a.ticks.eur");
  assert.equal(inC[0].subject, "price.eur");
});

scenario("queue groups work across a stream import", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {stream: "jobs"} ]'),
    account("B", 'imports: [ {stream: {account: A, subject: "jobs"}} ]'),
  ));
  const a = await t.connect(s, as("a"));
  const b1 = await t.connect(s, as("b"));
  const b2 = await t.connect(s, as("b"));
  const one = collect(b1, "jobs", { queue: "q" });
  const two = collect(b2, "jobs", { queue: "q" });
  await b1.flush();
  await b2.flush();
  for (let i = 0; i < 200; i++) a.publish("jobs", String(i));
  await a.flush();
  await until("all of them", () => one.length + two.length >= 200);
  assert.equal(one.length + two.length, 200);
  assert.ok(one.length > 20 && two.length > 20, `${one.length} ${two.length}`);
});

scenario("service export and import: a request crosses and comes back", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {service: "sum.*"} ]'),
    account("B", 'imports: [ {service: {account: A, subject: "sum.fast"}, to: "add"} ]'),
    account("C", 'imports: [ {service: {account: A, subject: "sum.*"}} ]'),
  ));
  const a = await t.connect(s, as("a"));
  const seen = [];
  a.subscribe("sum.*", {
    callback: (_, m) => {
      seen.push(m);
      m.respond(`${m.subject}=${m.string()}`);
    },
  });
  await a.flush();
  const b = await t.connect(s, as("b"));
  const c = await t.connect(s, as("c"));
  assert.equal((await b.request("add", "1", { timeout: 60000 })).string(), "sum.fast=1");
  assert.equal((await c.request("sum.slow", "2", { timeout: 60000 })).string(), "sum.slow=2");
  // The responder never learns the other account's inbox.
  assert.ok(seen.every((m) => m.reply.startsWith("_R_.")), seen.map((m) => m.reply).join());
  // What was not imported does not exist.
  await assert.rejects(b.request("sum.fast", "", { timeout: 60000 }), /no responders/i);
  // Many in flight find their way back.
  const all = await Promise.all(Array.from({ length: 300 }, (_, i) => b.request("add", `${i}`, { timeout: 60000 })));
  assert.deepEqual(all.map((m) => m.string()), Array.from({ length: 300 }, (_, i) => `sum.fast=${i}`));
});

scenario("an imported service without a responder: told at once", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {service: "echo"} ]'),
    account("B", 'imports: [ {service: {account: A, subject: "echo"}} ]'),
  ));
  const b = await t.connect(s, as("b"));
  await assert.rejects(b.request("echo", "", { timeout: 60000 }), /no responders/i);
});

scenario("a service that answers many times", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {service: "list", response_type: "stream"} ]'),
    account("B", 'imports: [ {service: {account: A, subject: "list"}} ]'),
  ));
  const a = await t.connect(s, as("a"));
  a.subscribe("list", { callback: (_, m) => ["x", "y", "z"].forEach((v) => m.respond(v)) });
  await a.flush();
  const b = await t.connect(s, as("b"));
  const got = [];
  for await (const m of await b.requestMany("list", "", { strategy: "count", maxMessages: 3, maxWait: 60000 })) got.push(m.string());
  assert.deepEqual(got, ["x", "y", "z"]);
});

scenario("a single-answer service answers once only", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {service: "one"} ]'),
    account("B", 'imports: [ {service: {account: A, subject: "one"}} ]'),
  ));
  const a = await t.connect(s, as("a"));
  a.subscribe("one", { callback: (_, m) => ["x", "y", "z"].forEach((v) => m.respond(v)) });
  await a.flush();
  const b = await t.connect(s, as("b"));
  const got = collect(b, "box");
  b.publish("one", "", { reply: "box" });
  await b.flush();
  await until("an answer", () => got.length > 0);
  await a.flush();
  await b.flush();
  assert.deepEqual(got.texts(), ["x"]);
});

scenario("headers cross account borders", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {stream: "news"}, {service: "echo"} ]'),
    account("B", 'imports: [ {stream: {account: A, subject: "news"}}, {service: {account: A, subject: "echo"}} ]'),
  ));
  const a = await (await t.raw(s)).connect({ ...as("a"), headers: true });
  const b = await (await t.raw(s)).connect({ ...as("b"), headers: true });
  b.send("SUB news 1", "SUB box 2");
  a.send("SUB echo 1");
  await a.ping();
  await b.ping();
  a.sendBytes("HPUB news 20 22\r\nNATS/1.0\r\nA: bcd\r\n\r\nhi\r\n");
  await b.expect(/HMSG news 1 20 22\r\nNATS\/1\.0\r\nA: bcd\r\n\r\nhi\r\n/);
  b.sendBytes("HPUB echo box 20 22\r\nNATS/1.0\r\nA: bcd\r\n\r\nyo\r\n");
  const [, reply] = await a.expect(/HMSG echo 1 (\S+) \d+ \d+\r\nNATS\/1\.0\r\n(?:.*\r\n)*?A: bcd\r\n(?:.*\r\n)*?\r\nyo\r\n/);
  a.sendBytes(`HPUB ${reply} 20 20\r\nNATS/1.0\r\nA: xyz\r\n\r\n\r\n`);
  await b.expect(/HMSG box 2 20 20\r\nNATS\/1\.0\r\nA: xyz\r\n\r\n\r\n/);
});

scenario("a private export is open to the accounts it names", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {stream: "inner.>", accounts: [B]} ]'),
    account("B", 'imports: [ {stream: {account: A, subject: "inner.>"}} ]'),
  ));
  const a = await t.connect(s, as("a"));
  const b = await t.connect(s, as("b"));
  const got = collect(b, "inner.x");
  await b.flush();
  a.publish("inner.x", "1");
  await a.flush();
  await until("the message", () => got.length === 1);
  const bad = t.prepare(accounts(
    account("A", 'exports: [ {stream: "inner.>", accounts: [B]} ]'),
    account("B"),
    account("C", 'imports: [ {stream: {account: A, subject: "inner.>"}} ]'),
  ));
  await assert.rejects(bad.start(), /not authorized|authorization/i);
});

scenario("chained service imports", async (t) => {
  const s = await t.server(accounts(
    account("A", 'exports: [ {service: "deep"} ]'),
    account("B", 'imports: [ {service: {account: A, subject: "deep"}, to: "middle"} ], exports: [ {service: "middle"} ]'),
    account("C", 'imports: [ {service: {account: B, subject: "middle"}, to: "top"} ]'),
  ));
  const a = await t.connect(s, as("a"));
  a.subscribe("deep", { callback: (_, m) => m.respond(`deep ${m.string()}`) });
  await a.flush();
  const c = await t.connect(s, as("c"));
  assert.equal((await c.request("top", "dive", { timeout: 60000 })).string(), "deep dive");
});

scenario("subject mappings rewrite what is published", async (t) => {
  const s = await t.server({
    config: `mappings { "old.*": "new.$1", "split.*.*": "joined.{{wildcard(2)}}.{{wildcard(1)}}", "gone": "here" }`,
  });
  const nc = await t.connect(s);
  const got = collect(nc, ">");
  await nc.flush();
  for (const subject of ["old.a", "split.x.y", "gone", "kept"]) nc.publish(subject, "");
  await nc.flush();
  assert.deepEqual(got.map((m) => m.subject), ["new.a", "joined.y.x", "here", "kept"]);
});

scenario("weighted mappings share the traffic", async (t) => {
  const s = await t.server({
    config: 'mappings { "svc": [ {destination: "svc.v1", weight: 70%}, {destination: "svc.v2", weight: 30%} ] }',
  });
  const nc = await t.connect(s);
  const one = collect(nc, "svc.v1");
  const two = collect(nc, "svc.v2");
  await nc.flush();
  for (let i = 0; i < 2000; i++) nc.publish("svc", "");
  await nc.flush();
  assert.equal(one.length + two.length, 2000);
  assert.ok(one.length > 1200 && one.length < 1600, `${one.length} of 2000 to v1`);
});

scenario("a user's account shows in INFO and on the pages", async (t) => {
  const s = await t.server({ ...accounts(account("A"), account("B")), monitor: true });
  const nc = await t.connect(s, as("b"));
  await nc.flush();
  const info = JSON.parse((await nc.request("$SYS.REQ.USER.INFO", "", { timeout: 60000 })).string());
  assert.equal(info.data.account, "B");
  const { json } = await s.page("/connz?auth=1&acc=B");
  assert.equal(json.connections.length, 1);
  assert.equal(json.connections[0].account, "B");
  assert.equal(json.connections[0].authorized_user, "b");
  assert.equal((await s.page("/connz?acc=A")).json.connections.length, 0);
});

scenario("limits of an account: connections and subscriptions", async (t) => {
  const s = await t.server(accounts(
    account("A", "limits { max_connections: 2, max_subscriptions: 3 }"),
    account("B"),
  ));
  const a = await t.connect(s, as("a"));
  await t.connect(s, as("a"));
  const third = await t.raw(s);
  third.send(`CONNECT ${JSON.stringify({ ...as("a"), verbose: false })}`);
  assert.match(await third.closed(), /-ERR 'maximum account active connections exceeded'/i);
  await t.connect(s, as("b"));
  for (let i = 0; i < 4; i++) a.subscribe(`s.${i}`, { callback: () => {} });
  await a.flush();
  await until("the refusal", () => a.errors.length > 0);
  assert.match(a.errors[0].message, /maximum subscriptions exceeded/i);
});

// Each connection has its own count, as under the server's limit; the smaller of the two holds.
scenario("limits of an account: subscriptions are counted per connection", async (t) => {
  const s = await t.server({ config: `max_subscriptions: 4
    accounts { A { users: [ {user: a, password: a} ], limits { max_subscriptions: 3 } }
      B { users: [ {user: b, password: b} ], limits { max_subscriptions: 9 } } }` });
  for (const [user, most] of [["a", 3], ["a", 3], ["b", 4]]) {
    const r = await t.raw(s);
    r.send(`CONNECT ${JSON.stringify({ user, pass: user, verbose: true })}`);
    await r.expect(/\+OK\r\n/);
    for (let i = 0; i < most; i++) r.send(`SUB many.${i} ${i}`);
    assert.equal((await r.ping()).includes("-ERR"), false, `${user}: ${most} fit`);
    r.send("SUB more 99");
    await r.expect(/-ERR 'maximum subscriptions exceeded'\r\n/i);
  }
});

scenario("INFO tells an account's own max_payload once the client is inside", async (t) => {
  const s = await t.server({
    config: `accounts { A { users: [ {user: a, password: a} ], limits { max_payload: 1000 } } }`,
  });
  const nc = await t.connect(s, { user: "a", pass: "a" });
  await nc.flush();
  await until("the second INFO", () => nc.info.max_payload === 1000);
});
