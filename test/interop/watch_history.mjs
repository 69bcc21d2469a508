// watch_history.mjs: many watchers of one bucket, random changes, kills and restarts: does each watcher's history
// agree with the stream's?  No gap, nothing twice, nothing out of order.
// WATCHERS, EVENTS, KILLS and RECONNECTS make it longer and rougher, SEED repeats a run's choices, ANY_SERVER=1 lets
// nats-server try.  It ends in any case, and says what it saw.
// For a million changes: PARTS of the keys, WIDE watchers of all of them (the others see one part each), HANDS that
// write at once.
import assert from "node:assert/strict";
import { Kvm, KvWatchInclude } from "@nats-io/kv";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { dice } from "./lib/dice.mjs";
import { Dials } from "./lib/dials.mjs";
import { onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, awake, patiently, until, within } from "./lib/wait.mjs";

const number = (name, usual) => Number(process.env[name] ?? usual);
const WATCHERS = number("WATCHERS", 20);
const EVENTS = number("EVENTS", 4000);
const KILLS = number("KILLS", 3);
const RECONNECTS = number("RECONNECTS", 5); // of some watcher's own, about
// Many times what it takes; before the runner's own deadline, to say what was seen until then.
const DEADLINE_MS = Math.min(120000 + 20 * EVENTS + 10000 * KILLS, number("SCENARIO_MS", 300000) - 20000);
const PARTS = number("PARTS", 3);
const WIDE = number("WIDE", WATCHERS - Math.floor(WATCHERS / 4));
const HANDS = number("HANDS", 32);
const KEYS = 300; // of each part
const HISTORY = 64;
const MARKER_MS = 2000;
const HUNG_MS = 15000;
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
  dials = new Dials();
  constructor(t, s, filter, book) {
    Object.assign(this, { t, s, filter, book });
    this.end = filter === ">" ? `${PARTS - 1}.end` : filter.replace("*", "end");
  }
  start(more = {}) {
    return within("a watch", this.dials.run(() => this.#watch(more)));
  }
  async #watch(more) {
    const { nc } = await onServer(this.t, this.s, PATIENT);
    this.nc = nc;
    // What it asks for while the server dies is asked again soon: later by nats.js, here, at its first try, by us.
    const kvm = new Kvm(jetstream(nc, { timeout: 1000 }));
    const watch = async () => (await kvm.open("B")).watch({ include: KvWatchInclude.AllHistory, key: this.filter, ...more });
    let iter;
    while (!iter) iter = await watch().catch((e) => assert.equal(e.name, "TimeoutError", e.stack));
    this.#read(nc, iter).catch((e) => this.book.problems.push(`watcher of ${this.filter}: ${e.message}`));
    return this;
  }
  async #read(nc, iter) {
    for await (const e of iter) {
      if (nc !== this.nc) return; // a client that was given up
      this.revs.push(e.revision);
      this.at.push(Date.now());
      this.book.told(e);
      if (e.key === this.end) this.ended = true;
    }
  }
  last() {
    return this.revs.at(-1) ?? 0;
  }
  // Without a connection for long though the server is there.
  hung() {
    if (this.nc.protocol.connected) this.away = undefined;
    else this.away ??= awake();
    return this.away !== undefined && awake() - this.away > HUNG_MS;
  }
  // What is known of a client that does not come back.
  evidence() {
    const { connected, connectPromise, transport } = this.nc.protocol;
    const client = { connected, dialling: connectPromise !== null, closed: this.nc.isClosed(), socket: transport?.socket?.readyState };
    return { filter: this.filter, at: this.last(), ...client, dials: this.dials.count, trace: this.dials.lines };
  }
  // As a user would help himself: another client goes on where this one was.
  async replace() {
    const old = this.nc;
    this.away = undefined;
    await this.start({ resumeFromRevision: this.last() + 1 });
    await within("the close of a client that hung", old.close(), 5000).catch(() => {});
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
  const keep = async (op, p, life) => {
    const { seq } = await p;
    book.acked(seq, key, op, op === "PUT" ? value : "", from, life);
    if (!(w.latest.get(key) > seq)) w.latest.set(key, seq);
  };
  const with_ = (o) => ({ headers: block(o), timeout: LIMIT_MS });
  if (what < 60) await keep("PUT", w.js.publish(subject, value, { timeout: LIMIT_MS }));
  else if (what < 78) await keep("PUT", w.js.publish(subject, value, { ttl: `${ttl}s`, timeout: LIMIT_MS }), ttl * 1000);
  else if (what < 88) await keep("DEL", w.js.publish(subject, "", with_({ "KV-Operation": "DEL" })));
  else if (what < 96 || !isMayfly) await keep("PURGE", w.js.publish(subject, "", with_({ "KV-Operation": "PURGE", "Nats-Rollup": "sub" })));
  else if (what < 98 || !w.latest.has(key)) {
    w.purged.push({ key, from }); // its marker has no ack: the watchers tell
    await w.purge(subject);
  } else {
    w.purged.push({ key, from, rev: w.latest.get(key) });
    if ((await w.remove(w.latest.get(key))).success) w.removed++;
  }
}

