// watch_history.mjs: many watchers of one bucket, random changes, kills and restarts: does each watcher's history
// agree with the stream's?  No gap, nothing twice, nothing out of order.
// WATCHERS, EVENTS, KILLS and RECONNECTS make it longer and rougher, SEED repeats a run's choices.  For a million
// changes: PARTS of the keys, WIDE watchers of all of them (the others see one part each), HANDS that write at once.
import assert from "node:assert/strict";
import { Kvm, KvWatchInclude } from "@nats-io/kv";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { dice } from "./lib/dice.mjs";
import { onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const number = (name, usual) => Number(process.env[name] ?? usual);
const WATCHERS = number("WATCHERS", 20);
const EVENTS = number("EVENTS", 4000);
const KILLS = number("KILLS", 0);
const RECONNECTS = number("RECONNECTS", 0); // about one in 2000 changes
const PARTS = number("PARTS", 3);
const WIDE = number("WIDE", WATCHERS - Math.floor(WATCHERS / 4));
const HANDS = number("HANDS", 32);
const KEYS = 300; // of each part
const HISTORY = 64;
const MARKER_MS = 2000;
// timeout: nats.js does not see that a connection broke between its CONNECT and the PONG, and stands still until this
// long after it began (docs/compatibility.md).
const PATIENT = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 20, reconnectJitter: 1, waitOnFirstConnect: true, timeout: 3000 };

// What the stream's history must have been, by revision: what was acked and what any watcher saw, who must all agree.
class Book {
  lines = new Map();
  problems = [];
  #agree(rev, line, key, op, value) {
    if (line.key !== key || line.op !== op || line.value !== value)
      this.problems.push(`revision ${rev}: ${line.key} ${line.op} ${line.value}, or ${key} ${op} ${value}`);
  }
  acked(rev, key, op, value, from, life = Infinity) {
    const line = this.lines.get(rev);
    if (line) this.#agree(rev, line, key, op, value);
    this.lines.set(rev, { rev, key, op, value, from, dies: from + life });
  }
  // Not acked (yet): a marker, or what a kill left without its ack.
  told(e) {
    const line = this.lines.get(e.revision);
    const value = e.string();
    if (line) this.#agree(e.revision, line, e.key, e.operation, value);
    else this.lines.set(e.revision, { rev: e.revision, key: e.key, op: e.operation, value, dies: e.created.getTime() + MARKER_MS - 1000 });
  }
  history() {
    return [...this.lines.values()].sort((a, b) => a.rev - b.rev);
  }
}

class Watcher {
  revs = []; // what it saw,
  at = []; // and when
  ended = false;
  async start(t, s, filter, book) {
    const { nc } = await onServer(t, s, PATIENT);
    this.filter = filter;
    this.nc = nc;
    const end = filter === ">" ? `${PARTS - 1}.end` : filter.replace("*", "end");
    // What it asks for while the server dies is asked again soon.
    const kv = await new Kvm(jetstream(nc, { timeout: 1000 })).open("B");
    const iter = await kv.watch({ include: KvWatchInclude.AllHistory, key: filter });
    (async () => {
      for await (const e of iter) {
        this.revs.push(e.revision);
        this.at.push(Date.now());
        book.told(e);
        if (e.key === end) this.ended = true;
      }
    })();
    return this;
  }
  last() {
    return this.revs.at(-1) ?? 0;
  }
  // Without a connection for long though the server is there: nats.js has stopped dialling (docs/compatibility.md).
  // What it saw until then is judged all the same.
  lost() {
    if (this.nc.protocol.connected) this.away = undefined;
    else this.away ??= Date.now();
    return this.away !== undefined && Date.now() - this.away > 20000;
  }
}

function block(o) {
  const h = headers();
  for (const [k, v] of Object.entries(o)) h.set(k, v);
  return h;
}

