// ttl_values.mjs: every way to write Nats-TTL, and what the server makes of it.
import assert from "node:assert/strict";
import { SECOND, block, group } from "./lib/js.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const INVALID = [400, 10165, "invalid per-message TTL"];
const DISABLED = [400, 10166, "per-message TTL is disabled"];

// Values that are refused, with and without allow_msg_ttl.
const invalid = [
  "-1", "-1s", "+5", "1.5", "500ms", "999ms", "1\u00b5s", "1us", "5 ", "5\t", "never ", "1d", "1e3s", "1s1", "0x10", "abc",
  "s", ".s", "-", "+", "1 s", "1S", "1H", "\t5", "5\u00a0", "nevr", "ever", "--1s",
];
for (const value of invalid)
  check(`${JSON.stringify(value)} is invalid`, { strict: value === "-1" }, async (c) => {
    const off = c.another();
    await Promise.all([c.create({ allow_msg_ttl: true }), off.create()]);
    await c.refused("a", INVALID, "x", utf8(`Nats-TTL: ${value}`));
    await off.refused("a", INVALID, "x", utf8(`Nats-TTL: ${value}`));
    assert.equal((await c.state()).last_seq, 0);
  });

// Values that make a message live: milliseconds for ours, for 2.15.1.
const finite = [
  ["1", 1000, 1000], ["1s", 1000, 1000], ["1000ms", 1000, 1000], ["+1s", 1000, 1000], ["   2s", 2000, 2000],
  ["1.9s", 1900, 1000], ["1.5s", 1500, 1000], ["1s999ms", 1999, 1000], ["1001ms", 1001, 1000], [".0004h", 1440, 1000],
  ["1000000\u00b5s", 1000, 1000], ["1000000\u03bcs", 1000, 1000], ["1000000000ns", 1000, 1000], ["500ms500ms", 1000, 1000],
  ["01", 1000, 1000], ["001s", 1000, 1000], ["1.s", 1000, 1000], [".02m", 1200, 1000], ["1ns1s", 1000, 1000],
];
for (const [value, mine, theirs] of finite)
  check(`${JSON.stringify(value)} lives ${mine === theirs ? mine : `${mine} ms, in 2.15.1 ${theirs}`} ms`, { strict: mine !== theirs }, async (c) => {
    await c.create({ allow_msg_ttl: true });
    const born = Date.now(); // one machine, one clock
    const seq = await c.pub("a", "x", utf8(`Nats-TTL: ${value}`));
    await c.gone(seq);
    const lived = Date.now() - born;
    const due = c.strict ? theirs : mine;
    assert.ok(lived >= due, `died ${due - lived} ms too early`);
  });

// Longer ones cannot be waited for.  The floor of a marker stream shows them: what is below is rewritten.
const long = [
  ["1h30m", 5400], ["1m1m", 120], [".5h", 1800], ["1us2h", 7200], ["33", 33], ["+50s", 50], ["5m", 300], ["30s", 30], ["90061s", 90061],
  ["1h1m1s1ms1us1ns", 3661], ["2.75h", 9900], ["0001h", 3600],
];
for (const [value, seconds] of long)
  check(`${value} is ${seconds} s: kept below, rewritten above a floor`, async (c) => {
    const below = c.another();
    const above = c.another();
    await below.create({ subject_delete_marker_ttl: seconds * SECOND });
    await above.create({ subject_delete_marker_ttl: (seconds + 1) * SECOND });
    const [a, b] = [await below.pub("a", "x", [`Nats-TTL: ${value}`]), await above.pub("a", "x", [`Nats-TTL: ${value}`])];
    assert.equal((await below.get(a)).hdr, block(`Nats-TTL: ${value}`));
    assert.equal((await above.get(b)).hdr, block(`Nats-TTL: ${seconds + 1}`));
  });

for (const value of ["never", "NEVER", "Never", "nEvEr", "  never"])
  check(`${JSON.stringify(value)} never expires, not even by max_age`, async (c) => {
    await c.create({ allow_msg_ttl: true, max_age: SECOND });
    const kept = await c.pub("a", "x", [`Nats-TTL: ${value}`]);
    const lost = await c.pub("b", "x");
    await c.gone(lost);
    const m = await c.get(kept);
    assert.equal(m.hdr, block(`Nats-TTL: ${value}`));
    assert.equal((await c.state()).messages, 1);
  });

