// consumer_restarts.mjs: what a consumer is after its server was killed, or stopped, and came back.
import assert from "node:assert/strict";
import { SECOND, onServer, ownServer } from "./lib/js.mjs";
import { Inbox, MS, add, drop, fetch, fill, look, nothing, place, placed, pull, settle } from "./lib/consumer.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const LONG = 60_000 * MS;

// The server ends and starts again; its stream on a new connection.
async function again(t, s, c, how = "kill") {
  await c.nc.close();
  await (how === "kill" ? s.kill() : s.stop());
  await s.startAgain();
  s.killed = false; // from here on a bad exit is a failure again
  return (await onServer(t, s)).stream(c.id);
}
async function started(t, over) {
  const { s, stream } = await ownServer(t);
  const c = stream("S");
  await c.create(over);
  return { s, c };
}
// A confirmed ack is on mayflyd's disk; a delivery is there a moment later, and on nats-server both are.
async function written(what) {
  const ms = isMayfly ? (what === "acks" ? 0 : 1000) : 1500;
  const from = Date.now();
  await until("files to be written", () => Date.now() - from >= ms);
}

for (const how of ["kill", "stop"]) {
  scenario(`${how}: floors, pending, counts and configuration are the same`, async (t) => {
    let { s, c } = await started(t);
    await fill(c, 20, ["a", "b"]);
    const config = { description: "d", ack_wait: LONG, max_deliver: 7, filter_subjects: [c.subject("a"), c.subject("b")], metadata: { k: "v" }, max_ack_pending: 50, backoff: undefined };
    await add(c, config);
    const m = await fetch(c, 10);
    await settle(c, m[0]);
    await settle(c, m[2]);
    await settle(c, m[3], "-NAK");
    const [once] = await fetch(c, 1);
    assert.deepEqual([once.seq, once.count], [4, 2]);
    await placed(c, { delivered: "11/10", floor: "1/1", unacked: 8, again: 1, pending: 10 });
    await written();
    const before = await look(c);
    c = await again(t, s, c, how);
    const after = await look(c);
    assert.deepEqual(await place(c), { delivered: "11/10", floor: "1/1", unacked: 8, again: 1, pending: 10 });
    assert.deepEqual([after.config, after.created, after.name], [before.config, before.created, before.name]);
    const rest = await fetch(c, 10);
    assert.deepEqual(rest.map((x) => [x.seq, x.count, x.cseq, x.pending]), rest.map((_, i) => [11 + i, 1, 12 + i, 9 - i]));
  });

  scenario(`${how}: a confirmed ack is not delivered again, an unacked message is, with its count`, async (t) => {
    let { s, c } = await started(t);
    await fill(c, 30);
    await add(c, { ack_wait: SECOND });
    const m = await fetch(c, 30);
    const acked = m.filter((x) => x.seq % 3 !== 0);
    await Promise.all(acked.map((x) => settle(c, x)));
    await written("acks");
    c = await again(t, s, c, how);
    const got = await pull(c, { batch: 30, expires: LONG }).messages(10);
    assert.deepEqual(got.map((x) => x.seq).sort((x, y) => x - y), Array.from({ length: 10 }, (_, i) => 3 * i + 3));
    assert.ok(got.every((x) => x.count === 2), String(got.map((x) => x.count)));
  });

  scenario(`${how}: ephemerals come back, push and pull, and go on`, async (t) => {
    let { s, c } = await started(t);
    await fill(c, 5);
    await add(c, { name: "PULL", ack_policy: "none", inactive_threshold: LONG });
    await add(c, { name: "PUSH", ack_policy: "none", deliver_subject: "to", inactive_threshold: LONG });
    await fetch(c, 2, "PULL");
    await new Inbox(c, { subject: "to" }).seqs(5);
    await written();
    c = await again(t, s, c, how);
    assert.deepEqual((await c.api("CONSUMER.NAMES.S")).consumers, ["PULL", "PUSH"]);
    assert.deepEqual((await fetch(c, 3, "PULL")).map((m) => [m.seq, m.cseq]), [[3, 3], [4, 4], [5, 5]]);
    const to = new Inbox(c, { subject: "to" });
    await fill(c, 1);
    const [m] = await to.messages(1);
    assert.deepEqual([m.seq, m.cseq], [6, 6]);
  });

  scenario(`${how}: an ephemeral that nobody uses goes after the restart, by its own threshold`, async (t) => {
    let { s, c } = await started(t);
    await add(c, { name: "E", inactive_threshold: SECOND });
    await add(c);
    c = await again(t, s, c, how);
    await until("its end", async () => (await look(c, "E")).error?.err_code === 10014);
    assert.equal((await look(c)).error, undefined);
  });

  scenario(`${how}: what was deleted stays deleted; pauses and updates hold`, async (t) => {
    let { s, c } = await started(t);
    await fill(c, 2);
    for (const name of ["A", "B", "P"]) await add(c, { durable_name: name });
    await drop(c, "A");
    await add(c, { durable_name: "B", description: "changed", max_deliver: 3 });
    await c.api("CONSUMER.PAUSE.S.P", { pause_until: "2200-01-01T00:00:00Z" });
    c = await again(t, s, c, how);
    assert.deepEqual((await c.api("CONSUMER.NAMES.S")).consumers, ["B", "P"]);
    assert.deepEqual([(await look(c, "B")).config.description, (await look(c, "B")).config.max_deliver], ["changed", 3]);
    assert.equal((await look(c, "P")).paused, true);
    await pull(c, { batch: 1, expires: 500 * MS }, { name: "P" }).status("408 Request Timeout");
    assert.equal((await fetch(c, 1, "B"))[0].seq, 1);
  });

  scenario(`${how}: workqueue and interest: what was acked is gone, what was not is there`, async (t) => {
    let { s, c } = await started(t, { retention: "workqueue" });
    await fill(c, 10);
    await add(c, { ack_wait: SECOND });
    const m = await fetch(c, 10);
    for (const x of m.slice(0, 6)) await settle(c, x);
    await until("four left", async () => (await c.state()).messages === 4);
    await written("acks");
    c = await again(t, s, c, how);
    assert.equal((await c.state()).messages, 4);
    const got = await pull(c, { batch: 10, expires: LONG }).messages(4);
    assert.deepEqual(got.map((x) => [x.seq, x.count]), [[7, 2], [8, 2], [9, 2], [10, 2]]);
    for (const x of got) await settle(c, x);
    await until("none left", async () => (await c.state()).messages === 0);
  });
}

