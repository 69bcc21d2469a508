// watch_history.mjs: many watchers of one bucket, random changes, kills and restarts: does each watcher's history
// agree with the stream's?  No gap, nothing twice, nothing out of order.
// WATCHERS, EVENTS, KILLS and RECONNECTS make it longer and rougher, SEED repeats a run's choices.
import assert from "node:assert/strict";
import { Kvm, KvWatchInclude } from "@nats-io/kv";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const WATCHERS = Number(process.env.WATCHERS ?? 20);
const EVENTS = Number(process.env.EVENTS ?? 15000);
const KILLS = Number(process.env.KILLS ?? 0);
const RECONNECTS = Number(process.env.RECONNECTS ?? 0); // about one in 2000 changes
const KEYS = 300;
const HISTORY = 64;
const MARKER_MS = 2000;
const HANDS = 32; // writers at once
const PATIENT = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 20, reconnectJitter: 1, waitOnFirstConnect: true };

function dice(seed) {
  let x = seed >>> 0;
  return (n) => {
    x = (x + 0x6d2b79f5) >>> 0;
    let y = Math.imul(x ^ (x >>> 15), 1 | x);
    y ^= y + Math.imul(y ^ (y >>> 7), 61 | y);
    return ((y ^ (y >>> 14)) >>> 0) % n;
  };
}

// Each line of a history: revision, key, operation, value.
class Watcher {
  async start(t, s, filter) {
    const { nc } = await onServer(t, s, PATIENT);
    this.filter = filter;
    this.nc = nc;
    this.seen = [];
    // What it asks for while the server dies is asked again soon.
    const kv = await new Kvm(jetstream(nc, { timeout: 1000 })).open("B");
    this.iter = await kv.watch({ include: KvWatchInclude.AllHistory, key: filter });
    (async () => {
      for await (const e of this.iter) this.seen.push({ rev: e.revision, key: e.key, op: e.operation, value: e.string(), at: Date.now() });
    })();
    return this;
  }
  wants(key) {
    return this.filter === ">" || key.startsWith(this.filter.slice(0, 2));
  }
  last() {
    return this.seen.at(-1)?.rev ?? 0;
  }
}

function block(o) {
  const h = headers();
  for (const [k, v] of Object.entries(o)) h.set(k, v);
  return h;
}

// One change by one hand; acked: revision to { key, op, value }.  Errors are of a server that was killed.
async function change(w, roll, acked) {
  const key = `${"abc"[roll(3)]}.${roll(KEYS)}`;
  const what = roll(100);
  const value = `v${++w.count}`;
  const subject = `$KV.B.${key}`;
  const from = Date.now();
  const ttl = 2 + roll(2);
  const keep = async (op, p, life = Infinity) => acked.set((await p).seq, { key, op, value: op === "PUT" ? value : "", from, dies: from + life });
  const with_ = (o) => ({ headers: block(o), timeout: LIMIT_MS });
  if (what < 60) await keep("PUT", w.js.publish(subject, value, { timeout: LIMIT_MS }));
  else if (what < 78) await keep("PUT", w.js.publish(subject, value, { ttl: `${ttl}s`, timeout: LIMIT_MS }), ttl * 1000);
  else if (what < 88) await keep("DEL", w.js.publish(subject, "", with_({ "KV-Operation": "DEL" })));
  else if (what < 96 || !isMayfly) await keep("PURGE", w.js.publish(subject, "", with_({ "KV-Operation": "PURGE", "Nats-Rollup": "sub" })));
  else {
    w.purged.push({ key, from }); // its marker has no ack: the watchers tell
    await w.purge(subject);
  }
}

// What the stream's history must have been: what was acked, and what any watcher saw, who must all agree.
function truth(watchers, acked) {
  const all = new Map(acked);
  for (const w of watchers)
    for (const e of w.seen) {
      const known = all.get(e.rev);
      if (known) assert.deepEqual([known.key, known.op, known.value], [e.key, e.op, e.value], `revision ${e.rev}`);
      else all.set(e.rev, { ...e, dies: e.at + MARKER_MS - 1000 }); // a marker, or what a kill left unacked
    }
  return [...all].map(([rev, e]) => ({ rev, ...e })).sort((a, b) => a.rev - b.rev);
}