for (const value of ["00", "000", ""])
  check(`${JSON.stringify(value)} is no TTL, also where TTLs are disabled`, async (c) => {
    const off = c.another();
    await Promise.all([c.create({ allow_msg_ttl: true, max_age: SECOND }), off.create()]);
    await off.pub("a", "x", [`Nats-TTL: ${value}`]);
    const seq = await c.pub("a", "x", [`Nats-TTL: ${value}`]);
    assert.equal((await c.get(seq)).hdr, block(`Nats-TTL: ${value}`));
    await c.gone(seq); // it is not "never" either: max_age takes it
    assert.equal((await off.state()).messages, 1);
  });

for (const value of ["0", "0s", "+0s", "-0s", "0h0m", "0.0s"])
  check(`${value} is ignored; 2.15.1 refuses it`, { strict: true }, async (c) => {
    const off = c.another();
    await Promise.all([c.create({ allow_msg_ttl: true }), off.create()]);
    if (c.strict) {
      await c.refused("a", INVALID, "x", [`Nats-TTL: ${value}`]);
      await off.refused("a", INVALID, "x", [`Nats-TTL: ${value}`]);
      return;
    }
    const seq = await c.pub("a", "x", [`Nats-TTL: ${value}`]);
    const other = await c.pub("b", "x", ["Nats-TTL: 1"]);
    await c.gone(other);
    assert.equal((await c.get(seq)).hdr, block(`Nats-TTL: ${value}`));
    await off.pub("a", "x", [`Nats-TTL: ${value}`]); // no TTL, so nothing that is disabled
  });

// Beyond int64 nanoseconds: kept for ever by us; 2.15.1 refuses some and deletes the others at once.
const huge = [
  ["7500000000", "dies"], ["9223372036", "dies"], ["9223372036854775807", "dies"], ["2562047h47m16s", "dies"],
  ["18446744073709551617", "dies"], ["9223372036854775808", "refused"], ["2562047h47m17s", "refused"], ["9999999h", "refused"],
];
for (const [value, theirs] of huge)
  check(`${value} is for ever; in 2.15.1 it ${theirs === "dies" ? "overflows and dies" : "is refused"}`, { strict: true }, async (c) => {
    await c.create({ allow_msg_ttl: true });
    if (c.strict && theirs === "refused") return c.refused("a", INVALID, "x", [`Nats-TTL: ${value}`]);
    const seq = await c.pub("a", "x", [`Nats-TTL: ${value}`]);
    if (c.strict) return c.gone(seq);
    await c.gone(await c.pub("b", "x", ["Nats-TTL: 1"]));
    assert.equal((await c.get(seq)).data, "x");
  });

check("7000000000 s is 221 years and no overflow", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const seq = await c.pub("a", "x", ["Nats-TTL: 7000000000"]);
  await c.gone(await c.pub("b", "x", ["Nats-TTL: 1"]));
  assert.equal((await c.get(seq)).data, "x");
});

for (const key of ["nats-ttl", "Nats-Ttl", "NATS-TTL", "XNats-TTL", "Nats-TTL "])
  check(`a header ${JSON.stringify(key)} is nobody's business: stored, ignored`, async (c) => {
    const off = c.another();
    await Promise.all([c.create({ allow_msg_ttl: true }), off.create()]);
    const seq = await c.pub("a", "x", [`${key}: 1`]);
    await off.pub("a", "x", [`${key}: 1`]);
    await off.pub("a", "x", [`${key}: bad`]);
    await c.gone(await c.pub("b", "x", ["Nats-TTL: 1"]));
    assert.equal((await c.get(seq)).hdr, block(`${key}: 1`));
  });