scenario("kill: delivery counts go on, and max_deliver holds across restarts", async (t) => {
  let { s, c } = await started(t);
  await fill(c, 1);
  await add(c, { max_deliver: 3, ack_wait: 500 * MS });
  for (const count of [1, 2, 3]) {
    const [m] = await fetch(c, 1);
    assert.deepEqual([m.seq, m.count], [1, count]);
    await written();
    c = await again(t, s, c);
  }
  await pull(c, { batch: 1, expires: 1500 * MS }).status("408 Request Timeout");
  assert.equal((await place(c)).unacked, 0);
});

scenario("kill in the middle of a storm of acks: a confirmed one does not come again, three times in a row", { only: "mayfly" }, async (t) => {
  let { s, c } = await started(t);
  const N = 4000;
  await fill(c, N, ["a", "b", "c"]);
  await add(c, { ack_wait: 300 * MS, max_ack_pending: 500 });
  const confirmed = new Set();
  for (let round = 0; round < 3; round++) {
    const inbox = new Inbox(c);
    const nc = c.nc;
    const before = confirmed.size;
    let ended = false;
    const work = (async () => {
      while (!ended && !nc.isClosed()) {
        pull(c, { batch: 200, expires: LONG }, { inbox });
        const got = [];
        while (!ended && got.length < 100) {
          await until("a message", () => ended || nc.isClosed() || inbox.all.length > inbox.read);
          if (nc.isClosed()) break;
          if (!ended) got.push(await inbox.next());
        }
        for (const m of got) {
          // Confirmed while it waited here: it was sent again before its ack arrived, on a slow machine.
          if (m.status || confirmed.has(m.seq)) continue;
          if (!nc.isClosed()) nc.request(m.reply, "+ACK", { timeout: 30000 }).then(() => confirmed.add(m.seq)).catch(() => {});
        }
      }
    })();
    await until("enough acks", () => confirmed.size >= before + 300);
    await s.kill();
    ended = true;
    await work;
    const known = new Set(confirmed);
    c = await again(t, s, c);
    const seen = await pull(c, { batch: 100, expires: LONG }).messages(100);
    for (const m of seen) assert.ok(!known.has(m.seq), `sequence ${m.seq} came again though its ack was confirmed`);
    for (const m of seen) {
      await settle(c, m);
      confirmed.add(m.seq);
    }
  }
});

scenario("kill: messages that expired meanwhile are counted no more", async (t) => {
  let { s, c } = await started(t, { allow_msg_ttl: true });
  for (let i = 0; i < 5; i++) await c.pub("a", "x", { "Nats-TTL": "1" });
  await c.pub("a", "stays");
  await add(c, { ack_wait: LONG });
  await fetch(c, 3);
  await written();
  const until_ = Date.now() + 1500;
  await c.nc.close();
  await s.kill();
  await until("the end of the short ones", () => Date.now() > until_);
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("S");
  await c.gone(5);
  await placed(c, { unacked: 0, pending: 1 });
  assert.deepEqual((await fetch(c, 1)).map((m) => [m.seq, m.pending]), [[6, 0]]);
  await nothing(c);
});

scenario("kill: a hundred consumers are all there again", async (t) => {
  let { s, c } = await started(t);
  await fill(c, 3);
  const names = Array.from({ length: 100 }, (_, i) => `C${String(i).padStart(3, "0")}`);
  await Promise.all(names.map((durable_name) => add(c, { durable_name })));
  for (const n of names.filter((_, i) => i % 10 === 0)) await settle(c, (await fetch(c, 1, n))[0]);
  await written("acks");
  c = await again(t, s, c);
  const list = await c.api("CONSUMER.LIST.S");
  assert.deepEqual(list.consumers.map((i) => i.name), names);
  assert.deepEqual(list.consumers.map((i) => i.ack_floor.stream_seq), names.map((_, i) => (i % 10 === 0 ? 1 : 0)));
});