// A change may be missing only when it was out of the stream before the watcher, who was away or behind, could
// get it: a purge or an expiry of its key, HISTORY newer ones, an API purge (of a tombstone it tells nobody), or its
// own TTL ran out before the watcher went on.
function missingWithoutReason(history, w, purged) {
  const seen = new Map(w.seen.map((e) => [e.rev, e.at]));
  const later = new Map(); // key: { n, purged }
  const wrong = [];
  const first = new Map(); // key: when an API purge was asked for
  for (const p of [...purged].reverse()) first.set(p.key, [...(first.get(p.key) ?? []), p.from]);
  const taken = (e) => first.get(e.key)?.some((from) => from >= (e.from ?? 0) && from <= wentOn);
  let wentOn = Infinity; // when the watcher got the next one
  for (const e of [...history].reverse()) {
    if (!w.wants(e.key)) continue;
    const l = later.get(e.key) ?? { n: 0, purged: false };
    if (seen.has(e.rev)) wentOn = seen.get(e.rev);
    else if (!l.purged && l.n < HISTORY - 1 && !(wentOn >= e.dies) && !taken(e)) wrong.push(e);
    later.set(e.key, { n: l.n + 1, purged: l.purged || e.op === "PURGE" });
  }
  return wrong;
}

scenario(`${WATCHERS} watchers, ${EVENTS} random changes, ${KILLS} kills: every history is the stream's`, { only: "mayfly" }, async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_007);
  console.log(`# watch_history: SEED=${seed} WATCHERS=${WATCHERS} EVENTS=${EVENTS} KILLS=${KILLS}`);
  const roll = dice(seed);
  const { s, stream } = await ownServer(t);
  let c = stream("B");
  await new Kvm(c.js).create("B", { history: HISTORY, markerTTL: MARKER_MS, timeout: LIMIT_MS });
  const watchers = [];
  for (let i = 0; i < WATCHERS; i++) watchers.push(await new Watcher().start(t, s, i % 4 === 3 ? ["a.*", "b.*", "c.*"][i % 3] : ">"));
  const acked = new Map();
  const w = {
    count: 0,
    purged: [],
    purge: (filter) => c.api("STREAM.PURGE.KV_B", { filter }),
  };
  for (let round = 0; round <= KILLS; round++) {
    w.js = c.js;
    let stop = false;
    const enough = (EVENTS * (round + 1)) / (KILLS + 1);
    const hands = Array.from({ length: HANDS }, async () => {
      while (!stop && w.count < enough) {
        try {
          await change(w, roll, acked);
        } catch (e) {
          if (!stop) throw e;
        }
        if (RECONNECTS > 0 && roll(2000) === 0) await watchers[roll(WATCHERS)].nc.reconnect().catch(() => {});
      }
    });
    if (round === KILLS) {
      await Promise.all(hands);
      break;
    }
    await until("the next kill", () => w.count >= enough - HANDS);
    stop = true;
    await s.kill();
    await c.nc.close();
    await Promise.all(hands);
    await s.startAgain();
    s.killed = false;
    c = (await onServer(t, s)).stream("B");
  }
  // The last expiries, then one more change in each part, which shows every watcher whether it has a gap.
  const state = async () => (await c.api("STREAM.INFO.KV_B")).state;
  let [last, since] = [0, Date.now()];
  await until("the last expiries", async () => {
    const now = (await state()).last_seq;
    const quiet = now === last && Date.now() - since > 3500;
    if (now !== last) [last, since] = [now, Date.now()];
    return quiet;
  });
  for (const key of ["a.end", "b.end", "c.end"]) acked.set((await c.js.publish(`$KV.B.${key}`, "end", { timeout: LIMIT_MS })).seq, { key, op: "PUT", value: "end" });
  const end = (await state()).last_seq;
  for (const x of watchers)
    await until(`a watcher's last revision: at ${x.last()} of ${end}`, () => x.seen.some((e) => e.key === (x.filter === ">" ? "c.end" : `${x.filter[0]}.end`)), 2 * LIMIT_MS);
  const history = truth(watchers, acked);
  const problems = [];
  for (const [i, x] of watchers.entries()) {
    for (let j = 1; j < x.seen.length; j++)
      if (x.seen[j].rev <= x.seen[j - 1].rev) problems.push(`watcher ${i}: ${x.seen[j].rev} after ${x.seen[j - 1].rev}`);
    for (const e of missingWithoutReason(history, x, w.purged)) problems.push(`watcher ${i} (${x.filter}): no ${e.rev} ${e.key} ${e.op}`);
  }
  console.log(`# watch_history: ${history.length} events in ${end} revisions, ${watchers.reduce((n, x) => n + x.seen.length, 0)} seen, ${problems.length} problems`);
  assert.deepEqual(problems.slice(0, 20), []);
  await Promise.all(watchers.map((x) => x.nc.close()));
});