// A change may be missing only when it was out of the stream before the watcher, who was away or behind, could
// get it: a purge or an expiry of its key, HISTORY newer ones, an API purge (of a tombstone it tells nobody), or its
// own TTL ran out before the watcher went on, or it was removed by the API.
// history: what the watcher's filter matches, newest first.  purges: key to when an API purge was asked for, or a removal of one revision.
function missingWithoutReason(history, w, purges) {
  const later = new Map(); // key: { n, purged }
  const wrong = [];
  let wentOn = Infinity; // when the watcher got the next one
  let i = w.revs.length - 1;
  const taken = (e) => purges.get(e.key)?.some((p) => p.from >= (e.from ?? 0) && p.from <= wentOn && (p.rev ?? e.rev) === e.rev);
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
  for (const p of purged) purges.set(p.key, [...(purges.get(p.key) ?? []), p]);
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
    const due = (parts.get(x.filter) ?? []).filter((e) => x.ended || e.rev <= x.last());
    for (const e of missingWithoutReason(due, x, purges)) book.problems.push(`watcher ${i} (${x.filter}): no ${e.rev} ${e.key} ${e.op}`);
  }
}

// One life of the server: changes until there are `enough`, then, but for the last life, kill -9 and a new start.
async function life({ t, s, c, w, roll, book, watchers }, enough, last) {
  let stop = false;
  w.js = c.js;
  w.purge = (filter) => c.api("STREAM.PURGE.KV_B", { filter });
  w.remove = (seq) => c.api("STREAM.MSG.DELETE.KV_B", { seq });
  const hands = Array.from({ length: HANDS }, async () => {
    while (!stop && !w.halt && w.count < enough) {
      try {
        await patiently(() => change(w, roll, book));
      } catch (e) {
        if (!stop) throw e;
      }
      if (roll(EVENTS) < RECONNECTS) await watchers[roll(WATCHERS)].nc.reconnect();
    }
  });
  const all = Promise.all(hands);
  if (last) {
    await all;
    return c;
  }
  await Promise.race([all, until("the next kill", () => w.count >= enough - HANDS, DEADLINE_MS)]);
  stop = true;
  await within("the server's death", s.kill());
  await within("the writer's close", c.nc.close());
  await within("the last changes of a life", all);
  w.kills++;
  await s.startAgain();
  s.killed = false;
  return (await patiently(() => onServer(t, s))).stream("B");
}

// The last expiries, then one more change in each part, which shows every watcher whether it has a gap.
async function finish(c, w, watchers, book) {
  const state = async () => (await patiently(() => c.api("STREAM.INFO.KV_B"))).state;
  let [last, since] = [0, Date.now()];
  await until("the last expiries", async () => {
    const now = (await state()).last_seq;
    const quiet = now === last && Date.now() - since > 3500;
    if (now !== last) [last, since] = [now, Date.now()];
    for (const x of watchers) x.hung(); // the time counts from now on
    return quiet;
  });
  for (let i = 0; i < PARTS; i++) {
    const from = Date.now();
    const ack = await patiently(() => c.js.publish(`$KV.B.${i}.end`, "end", { timeout: LIMIT_MS }));
    book.acked(ack.seq, `${i}.end`, "PUT", "end", from);
  }
  const end = (await state()).last_seq;
  for (const x of watchers)
    try {
      await arrived(x, w, book);
    } catch (e) {
      throw new Error(`${e.message}: at ${x.last()} of ${end}; ${await plight(c, x)}`);
    }
}

