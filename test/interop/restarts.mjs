// restarts.mjs: what a stream is after its server was killed, or stopped, and came back.
import assert from "node:assert/strict";
import { SECOND, at, block, jetstreamBlock, markerBlock, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const ttl = (v = "1") => ({ "Nats-TTL": v });

// Each scenario has its own server.  how: "kill" is SIGKILL to its pid, "stop" is SIGTERM.
async function again(t, s, how, meanwhile) {
  if (how === "kill") await s.kill();
  else await s.stop();
  await meanwhile?.();
  return back(t, s);
}
async function back(t, s) {
  await s.startAgain();
  s.killed = false; // from here on a bad exit is a failure again
  return onServer(t, s);
}
const passed = (ms) => until("a moment", () => Date.now() > ms);

// Publishes from many hands until the server is gone; acked: sequence to text.
async function storm(c, how, kill, enough) {
  const acked = new Map();
  let stop = false;
  const hands = Array.from({ length: 40 }, async (_, hand) => {
    for (let i = 0; !stop; i++) {
      const text = `${hand} ${i}`;
      const [name, hdr] = how(hand, i);
      let a;
      try {
        a = JSON.parse((await c.nc.request(c.subject(name), text, { timeout: 30000, headers: hdr })).string());
      } catch {
        return; // the connection is gone
      }
      assert.equal(a.error, undefined);
      assert.equal(acked.has(a.seq), false, `sequence ${a.seq} twice`);
      acked.set(a.seq, text);
    }
  });
  await until("enough acks", () => acked.size >= enough);
  await kill();
  stop = true;
  await c.nc.close();
  await Promise.all(hands);
  return acked;
}

scenario("kill -9 in the middle of publishes: all that was acked is there, under its sequence, three times in a row", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("STORM");
  const created = await c.create();
  const all = new Map();
  for (let round = 0; round < 3; round++) {
    const acked = await storm(c, (hand) => [`h.${hand}`], () => s.kill(), 1500);
    for (const [seq, text] of acked) all.set(seq, text);
    c = (await back(t, s)).stream("STORM");
    const st = await c.state();
    assert.ok(st.last_seq >= Math.max(...acked.keys()), "a sequence was lost");
    assert.equal(st.messages, st.last_seq);
    assert.equal((await c.info()).created, created.created);
    // The next one continues, and does not take the sequence of another.
    const next = await c.pub("next", "next");
    assert.equal(next, st.last_seq + 1);
    all.set(next, "next");
  }
  const seqs = [...all.keys()].sort((a, b) => a - b);
  for (let i = 0; i < seqs.length; i += 100)
    await Promise.all(seqs.slice(i, i + 100).map(async (seq) => assert.equal((await c.get(seq))?.data, all.get(seq), `sequence ${seq}`)));
});

scenario("kill -9 in the middle of publishes with TTLs and markers: what was acked is there or has its marker", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("MORTAL");
  await c.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  const acked = await storm(c, (hand, i) => [`k.${hand}.${i}`, { encode: () => Buffer.from(block("Nats-TTL: 1")) }], () => s.kill(), 1500);
  c = (await back(t, s)).stream("MORTAL");
  // Markers of early deaths stand between later values: look at each key.
  const names = [...acked.values()].map((text) => `k.${text.replace(" ", ".")}`);
  for (let i = 0; i < names.length; i += 100)
    await Promise.all(names.slice(i, i + 100).map((n) => until(`the marker of ${n}`, async () => (await c.last(n))?.hdr === markerBlock("MaxAge", "1m0s"))));
  const st = await c.state();
  assert.equal(st.num_subjects, st.messages, "one marker for each subject");
});

