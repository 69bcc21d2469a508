// schedules.mjs: messages that come later, or again and again.
import assert from "node:assert/strict";
import { SECOND, at, block, group, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const ON = { allow_msg_schedules: true, allow_msg_ttl: true };
const soon = (s = 1) => new Date(Math.floor(Date.now() / 1000 + s) * 1000).toISOString().replace(".000", "");
const later = () => "@at 2099-01-01T00:00:00Z";
const to = (c, pattern, ...more) => [`Nats-Schedule: ${pattern}`, `Nats-Schedule-Target: ${c.subject("t")}`, ...more];
const first = (c, name = "t") => until(`a message on ${name}`, () => c.last(name));
const PATTERN = [400, 10189, "message schedules pattern is invalid"];
const TARGET = [400, 10190, "message schedules target is invalid"];
const SOURCE = [400, 10203, "message schedules source is invalid"];
const SCHEDULER = [400, 10212, "message schedules invalid scheduler"];
const ZONE = [400, 10223, "message schedules time zone is invalid"];

// --- what is produced ------------------------------------------------------------------------------

check("@at: once, and the schedule is gone", async (c) => {
  await c.create(ON);
  const when = soon(5); // read before it fires, on a busy machine too
  const seq = await c.pub("s", "body", to(c, `@at ${when}`, "Own: h", "Nats-Msg-Id: i", "Nats-TTL: 1h"));
  const kept = await c.get(seq);
  assert.equal(kept.hdr, block(...to(c, `@at ${when}`, "Own: h", "Nats-Msg-Id: i", "Nats-TTL: 1h"), "Nats-Rollup: sub"));
  const m = await first(c);
  assert.equal(m.hdr, block("Own: h", `Nats-Scheduler: ${c.subject("s")}`, "Nats-Schedule-Next: purge"));
  assert.equal(m.data, "body");
  assert.ok(at(m) >= Date.parse(when), `${m.time} is before ${when}`);
  await until("the schedule to go", async () => !(await c.get(seq)));
  assert.equal((await c.state()).messages, 1);
});

check("@at in the past: at once", async (c) => {
  await c.create(ON);
  await c.pub("s", "body", to(c, "@at 2020-01-01T00:00:00Z"));
  await first(c);
  await until("the schedule to go", async () => (await c.state()).messages === 1);
});

check("@every: again and again, on whole seconds", async (c) => {
  await c.create(ON);
  const seq = await c.pub("s", "body", to(c, "@every 1s"));
  const two = await until("two firings", async () => {
    const st = await c.state();
    return st.last_seq >= 3 && [await c.get(2), await c.get(3)];
  });
  for (const m of two) {
    const next = m.hdr.match(/Nats-Schedule-Next: (\S+)\r\n/)[1];
    assert.match(next, /^\d+-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(m.hdr, block(`Nats-Scheduler: ${c.subject("s")}`, `Nats-Schedule-Next: ${next}`));
    assert.ok(Date.parse(next) > at(m) - 1000);
  }
  assert.ok(await c.get(seq), "the schedule stays");
});

check("cron with seconds", async (c) => {
  await c.create(ON);
  await c.pub("s", "body", to(c, "* * * * * *"));
  const m = await first(c);
  assert.match(m.hdr, /Nats-Schedule-Next: \S+Z\r\n/);
});

check("TTL and rollup of what is produced", async (c) => {
  await c.create(ON);
  await c.pub("t", "old");
  await c.pub("s", "body", to(c, `@at ${soon()}`, "Nats-Schedule-TTL: 5m", "Nats-Schedule-Rollup: sub"));
  const m = await until("the new one", async () => {
    const x = await c.last("t");
    return x.data === "body" && x;
  });
  assert.equal(m.hdr, block(`Nats-Scheduler: ${c.subject("s")}`, "Nats-Schedule-Next: purge", "Nats-TTL: 5m", "Nats-Rollup: sub"));
  await until("both others to go", async () => (await c.state()).messages === 1);
});

check("a source lends its last message", async (c) => {
  await c.create(ON);
  await c.pub("src", "older");
  await c.pub("src", "lent", ["Lent: h"]);
  await c.pub("s", "own", to(c, `@at ${soon()}`, `Nats-Schedule-Source: ${c.subject("src")}`, "Own: h"));
  const m = await first(c);
  assert.equal(m.data, "lent");
  assert.equal(m.hdr, block("Lent: h", `Nats-Scheduler: ${c.subject("s")}`, "Nats-Schedule-Next: purge"));
});

check("a source without messages: its own content", async (c) => {
  await c.create(ON);
  await c.pub("s", "own", to(c, `@at ${soon()}`, `Nats-Schedule-Source: ${c.subject("src")}`, "Own: h"));
  const m = await first(c);
  assert.equal(m.data, "own");
  assert.equal(m.hdr, block("Own: h", `Nats-Scheduler: ${c.subject("s")}`, "Nats-Schedule-Next: purge"));
});

check("Nats-TTL is the schedule's own: it may end before it fires", async (c) => {
  await c.create(ON);
  const seq = await c.pub("s", "body", to(c, later(), "Nats-TTL: 1s"));
  await c.gone(seq);
  assert.equal(await c.last("t"), undefined);
});

check("in an atomic batch", async (c) => {
  await c.create({ ...ON, allow_atomic: true });
  const b = (n, ...more) => ["Nats-Batch-Id: b", `Nats-Batch-Sequence: ${n}`, ...more];
  await c.send("x", "1", b(1));
  await c.send("s", "body", b(2, "Nats-Batch-Commit: 1", ...to(c, `@at ${soon()}`)));
  const m = await first(c);
  assert.equal(m.data, "body");
});

// --- one schedule for each subject -----------------------------------------------------------------

check("a newer schedule takes the place of an older one", async (c) => {
  await c.create(ON);
  await c.pub("s", "old", to(c, later()));
  await c.pub("s", "new", to(c, `@at ${soon()}`));
  assert.equal((await c.state()).messages, 1);
  assert.equal((await first(c)).data, "new");
});

// Ends schedules in every way there is, then waits for one that was not ended and is due after them.
check("deleted, purged, overwritten or stopped: it does not fire", async (c) => {
  await c.create(ON);
  const when = soon(6); // far more than a busy machine needs to end them
  const seq = await c.pub("s1", "no", to(c, `@at ${when}`));
  await c.pub("s2", "no", to(c, `@at ${when}`));
  await c.pub("s3", "no", to(c, `@at ${when}`));
  await c.pub("s4", "no", to(c, `@at ${when}`));
  await c.remove(seq);
  await c.purge({ filter: c.subject("s2") });
  await c.pub("s3", "plain");
  await c.pub("other", "stop", ["Nats-Schedule-Next: purge", `Nats-Scheduler: ${c.subject("s4")}`]);
  assert.equal(await c.last("s4"), undefined);
  await c.pub("s5", "yes", to(c, `@at ${soon(7)}`));
  assert.equal((await first(c)).data, "yes");
  assert.equal((await c.state({ subjects_filter: ">" })).subjects[c.subject("t")], 1);
});

// --- what is refused -------------------------------------------------------------------------------

check("disabled", async (c) => {
  await c.create();
  const off = [400, 10188, "message schedules is disabled"];
  await c.refused("s", off, "", to(c, later()));
  await c.refused("s", off, "", to(c, "nonsense"));
  await c.refused("s", off, "", ["Nats-Schedule-Time-Zone: No/Where"]);
  await c.refused("s", off, "", ["Nats-Schedule-Time-Zone:"]);
  await c.pub("s", "", ["Nats-Schedule-Time-Zone: UTC"]);
  await c.refused("s", off, "", ["Nats-Schedule-Next: purge", `Nats-Scheduler: ${c.subject("x")}`]);
});

check("patterns", async (c) => {
  await c.create(ON);
  for (const p of ["nonsense", "@at", "@at tomorrow", "@every", "@every 1", "@every 999ms", "@every -1s", "* * * * *", "61 * * * * *", "@often", "* * * * * * *", "0 0 0 30 2 *", "0 0 0 31 4,6 *"])
    await c.refused("s", PATTERN, "", to(c, p));
  for (const p of ["@every 1.5s", "@every 1h30m", "0 30 14 * * *", "0 0 0 1 1 *", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", later(), "@at 2099-01-01T00:00:00.5+01:00"])
    await c.pub("s", "", to(c, p));
});

check("time zones", async (c) => {
  await c.create(ON);
  const zone = (z) => `Nats-Schedule-Time-Zone: ${z}`;
  await c.pub("s", "", to(c, "0 0 3 * * *", zone("Europe/Amsterdam")));
  await c.pub("s", "", to(c, "@daily", zone("UTC")));
  await c.refused("s", ZONE, "", to(c, "0 0 3 * * *", zone("No/Where")));
  await c.refused("s", ZONE, "", [zone("No/Where")]);
  await c.refused("s", ZONE, "", [zone("")]);
  await c.refused("s", ZONE, "", to(c, "0 0 3 * * *", zone("")));
  await c.refused("s", ZONE, "", to(c, later(), zone("")));
  await c.pub("s", "", [zone("Asia/Kolkata")]); // an ordinary message
  await c.refused("s", PATTERN, "", to(c, later(), zone("UTC")));
  await c.refused("s", PATTERN, "", to(c, "@every 1s", zone("UTC")));
});

check("targets and sources", async (c) => {
  await c.create(ON);
  const s = (target, source) => [
    `Nats-Schedule: ${later()}`,
    ...(target ? [`Nats-Schedule-Target: ${target}`] : []),
    ...(source ? [`Nats-Schedule-Source: ${source}`] : []),
  ];
  for (const t of ["", c.subject("*"), c.subject("s"), "elsewhere", `${c.prefix}..x`]) await c.refused("s", TARGET, "", s(t));
  for (const x of [c.subject("*"), c.subject("s"), c.subject("t"), "elsewhere"]) await c.refused("s", SOURCE, "", s(c.subject("t"), x));
});

check("rollups and TTLs", async (c) => {
  await c.create({ allow_msg_schedules: true });
  const rollup = [400, 10192, "message schedules invalid rollup"];
  await c.refused("s", rollup, "", to(c, later(), "Nats-Schedule-Rollup: all"));
  await c.refused("s", rollup, "", to(c, later(), "Nats-Rollup: all"));
  await c.pub("s", "", to(c, later(), "Nats-Rollup: sub"));
  await c.refused("s", [400, 10191, "message schedules invalid per-message TTL"], "", to(c, later(), "Nats-Schedule-TTL: x"));
  await c.refused("s", [400, 10166, "per-message TTL is disabled"], "", to(c, later(), "Nats-Schedule-TTL: 1s"));
});

check("what only the server writes", async (c) => {
  await c.create(ON);
  await c.pub("plain", "x");
  const scheduler = (name) => `Nats-Scheduler: ${name}`;
  await c.refused("a", SCHEDULER, "", [scheduler(c.subject("x"))]);
  await c.refused("a", SCHEDULER, "", ["Nats-Schedule-Next: 2099-01-01T00:00:00Z", scheduler(c.subject("x"))]);
  await c.refused("a", SCHEDULER, "", ["Nats-Schedule-Next: purge"]);
  await c.refused("a", SCHEDULER, "", ["Nats-Schedule-Next: purge", scheduler(c.subject("a"))]);
  await c.refused("a", SCHEDULER, "", ["Nats-Schedule-Next: purge", scheduler(c.subject("*"))]);
  await c.refused("a", SCHEDULER, "", ["Nats-Schedule-Next: purge", scheduler(c.subject("plain"))]);
  await c.pub("a", "", ["Nats-Schedule-Next: purge", scheduler(c.subject("nothing"))]);
});

// --- restart ---------------------------------------------------------------------------------------

scenario("schedules survive restart and kill, and fire once for all that was missed", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create({ ...ON, max_age: 3600 * SECOND });
  const when = soon(1);
  await c.pub("once", "once", to(c, `@at ${when}`));
  await c.pub("every", "every", [`Nats-Schedule: @every 1s`, `Nats-Schedule-Target: ${c.subject("e")}`]);
  await c.pub("later", "later", to(c, later()));
  const gone = await c.pub("gone", "no", to(c, `@at ${soon(2)}`));
  await c.remove(gone);
  await s.kill();
  await until("the moment to pass", () => Date.now() > Date.parse(when) + 2000);
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("S");
  const m = await first(c);
  assert.equal(m.data, "once");
  const e = await until("the other", () => c.get({ next_by_subj: c.subject("e"), seq: 1 }));
  const after = await until("its next", () => c.get({ next_by_subj: c.subject("e"), seq: e.seq + 1 }));
  assert.ok(at(after) - at(e) > 250, "missed firings are not made up for");
  await s.restart();
  c = (await onServer(t, s)).stream("S");
  assert.ok(await c.last("later"));
  assert.equal(await c.last("once"), undefined);
  assert.equal((await c.state({ subjects_filter: ">" })).subjects[c.subject("t")], 1);
});