// One change by one hand.  Errors are of a server that was killed.
async function change(w, roll, book) {
  const key = `${roll(PARTS)}.${roll(KEYS)}`;
  const what = roll(100);
  const value = `v${++w.count}`;
  const subject = `$KV.B.${key}`;
  const from = Date.now();
  const ttl = 2 + roll(2);
  const keep = async (op, p, life) => book.acked((await p).seq, key, op, op === "PUT" ? value : "", from, life);
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

// A change may be missing only when it was out of the stream before the watcher, who was away or behind, could
// get it: a purge or an expiry of its key, HISTORY newer ones, an API purge (of a tombstone it tells nobody), or its
// own TTL ran out before the watcher went on.
// history: what the watcher's filter matches, newest first.  purges: key to when an API purge was asked for.
function missingWithoutReason(history, w, purges) {
  const later = new Map(); // key: { n, purged }
  const wrong = [];
  let wentOn = Infinity; // when the watcher got the next one
  let i = w.revs.length - 1;
  const taken = (e) => purges.get(e.key)?.some((from) => from >= (e.from ?? 0) && from <= wentOn);
  for (const e of history) {
    let l = later.get(e.key);
    if (!l) later.set(e.key, (l = { n: 0, purged: false }));
    if (w.revs[i] === e.rev) wentOn = w.at[i--];
    else if (!l.purged && l.n < HISTORY - 1 && !(wentOn >= e.dies) && !taken(e)) wrong.push(e);
    l.n++;
    l.purged ||= e.op === "PURGE";
  }
  return wrong;
}

function disorder(w) {
  const wrong = [];
  for (let j = 1; j < w.revs.length; j++) if (w.revs[j] <= w.revs[j - 1]) wrong.push(`${w.revs[j]} after ${w.revs[j - 1]}`);
  return wrong;
}

function check(watchers, book, purged) {
  const purges = new Map();
  for (const p of purged) purges.set(p.key, [...(purges.get(p.key) ?? []), p.from]);
  const all = book.history().reverse();
  const parts = new Map([[">", all]]);
  for (const e of all) {
    const filter = `${e.key.split(".")[0]}.*`;
    if (!parts.has(filter)) parts.set(filter, []);
    parts.get(filter).push(e);
  }
  for (const [i, x] of watchers.entries()) {
    const wrong = disorder(x);
    for (const text of wrong) book.problems.push(`watcher ${i}: ${text}`);
    if (wrong.length > 0) continue; // what is missing is found in good order only
    const due = x.ended ? parts.get(x.filter) : parts.get(x.filter).filter((e) => e.rev <= x.last());
    for (const e of missingWithoutReason(due, x, purges)) book.problems.push(`watcher ${i} (${x.filter}): no ${e.rev} ${e.key} ${e.op}`);
  }
  return all.length;
}

// One life of the server: changes until there are `enough`, then, but for the last life, kill -9 and a new start.
async function life({ t, s, c, w, roll, book, watchers }, enough, last) {
  let stop = false;
  w.js = c.js;
  w.purge = (filter) => c.api("STREAM.PURGE.KV_B", { filter });
  const hands = Array.from({ length: HANDS }, async () => {
    while (!stop && w.count < enough) {
      try {
        await change(w, roll, book);
      } catch (e) {
        if (!stop) throw e;
      }
      if (RECONNECTS > 0 && roll(2000) === 0) await watchers[roll(WATCHERS)].nc.reconnect().catch(() => {});
    }
  });
  if (last) {
    await Promise.all(hands);
    return c;
  }
  await until("the next kill", () => w.count >= enough - HANDS, LIMIT_MS + 10 * EVENTS);
  stop = true;
  await s.kill();
  await c.nc.close();
  await Promise.all(hands);
  await s.startAgain();
  s.killed = false;
  return (await onServer(t, s)).stream("B");
}

// The last expiries, then one more change in each part, which shows every watcher whether it has a gap.
async function finish(c, watchers, book) {
  const state = async () => (await c.api("STREAM.INFO.KV_B")).state;
  let [last, since] = [0, Date.now()];
  await until("the last expiries", async () => {
    const now = (await state()).last_seq;
    const quiet = now === last && Date.now() - since > 3500;
    if (now !== last) [last, since] = [now, Date.now()];
    return quiet;
  });
  for (let i = 0; i < PARTS; i++) {
    const from = Date.now();
    book.acked((await c.js.publish(`$KV.B.${i}.end`, "end", { timeout: LIMIT_MS })).seq, `${i}.end`, "PUT", "end", from);
  }
  const end = (await state()).last_seq;
  for (const x of watchers)
    try {
      await until("a watcher's last revision", () => x.ended || x.lost(), 2 * LIMIT_MS);
    } catch (e) {
      throw new Error(`${e.message}: at ${x.last()} of ${end}; ${await plight(c, x)}`);
    }
}

// What both sides think of a watcher that stays behind.
async function plight(c, x) {
  const { consumers } = await c.api("CONSUMER.LIST.KV_B");
  const subs = [...x.nc.protocol.subscriptions.subs.values()].map((sub) => sub.getSubject());
  const behind = consumers.filter((i) => i.num_pending > 0 || !i.push_bound);
  return JSON.stringify({ connected: x.nc.protocol.connected, subs, consumers: consumers.length, behind });
}

scenario(`${WATCHERS} watchers, ${EVENTS} random changes, ${KILLS} kills: every history is the stream's`, { only: "mayfly" }, async (t) => {
  const seed = number("SEED", Date.now() % 1_000_000_007);
  console.log(`# watch_history: SEED=${seed} WATCHERS=${WATCHERS} EVENTS=${EVENTS} KILLS=${KILLS}`);
  const roll = dice(seed);
  const { s, stream } = await ownServer(t);
  let c = stream("B");
  await new Kvm(c.js).create("B", { history: HISTORY, markerTTL: MARKER_MS, timeout: LIMIT_MS });
  const book = new Book();
  const watchers = [];
  for (let i = 0; i < WATCHERS; i++) watchers.push(await new Watcher().start(t, s, i < WIDE ? ">" : `${i % PARTS}.*`, book));
  const w = { count: 0, purged: [] };
  const began = Date.now();
  // Some lives are so short that a kill finds the watchers on their way back.
  const ends = Array.from({ length: KILLS }, () => roll(EVENTS)).sort((a, b) => a - b);
  for (const [i, enough] of [...ends, EVENTS].entries()) {
    c = await life({ t, s, c, w, roll, book, watchers }, enough, i === KILLS);
    if (EVENTS > 20000) console.log(`# watch_history: ${w.count} changes in ${Date.now() - began} ms`); // somebody waits
  }
  const wrote = Date.now();
  await finish(c, watchers, book);
  const events = check(watchers, book, w.purged);
  const seen = watchers.reduce((n, x) => n + x.revs.length, 0);
  console.log(`# watch_history: ${events} events, ${seen} seen, ${book.problems.length} problems; ${wrote - began} ms of changes, ${Date.now() - wrote} ms of checks`);
  assert.deepEqual(book.problems.slice(0, 20), []);
  const lost = watchers.filter((x) => !x.ended).length;
  if (lost > 0) console.log(`# watch_history: ${lost} of ${WATCHERS} clients did not come back`);
  assert.ok(lost * 10 <= WATCHERS, `${lost} clients did not come back`);
  await Promise.all(watchers.map((x) => x.nc.close()));
});