for (const how of ["kill", "stop"]) {
  scenario(`${how}: configuration, creation time, state and messages are the same`, async (t) => {
    const { s, stream, jsm } = await ownServer(t);
    const over = {
      description: "all of it", max_msgs: 1000, max_bytes: 1 << 20, max_age: 3600 * SECOND, max_msgs_per_subject: 3, max_msg_size: 4096, discard: "new",
      duplicate_window: 60 * SECOND, compression: "s2", first_seq: 100, allow_rollup_hdrs: true, allow_msg_ttl: true, subject_delete_marker_ttl: 5 * SECOND,
      republish: { src: ">", dest: "rep.>" }, metadata: { owner: "tests", empty: "" }, deny_delete: false,
      subject_transform: { src: "full.in.*", dest: "full.out.$1" }, consumer_limits: { max_ack_pending: 7 },
    };
    let c = stream("FULL");
    await c.create(over);
    await jsm.streams.add({ name: "PLAIN", subjects: ["plain"] });
    for (let i = 0; i < 10; i++) await c.pub(`in.${i % 3}`, `text ${i}`, ["H: v", ...(i % 2 ? ["Nats-TTL: 1h"] : [])]);
    await c.remove(105);
    await c.update({ ...over, description: "changed" });
    const look = async () => {
      const { config, created, state } = await c.info({ deleted_details: true, subjects_filter: ">" });
      const messages = [];
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) messages.push(await c.get(seq));
      return { config, created, state, messages, names: (await c.api("STREAM.NAMES")).streams };
    };
    const before = await look();
    await c.nc.close();
    c = (await again(t, s, how)).stream("FULL");
    assert.deepEqual(await look(), before);
  });

  scenario(`${how}: TTLs that ran out meanwhile are gone at once, and their markers are there`, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("AWAY");
    const plain = stream("SILENT");
    await c.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
    await plain.create({ allow_msg_ttl: true });
    const from = Date.now();
    for (const n of ["a", "b", "c"]) await c.pub(n, "x", ttl());
    await plain.pub("a", "x", ttl());
    const due = Date.now() + 1010;
    await plain.pub("b", "x");
    await c.nc.close();
    const now = await again(t, s, how, () => passed(due));
    c = now.stream("AWAY");
    for (const n of ["a", "b", "c"]) {
      const m = await c.marker(n);
      assert.equal(m.hdr, markerBlock("MaxAge", "1m0s"));
      assert.ok(at(m) >= from + 1000, "its time is when it was made");
    }
    assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [3, 6]);
    const silent = now.stream("SILENT");
    await silent.gone(1);
    assert.deepEqual([(await silent.state()).messages, (await silent.state()).last_seq], [1, 2]);
  });

  scenario(`${how}: a marker comes exactly once, over three restarts`, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("ONCE");
    await c.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
    await Promise.all(Array.from({ length: 20 }, (_, i) => c.pub(`k.${i}`, "x", ttl()))); // all before the first is due
    const due = Date.now() + 1010;
    await c.nc.close();
    c = (await again(t, s, how, () => passed(due))).stream("ONCE");
    const told = async () => {
      const st = await until("twenty markers", async () => {
        const x = await c.state();
        return x.first_seq === 21 && x.last_seq === 40 && x;
      });
      assert.deepEqual([st.messages, st.last_seq, st.num_subjects], [20, 40, 20]);
      return Promise.all(Array.from({ length: 20 }, (_, i) => c.get(21 + i)));
    };
    const first = await told();
    for (let i = 0; i < 2; i++) {
      await c.nc.close();
      c = (await again(t, s, how)).stream("ONCE");
      assert.deepEqual(await told(), first);
    }
  });

  scenario(`${how}: ids are known for their window, the last one is still the last one`, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("IDS");
    await c.create();
    for (let i = 0; i < 50; i++) await c.pub("a", "x", { "Nats-Msg-Id": `i${i}` });
    await c.nc.close();
    c = (await again(t, s, how)).stream("IDS");
    for (const i of [0, 25, 49]) assert.deepEqual(await c.ack("a", "y", { "Nats-Msg-Id": `i${i}` }), { stream: "IDS", seq: i + 1, duplicate: true });
    await c.refused("a", [400, 10070, "wrong last msg ID: i49"], "x", { "Nats-Expected-Last-Msg-Id": "i48" });
    assert.equal(await c.pub("a", "x", { "Nats-Msg-Id": "new", "Nats-Expected-Last-Msg-Id": "i49" }), 51);
  });

  scenario(`${how}: ids of expired, deleted and purged messages are known too`, mayfly, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("IDS");
    await c.create({ allow_msg_ttl: true, max_msgs_per_subject: 1 });
    const id = (i) => ({ "Nats-Msg-Id": i });
    await c.pub("a", "x", id("deleted"));
    await c.remove(1);
    await c.pub("b", "x", id("purged"));
    await c.purge();
    await c.pub("c", "x", id("replaced"));
    await c.pub("c", "y");
    await c.gone(await c.pub("d", "x", { ...ttl(), ...id("expired") }));
    await c.pub("e", "x", { ...ttl(), ...id("expired meanwhile") });
    const due = Date.now() + 1010;
    await c.nc.close();
    c = (await again(t, s, how, () => passed(due))).stream("IDS");
    for (const i of ["deleted", "purged", "replaced", "expired", "expired meanwhile"]) assert.equal((await c.ack("z", "x", id(i))).duplicate, true, i);
    assert.equal((await c.ack("z", "x", id("fresh"))).duplicate, undefined);
  });

  scenario(`${how}: what was removed stays removed, an emptied stream goes on counting`, async (t) => {
    const { s, stream } = await ownServer(t);
    let [c, empty] = [stream("GAPS"), stream("EMPTY")];
    await c.create({ allow_rollup_hdrs: true });
    await empty.create({ allow_msg_ttl: true });
    for (let i = 1; i <= 10; i++) await c.pub(`k.${i}`, String(i));
    await c.remove(3);
    await c.purge({ filter: c.subject("k.5") });
    await c.purge({ seq: 3 });
    await c.pub("k.7", "rolled", { "Nats-Rollup": "sub" });
    await empty.pub("a", "x", ttl());
    await empty.empty();
    const before = [await c.state({ deleted_details: true }), await empty.state()];
    assert.deepEqual(before[0].deleted, [5, 7]);
    await c.nc.close();
    const now = await again(t, s, how);
    [c, empty] = [now.stream("GAPS"), now.stream("EMPTY")];
    const after = [await c.state({ deleted_details: true }), await empty.state()];
    // The time of an empty stream's last message is not remembered by all.
    for (const st of [before[1], after[1]]) delete st.last_ts;
    assert.deepEqual(after, before);
    assert.equal(await empty.pub("a", "x", { "Nats-Expected-Last-Sequence": 1 }), 2);
  });

  scenario(`${how}: deadlines do not move`, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("DUE");
    await c.create({ allow_msg_ttl: true });
    const born = Date.now();
    const seqs = [await c.pub("a", "x", ttl("2")), await c.pub("b", "x", ttl("2500ms")), await c.pub("c", "x", ttl("never")), await c.pub("d", "x", ttl("1h"))];
    await c.nc.close();
    c = (await again(t, s, how)).stream("DUE");
    await Promise.all([2000, isMayfly ? 2500 : 2000].map(async (ms, i) => {
      await c.gone(seqs[i]);
      assert.ok(Date.now() >= born + ms, "it left too early");
    }));
    assert.ok((await c.get(seqs[2])) && (await c.get(seqs[3])));
  });

  scenario(`${how}: counters go on, a half batch is nowhere, a whole one is whole`, async (t) => {
    const { s, stream } = await ownServer(t);
    let [c, b] = [stream("COUNT"), stream("BATCH")];
    await c.create({ allow_msg_counter: true });
    await b.create({ allow_atomic: true });
    for (let i = 0; i < 5; i++) await c.pub("n", "", { "Nats-Incr": "36893488147419103232" });
    const member = (id, n, commit) => [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${n}`, ...(commit ? ["Nats-Batch-Commit: 1"] : [])];
    for (let n = 1; n <= 3; n++) await b.send("whole", String(n), member("w", n, n === 3));
    for (let n = 1; n <= 2; n++) await b.send("half", String(n), member("h", n));
    await c.nc.close();
    const now = await again(t, s, how);
    [c, b] = [now.stream("COUNT"), now.stream("BATCH")];
    assert.equal((await c.ack("n", "", { "Nats-Incr": "1" })).val, "184467440737095516161");
    assert.deepEqual((await b.state({ subjects_filter: ">" })).subjects, { "batch.whole": 3 });
    const r = await b.ack("half", "3", member("h", 3, true));
    assert.equal(r.error.err_code, 10176);
  });

  scenario(`${how}: a schedule fires after the restart, once`, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("SCHED");
    await c.create({ allow_msg_schedules: true, allow_msg_ttl: true });
    const when = new Date(Date.now() + 1500).toISOString();
    await c.pub("plan", "later", [`Nats-Schedule: @at ${when}`, `Nats-Schedule-Target: ${c.subject("target")}`]);
    await c.nc.close();
    c = (await again(t, s, how)).stream("SCHED");
    const m = await until("the message", () => c.last("target"));
    assert.equal(m.data, "later");
    assert.ok(at(m) >= Date.parse(when) - 1000, "not before its time"); // nats-server rounds to seconds
    await until("the plan's end", async () => !(await c.last("plan")));
    assert.equal((await c.state()).messages, 1);
  });
}

scenario("kill -9 while deleting and purging: every answer that came is true afterwards", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("CUT");
  await c.create();
  const n = 3000;
  await Promise.all(Array.from({ length: n }, (_, i) => c.pub(`k.${i % 10}`, String(i))));
  const removed = new Set();
  const work = (async () => {
    for (let seq = 2; seq <= n; seq += 2) {
      try {
        const r = await c.api("STREAM.MSG.DELETE.CUT", { seq });
        if (r.success) removed.add(seq);
      } catch {
        return;
      }
    }
  })();
  await until("some deletes", () => removed.size > 200);
  await s.kill();
  await c.nc.close();
  await work;
  c = (await back(t, s)).stream("CUT");
  await Promise.all([...removed].map(async (seq) => assert.equal(await c.get(seq), undefined, `sequence ${seq} came back`)));
  const st = await c.state();
  assert.ok(st.messages === n - removed.size || st.messages === n - removed.size - 1, "one more may have been on its way");
  assert.equal(st.last_seq, n);
});

scenario("a server that was killed in its first second has its streams", async (t) => {
  const { s, stream } = await ownServer(t);
  const names = Array.from({ length: 20 }, (_, i) => `N${String(i).padStart(2, "0")}`);
  await Promise.all(names.map((n) => stream(n).create()));
  assert.equal((await stream("N07").api("STREAM.DELETE.N07")).success, true);
  await stream("N00").nc.close();
  const now = await again(t, s, "kill");
  const left = names.filter((n) => n !== "N07");
  assert.deepEqual((await now.stream("N00").api("STREAM.NAMES")).streams, left);
});

scenario("another store_dir is another server", async (t) => {
  const { s, stream } = await ownServer(t);
  await stream("A").create();
  await stream("A").nc.close();
  await s.stop();
  s.config = jetstreamBlock().replace("DIR/js", "DIR/other");
  await s.startAgain();
  assert.equal((await (await onServer(t, s)).stream("A").api("STREAM.NAMES")).streams, null);
});