check("of two Nats-TTL lines the first counts", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const long = await c.pub("a", "x", ["Nats-TTL: 1h", "Nats-TTL: 1"]);
  const short = await c.pub("b", "x", ["Nats-TTL: 1", "Nats-TTL: 1h"]);
  const bad = await c.pub("c", "x", ["Nats-TTL: 1h", "Nats-TTL: bad"]);
  await c.refused("d", INVALID, "x", ["Nats-TTL: bad", "Nats-TTL: 1h"]);
  await c.gone(short);
  assert.ok(await c.get(long));
  assert.equal((await c.get(bad)).hdr, block("Nats-TTL: 1h", "Nats-TTL: bad"));
});

check("the name of the header may not follow another name on its line", async (c) => {
  await c.create();
  const seq = await c.pub("a", "x", ["X: Nats-TTL: 1", "Y: z"]);
  assert.equal((await c.get(seq)).hdr, block("X: Nats-TTL: 1", "Y: z"));
});

check("no space after the colon", async (c) => {
  await c.create();
  await c.refused("a", DISABLED, "x", ["Nats-TTL:1"]);
  await c.refused("a", INVALID, "x", ["Nats-TTL:bad"]);
});

// --- the floor (subject_delete_marker_ttl) ---------------------------------------------------------

check("below the floor: every Nats-TTL line goes, the floor is appended last", async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND });
  for (const [lines, stored] of [
    [["X: 1", "Nats-TTL: 1", "Y: 2"], ["X: 1", "Y: 2", "Nats-TTL: 60"]],
    [["Nats-TTL: 1", "X: 1", "Nats-TTL: 1h"], ["X: 1", "Nats-TTL: 60"]],
    [["Nats-TTL: 59s"], ["Nats-TTL: 60"]],
    [["Nats-TTL:   1000ms"], ["Nats-TTL: 60"]],
  ])
    assert.equal((await c.get(await c.pub("a", "x", lines))).hdr, block(...stored));
});

check("at or above the floor, and never: untouched", async (c) => {
  await c.create({ subject_delete_marker_ttl: 20 * SECOND });
  for (const v of ["20", "20s", "20000ms", "21", "30s", "5m", "1h", "never", "NEVER"])
    assert.equal((await c.get(await c.pub("a", "x", ["A: b", `Nats-TTL: ${v}`, "C: d"]))).hdr, block("A: b", `Nats-TTL: ${v}`, "C: d"));
  // Without the header nothing is added.
  assert.equal((await c.get(await c.pub("a", "x", ["A: b"]))).hdr, block("A: b"));
});

check("a message below the floor lives as long as the floor", async (c) => {
  await c.create({ subject_delete_marker_ttl: 2 * SECOND });
  const born = Date.now();
  const seq = await c.pub("a", "x", ["Nats-TTL: 1"]);
  await c.gone(seq);
  assert.ok(Date.now() - born >= 2000);
});

check("the floor is whole seconds", async (c) => {
  await c.create({ subject_delete_marker_ttl: 20.9 * SECOND });
  assert.equal((await c.get(await c.pub("a", "x", ["Nats-TTL: 20s"]))).hdr, block("Nats-TTL: 20s"));
  assert.equal((await c.get(await c.pub("a", "x", ["Nats-TTL: 19s"]))).hdr, block("Nats-TTL: 20"));
});

check("no floor with max_msgs_per_subject 1", async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  const seq = await c.pub("a", "x", ["X: 1", "Nats-TTL: 59", "Y: 2"]);
  assert.equal((await c.get(seq)).hdr, block("X: 1", "Nats-TTL: 59", "Y: 2"));
  await c.gone(await c.pub("b", "x", ["Nats-TTL: 1"]));
});

check("no floor without markers", async (c) => {
  await c.create({ allow_msg_ttl: true, max_msgs_per_subject: 5 });
  assert.equal((await c.get(await c.pub("a", "x", ["Nats-TTL: 30"]))).hdr, block("Nats-TTL: 30"));
});

// --- the deadline ------------------------------------------------------------------------------

check("max_age and TTL: the sooner one", async (c) => {
  const slow = c.another();
  await Promise.all([c.create({ allow_msg_ttl: true, max_age: SECOND }), slow.create({ allow_msg_ttl: true, max_age: 3600 * SECOND })]);
  const [a, b, kept] = [await c.pub("a", "x", ["Nats-TTL: 1h"]), await slow.pub("a", "x", ["Nats-TTL: 1"]), await slow.pub("b", "x")];
  await Promise.all([c.gone(a), slow.gone(b)]);
  assert.ok(await slow.get(kept));
});

