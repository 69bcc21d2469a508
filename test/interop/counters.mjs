// counters.mjs: Nats-Incr: sums of any size, what is refused, what survives.
import assert from "node:assert/strict";
import { block, group, ownServer, onServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const COUNTER = { allow_msg_counter: true };
const INVALID = [400, 10171, "message counter increment is invalid"];

const incr = (n, ...more) => [`Nats-Incr: ${n}`, ...more];
const add = async (c, name, n, ...more) => (await c.ack(name, "", incr(n, ...more))).val;

check("the ack tells the value, the message holds it", async (c) => {
  await c.create(COUNTER);
  assert.equal(await c.send("a", "", incr("+5")), `{"stream":"${c.id}","seq":1,"val":"5"}`);
  assert.equal(await c.send("a", "", incr("-7")), `{"stream":"${c.id}","seq":2,"val":"-2"}`);
  assert.equal(await c.send("a", "", incr("0")), `{"stream":"${c.id}","seq":3,"val":"-2"}`);
  const m = await c.last("a");
  assert.equal(m.data, `{"val":"-2"}`);
  assert.equal(m.hdr, block("Nats-Incr: 0"));
});

check("each subject counts for itself", async (c) => {
  await c.create(COUNTER);
  assert.equal(await add(c, "a", 1), "1");
  assert.equal(await add(c, "b", 10), "10");
  assert.equal(await add(c, "a", 1), "2");
  assert.equal(await add(c, "b", -20), "-10");
});

check("values beyond 64 bits", async (c) => {
  await c.create(COUNTER);
  const big = "9".repeat(60);
  assert.equal(await add(c, "a", big), big);
  assert.equal(await add(c, "a", 1), `1${"0".repeat(60)}`);
  assert.equal(await add(c, "a", -1), big);
  assert.equal(await add(c, "a", `-1${"0".repeat(60)}`), "-1");
  assert.equal(await add(c, "a", "000123"), "122");
  assert.equal(await add(c, "a", "-0"), "122");
});

check("increments sent at once are all counted, in order", async (c) => {
  await c.create(COUNTER);
  const acks = await Promise.all(Array.from({ length: 200 }, (_, i) => c.ack("a", "", incr(i + 1))));
  acks.forEach((a, i) => {
    assert.equal(a.seq, i + 1);
    assert.equal(a.val, String(((i + 1) * (i + 2)) / 2));
  });
});

check("what is no number is refused", async (c) => {
  await c.create(COUNTER);
  for (const v of ["1.5", "0x10", "1_000", "abc", "+", "-", "--1", "1 ", "1e3"]) await c.refused("a", INVALID, "", incr(v));
});

check("only on streams that allow it", async (c) => {
  await c.create();
  await c.refused("a", [400, 10168, "message counters is disabled"], "", incr(1));
  await c.refused("a", INVALID, "", incr("x")); // what is no number is told first
});

check("no payload, and no message without an increment", async (c) => {
  await c.create(COUNTER);
  await c.refused("a", [400, 10170, "message counter has payload"], "x", incr(1));
  await c.refused("a", [400, 10169, "message counter increment is missing"], "x");
});

check("no expectations and no rollup", async (c) => {
  await c.create(COUNTER);
  for (const line of [
    "Nats-Rollup: sub",
    `Nats-Expected-Stream: ${c.id}`,
    "Nats-Expected-Last-Msg-Id: x",
    "Nats-Expected-Last-Sequence: 0",
    "Nats-Expected-Last-Subject-Sequence: 0",
    "Nats-Expected-Last-Subject-Sequence-Subject: a",
  ])
    await c.refused("a", INVALID, "", incr(1, line));
});

check("a repeated id is counted once", async (c) => {
  await c.create(COUNTER);
  assert.equal(await add(c, "a", 3, "Nats-Msg-Id: i"), "3");
  assert.equal(await c.send("a", "", incr(3, "Nats-Msg-Id: i")), `{"stream":"${c.id}","seq":1,"duplicate": true}`);
  assert.equal(await add(c, "a", 1), "4");
});

check("the value is that of the last message: after a delete the one before counts, after a purge none", async (c) => {
  await c.create(COUNTER);
  await add(c, "a", 1);
  await add(c, "a", 10);
  await c.remove(2);
  assert.equal(await add(c, "a", 100), "101");
  await c.purge({ filter: c.subject("a") });
  assert.equal(await add(c, "a", 7), "7");
});

check("a sum too large for max_msg_size", async (c) => {
  await c.create({ ...COUNTER, max_msg_size: 100 });
  const nines = "9".repeat(37);
  assert.equal(await add(c, "a", "9".repeat(30)), "9".repeat(30));
  const r = await c.ack("a", "", incr(nines));
  assert.equal(r.error.err_code, 10054);
  assert.equal(await add(c, "a", 1), `1${"0".repeat(30)}`);
});

check("transformed subjects count where they are stored", async (c) => {
  await c.create({ ...COUNTER, subject_transform: { src: `${c.prefix}.*`, dest: `${c.prefix}.all` } });
  await add(c, "x", 1);
  assert.equal(await add(c, "y", 2), "3");
});

scenario("values survive restart and kill", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("C");
  await c.create(COUNTER);
  const big = "123456789".repeat(10);
  await add(c, "a", big);
  await add(c, "b", -1);
  await s.restart();
  c = (await onServer(t, s)).stream("C");
  assert.equal(await add(c, "a", 1), (BigInt(big) + 1n).toString());
  await s.kill();
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("C");
  assert.equal(await add(c, "a", 1), (BigInt(big) + 2n).toString());
  assert.equal(await add(c, "b", -1), "-2");
});

scenario("killed in the middle of many increments, every stored value is the one before plus its own", async (t) => {
  const { s, nc, stream } = await ownServer(t);
  let c = stream("M");
  await c.create(COUNTER);
  const acked = [];
  nc.subscribe("done", { callback: (_, m) => acked.push(m.json()) });
  const h = { encode: () => Buffer.from(block("Nats-Incr: 3"), "latin1") };
  for (let i = 0; i < 20000; i++) nc.publish(c.subject(`${i % 4}`), "", { headers: h, reply: "done" });
  await until("some to be acknowledged", () => acked.length >= 100);
  await s.kill();
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("M");
  const st = await c.state({ subjects_filter: ">" });
  assert.ok(st.messages >= acked.length);
  for (const name of ["0", "1", "2", "3"]) {
    const stored = st.subjects[c.subject(name)];
    assert.equal((await c.last(name)).data, `{"val":"${3 * stored}"}`);
    assert.equal(await add(c, name, 1), String(3 * stored + 1));
  }
});