// Waits for a watcher's last change.  A client that hangs is told of, with all that is known, and another one takes
// its place; that the server took a connection and was silent on it is a problem of the server's.
async function arrived(x, w, book) {
  await until("a watcher's last revision", () => x.ended || x.hung(), 2 * LIMIT_MS);
  if (x.ended) return;
  w.hung++;
  console.log(`# watch_history: a client hangs: ${JSON.stringify(x.evidence(), null, 1)}`);
  if (x.dials.silent()) book.problems.push(`watcher of ${x.filter}: the server did not answer a login`);
  await x.replace();
  await until("the last revision of a watcher in another's place", () => x.ended);
}

// What both sides think of a watcher that stays behind.
async function plight(c, x) {
  const { consumers } = await c.api("CONSUMER.LIST.KV_B");
  const subs = [...x.nc.protocol.subscriptions.subs.values()].map((sub) => sub.getSubject());
  const behind = consumers.filter((i) => i.num_pending > 0 || !i.push_bound);
  return JSON.stringify({ ...x.evidence(), subs, consumers: consumers.length, behind }, null, 1);
}

async function run(t, w, roll, book, watchers) {
  const { s, stream } = await ownServer(t);
  let c = stream("B");
  await new Kvm(c.js).create("B", { history: HISTORY, markerTTL: MARKER_MS, timeout: LIMIT_MS });
  for (let i = 0; i < WATCHERS; i++) watchers.push(await new Watcher(t, s, i < WIDE ? ">" : `${i % PARTS}.*`, book).start());
  // Some lives are so short that a kill finds the watchers on their way back.
  const ends = Array.from({ length: KILLS }, () => roll(EVENTS)).sort((a, b) => a - b);
  for (const [i, enough] of [...ends, EVENTS].entries()) {
    c = await life({ t, s, c, w, roll, book, watchers }, enough, i === KILLS);
    if (EVENTS > 20000) console.log(`# watch_history: ${w.count} changes in ${Date.now() - w.began} ms`); // somebody waits
  }
  w.wrote = Date.now();
  await finish(c, w, watchers, book);
}

// Printed whatever happened.
function summary(w, book, watchers) {
  const sum = (of) => watchers.reduce((n, x) => n + of(x), 0);
  const stalls = watchers.flatMap((x) => x.dials.stalls).sort((a, b) => b.ms - a.ms);
  const wrote = w.wrote ?? Date.now();
  const parts = [
    `${w.count} changes, ${w.removed} removals, ${w.kills} kills, ${book.lines.size} events, ${sum((x) => x.revs.length)} seen, ${book.problems.length} problems`,
    `${sum((x) => x.dials.count)} dials, ${stalls.length} clients waited for the PONG of a dead connection (${stalls[0]?.ms ?? 0} ms at most), ${w.hung} hung`,
    `${wrote - w.began} ms of changes, ${Date.now() - wrote} ms of checks`,
  ];
  console.log(`# watch_history: ${parts.join("; ")}`);
  if (stalls.length > 0) console.log(`# watch_history: the longest such wait, after\n#   ${stalls[0].trace.join("\n#   ")}`);
  for (const text of book.problems.slice(0, 20)) console.log(`# watch_history: ${text}`);
}

const only = process.env.ANY_SERVER ? undefined : "mayfly";
scenario(`${WATCHERS} watchers, ${EVENTS} random changes, ${KILLS} kills: every history is the stream's`, { only }, async (t) => {
  const seed = number("SEED", Date.now() % 1_000_000_007);
  console.log(`# watch_history: SEED=${seed} WATCHERS=${WATCHERS} EVENTS=${EVENTS} KILLS=${KILLS} RECONNECTS=${RECONNECTS}`);
  const [book, watchers] = [new Book(), []];
  const w = { count: 0, kills: 0, hung: 0, purged: [], removed: 0, latest: new Map(), began: Date.now() };
  try {
    await within("the end of the run", run(t, w, dice(seed), book, watchers), DEADLINE_MS);
  } finally {
    w.halt = true;
    if (watchers.length === WATCHERS) check(watchers, book, w.purged);
    summary(w, book, watchers);
  }
  assert.deepEqual(book.problems.slice(0, 20), []);
  await within("the watchers' close", Promise.all(watchers.map((x) => x.nc.close())));
});