check("TTL removal leaves a gap, and older values of the subject come back", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const old = await c.pub("a", "old");
  const young = await c.pub("a", "young", ["Nats-TTL: 1"]);
  const end = await c.pub("b", "end");
  await c.gone(young);
  assert.equal((await c.last("a")).data, "old");
  const st = await c.state({ deleted_details: true });
  assert.deepEqual([st.messages, st.first_seq, st.last_seq, st.num_deleted, st.deleted], [2, old, end, 1, [young]]);
});

check("the last message expires: the stream is empty, sequences go on", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const seq = await c.pub("a", "x", ["Nats-TTL: 1"]);
  const st = await c.empty();
  assert.deepEqual([st.first_seq, st.last_seq, st.bytes, st.first_ts], [seq + 1, seq, 0, "0001-01-01T00:00:00Z"]);
  assert.equal(st.num_subjects, undefined);
  assert.equal(await c.pub("a", "x"), seq + 1);
});

check("memory streams too", async (c) => {
  await c.create({ allow_msg_ttl: true, storage: "memory", subject_delete_marker_ttl: SECOND, max_msgs_per_subject: 1 });
  const seq = await c.pub("a", "x", ["Nats-TTL: 1"]);
  const kept = await c.pub("b", "x", ["Nats-TTL: never"]);
  await c.marker("a");
  assert.equal(await c.get(seq), undefined);
  assert.ok(await c.get(kept));
});

// --- beside other headers ---------------------------------------------------------------------------

check("with a roll-up: the value is replaced at once, and the replacement goes in time", async (c) => {
  await c.create({ allow_msg_ttl: true, allow_rollup_hdrs: true });
  await c.pub("a", "1");
  await c.pub("a", "2");
  const seq = await c.pub("a", "3", ["Nats-Rollup: sub", "Nats-TTL: 1"]);
  const st = await c.empty();
  assert.equal(st.last_seq, seq);
});

check("with a Msg-Id: still a duplicate after the message has expired", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const seq = await c.pub("a", "x", ["Nats-TTL: 1", "Nats-Msg-Id: i"]);
  await c.gone(seq);
  assert.deepEqual(await c.ack("a", "x", ["Nats-TTL: 1", "Nats-Msg-Id: i"]), { stream: c.id, seq, duplicate: true });
});

check("in an atomic batch: each message has its own; a bad one fails the whole batch", async (c) => {
  await c.create({ allow_msg_ttl: true, allow_atomic: true });
  const member = (id, n, ttl, commit) => [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${n}`, `Nats-TTL: ${ttl}`, ...(commit ? ["Nats-Batch-Commit: 1"] : [])];
  await c.send("a", "x", member("bad", 1, "1h"));
  await c.send("a", "x", member("bad", 2, "soon"));
  const bad = await c.ack("a", "x", member("bad", 3, "1h", true));
  assert.equal(bad.error.err_code, 10165);
  assert.equal((await c.state()).messages, 0);
  await c.send("a", "1", member("good", 1, "1h"));
  await c.send("a", "2", member("good", 2, "1"));
  assert.equal((await c.ack("a", "3", member("good", 3, "never", true))).count, 3);
  await c.gone(2);
  assert.deepEqual([(await c.get(1)).data, (await c.get(3)).data], ["1", "3"]);
});

check("a schedule's TTL becomes the TTL of what it makes", async (c) => {
  await c.create({ allow_msg_ttl: true, allow_msg_schedules: true });
  const past = new Date(Date.now() - 1000).toISOString();
  await c.pub("plan", "x", [`Nats-Schedule: @at ${past}`, `Nats-Schedule-Target: ${c.subject("made")}`, "Nats-Schedule-TTL: 1h"]);
  const m = await until("the message", () => c.last("made"));
  assert.match(m.hdr, /\r\nNats-TTL: 1h\r\n/);
});

// Headers are bytes; the tests write them as UTF-8 text.
function utf8(line) {
  return block(Buffer.from(line, "utf8").toString("latin1"));
}
