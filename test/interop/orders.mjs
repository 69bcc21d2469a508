// orders.mjs: requests that a cluster or another server would send, and what single pages say of requests under way.
import assert from "node:assert/strict";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const config = `server_name: owl
  jetstream { store_dir: "DIR/js" }
  accounts { A { jetstream: enabled, users: [ {user: a, password: p} ] }, B { jetstream: enabled, users: [ {user: b, password: p} ] }
    C { users: [ {user: c, password: p} ] }, SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;
const text = async (nc, subject, body = "") => (await nc.request(subject, typeof body === "string" ? body : JSON.stringify(body), { timeout: LIMIT_MS })).string();
const ask = async (nc, subject, body) => JSON.parse(await text(nc, subject, body));
const api = (nc, op, body) => ask(nc, `$JS.API.${op}`, body);
async function opened(t, users = ["a", "b", "c", "sys"]) {
  const s = await t.server({ monitor: true, config });
  return { s, ...Object.fromEntries(await Promise.all(users.map(async (user) => [user, await t.connect(s, { user, pass: "p" })]))) };
}
// No answer, and not "no responders" either: silence is told from slowness by a request that follows it.
async function silent(nc, subject, body) {
  const inbox = `quiet.${Math.random().toString(36).slice(2)}`;
  const got = [];
  const sub = nc.subscribe(inbox, { callback: (e, m) => got.push(m.headers?.code ? `status ${m.headers.code}` : m.string()) });
  nc.publish(subject, typeof body === "string" ? body : JSON.stringify(body ?? {}), { reply: inbox });
  await nc.flush();
  await text(nc, "$SYS.REQ.USER.INFO");
  await nc.flush();
  sub.unsubscribe();
  assert.deepEqual(got, [], subject);
}

const needCluster = [
  ["STREAM.LEADER.STEPDOWN.S", "stream_leader_stepdown"], ["STREAM.PEER.REMOVE.S", "stream_remove_peer"], ["STREAM.PEER.EVACUATE.S", "stream_evacuate_peer"],
  ["STREAM.CANCEL_MOVE.S", "stream_cancel_move"], ["CONSUMER.LEADER.STEPDOWN.S.c", "consumer_leader_stepdown"], ["CONSUMER.PEER.REMOVE.S.c", "consumer_remove_peer"],
  ["CONSUMER.PEER.EVACUATE.S.c", "consumer_evacuate_peer"],
];
scenario("what only a cluster can do is refused", async (t) => {
  const { a } = await opened(t);
  for (const [op, type] of needCluster)
    for (const body of ["", { peer: "x" }])
      assert.deepEqual(await api(a, op, body), { type: `io.nats.jetstream.api.v1.${type}_response`,
        error: { code: 503, err_code: 10010, description: "JetStream clustering support required" } });
});

const leaderOnly = ["META.LEADER.STEPDOWN", "META.RESCUE", "SERVER.REMOVE", "SERVER.EVACUATE", "ACCOUNT.STREAM.MOVE.A.S", "ACCOUNT.STREAM.CANCEL_MOVE.A.S"];
scenario("orders to the leader of a cluster find nobody, and no other account gives any", async (t) => {
  const { a, sys } = await opened(t);
  for (const op of leaderOnly) for (const nc of [sys, a]) await silent(nc, `$JS.API.${op}`, { peer: "x", server: "y" });
  await silent(a, "$JS.API.ACCOUNT.PURGE.A");
});

const PURGED = { type: "io.nats.jetstream.api.v1.account_purge_response", initiated: true };
scenario("ACCOUNT.PURGE deletes every stream of one account, and of no other", async (t) => {
  const { s, a, b, sys } = await opened(t);
  for (const [nc, name] of [[a, "ONE"], [a, "TWO"], [a, "THREE"], [b, "OTHER"]])
    assert.equal((await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [name], storage: name === "TWO" ? "memory" : "file" })).error, undefined);
  await api(a, "CONSUMER.CREATE.ONE.c", { stream_name: "ONE", config: { name: "c", durable_name: "c", ack_policy: "explicit" } });
  const gone = [];
  a.subscribe("$JS.EVENT.ADVISORY.STREAM.DELETED.>", { callback: (e, m) => gone.push(m.json().stream) });
  await a.flush();
  assert.deepEqual(await api(sys, "ACCOUNT.PURGE.A"), PURGED);
  assert.deepEqual([(await api(a, "STREAM.NAMES")).streams, (await api(b, "STREAM.NAMES")).streams], [null, ["OTHER"]]);
  await until("all advisories", () => gone.length === 3);
  assert.deepEqual(gone.sort(), ["ONE", "THREE", "TWO"]);
  assert.deepEqual(await api(sys, "ACCOUNT.PURGE.A"), PURGED); // nothing left
  for (const name of ["C", "NOPE"]) assert.deepEqual(await api(sys, `ACCOUNT.PURGE.${name}`), PURGED);
  assert.match((await api(sys, "ACCOUNT.PURGE.x/y")).error.description, /^account name can not contain path separators$/);
  assert.equal((await api(a, "STREAM.CREATE.ONE", { name: "ONE", subjects: ["ONE"] })).error, undefined);
  await s.restart();
  const again = await t.connect(s, { user: "a", pass: "p" });
  assert.deepEqual((await api(again, "STREAM.NAMES")).streams, ["ONE"]);
});

// Streams on disk whose account is not served any more: nats-server removes them unseen.
scenario("ACCOUNT.PURGE of an account that is not served says what to do", { only: "mayfly" }, async (t) => {
  const { s, a, sys } = await opened(t);
  await api(a, "STREAM.CREATE.ONE", { name: "ONE", subjects: ["ONE"] });
  s.reload(config.replace("A { jetstream: enabled,", "A {"));
  await until("A without JetStream", async () => !(await s.page("/accountz?acc=A")).json.account_detail.jetstream_enabled);
  const { error } = await until("its folder to be free", async () => api(sys, "ACCOUNT.PURGE.A"));
  assert.deepEqual([error.err_code, /give it JetStream in the configuration, reload, and ask again$/.test(error.description)], [10051, true]);
});

// nats-server fails when a stream is made meanwhile: its folder is not empty.
scenario("ACCOUNT.PURGE while streams come and go, and while the server stops", { only: "mayfly" }, async (t) => {
  const { s, a, sys } = await opened(t);
  const make = (i) => api(a, `STREAM.CREATE.S${i}`, { name: `S${i}`, subjects: [`s.${i}`] });
  await Promise.all(Array.from({ length: 20 }, (_, i) => make(i)));
  const half = Array.from({ length: 10 }, (_, i) => api(a, `STREAM.DELETE.S${2 * i}`).catch(() => {}));
  const more = Array.from({ length: 10 }, (_, i) => make(100 + i).catch(() => {}));
  assert.deepEqual(await api(sys, "ACCOUNT.PURGE.A"), PURGED);
  await Promise.all([...half, ...more]);
  const left = (await api(a, "STREAM.NAMES")).streams ?? [];
  assert.deepEqual(left.filter((n) => n.length < 4), []); // those that were there are gone
  await Promise.all(Array.from({ length: 20 }, (_, i) => make(i)));
  sys.publish("$JS.API.ACCOUNT.PURGE.A", "", { reply: "nobody" });
  await sys.flush();
  await s.stop();
});

scenario("ACCOUNT.NSUBS counts the clients that would get a subject", async (t) => {
  const { a, sys, c } = await opened(t);
  for (const [subject, queue] of [["x.1"], ["x.*"], ["x.1", "q"], ["x.2", "r"], ["other"]]) a.subscribe(subject, { queue });
  await a.flush();
  const b64 = (s) => Buffer.from(s).toString("base64");
  for (const [body, n] of [
    [{ acc: "A", subject: "x.1" }, "3"], [{ acc: "A", subject: "x.1", queue: b64("q") }, "1"], [{ acc: "A", subject: "x.2", queue: b64("r") }, "1"],
    [{ acc: "A", subject: "x.*" }, "4"], [{ acc: "A", subject: "x.*", queue: b64("r") }, "1"], [{ acc: "A", subject: "nope" }, "0"], [{ acc: "C", subject: "x" }, "0"],
  ]) assert.equal(await text(sys, "$SYS.REQ.ACCOUNT.NSUBS", body), n, JSON.stringify(body));
  await c.close();
  for (const body of ["", "{", { acc: "NOPE", subject: "x" }, { acc: 5 }]) await silent(sys, "$SYS.REQ.ACCOUNT.NSUBS", body);
  await assert.rejects(text(a, "$SYS.REQ.ACCOUNT.NSUBS", { acc: "A", subject: "x.1" }), /no responders/i);
});

const services = `accounts { A { users: [ {user: a, password: p} ], exports: [ {service: "svc.>", response: stream}, {service: "one.>"} ] }
  B { users: [ {user: b, password: p} ], imports: [ {service: {account: A, subject: "svc.x"}, share: true}, {service: {account: A, subject: "one.x"}} ] } }`;
scenario("accountz shows answers that services still owe; requests carry the round trip time", async (t) => {
  const s = await t.server({ monitor: true, config: services });
  const [a, b] = await Promise.all(["a", "b"].map((user) => t.connect(s, { user, pass: "p" })));
  const asked = {};
  for (const subject of ["svc.x", "one.x"]) a.subscribe(subject, { callback: (e, m) => (asked[subject] = m) });
  await a.flush();
  const answers = [];
  for (const inbox of ["in.1", "in.2"]) b.subscribe(inbox, { callback: (e, m) => answers.push(`${inbox} ${m.string()}`) });
  b.publish("svc.x", "?", { reply: "in.1" });
  b.publish("one.x", "?", { reply: "in.2" });
  await until("both requests", () => asked["svc.x"] && asked["one.x"]);
  const info = (subject) => JSON.parse(asked[subject].headers.get("Nats-Request-Info"));
  assert.deepEqual(Object.keys(info("one.x")), ["acc", "rtt"]);
  for (const subject of ["svc.x", "one.x"]) assert.ok(info(subject).rtt > 0, subject);
  const responses = async () => (await s.page("/accountz?acc=A")).json.account_detail.responses;
  const entry = (subject, original, share) => [asked[subject].reply, { subject: original, account: "B", to: asked[subject].reply,
    local_subject: asked[subject].reply, type: 2, invalid: false, share, tracking: false }];
  assert.deepEqual(await responses(), Object.fromEntries([entry("svc.x", "in.1", true), entry("one.x", "in.2", false)]));
  assert.equal((await s.page("/accountz?acc=B")).json.account_detail.responses, undefined);
  for (const subject of ["svc.x", "one.x"]) asked[subject].respond("!");
  await until("both answers", () => answers.length === 2);
  assert.deepEqual(Object.keys((await responses()) ?? {}), [asked["svc.x"].reply]); // a stream of answers is not over
  asked["svc.x"].respond("");
  await until("its end", async () => (await responses()) === undefined);
});

scenario("/debug/vars: how the server was called, and what Go calls memory statistics", async (t) => {
  const s = await t.server({ monitor: true });
  const r = await s.page("/debug/vars");
  assert.equal(r.status, 200);
  assert.match(r.headers.get("content-type"), /^application\/json/);
  assert.deepEqual(Object.keys(r.json), ["cmdline", "memstats"]);
  assert.equal(r.json.cmdline[0], s.program);
});
