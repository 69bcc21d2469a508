// lives.mjs: what an outside observer knows of the end of each message: which ends it may have, from what was asked for and
// what was acknowledged; and from that what a reader must find, may find, and must not find.
//
// A deadline is milliseconds since 1970.  Operations on one key follow each other, so at most one of them is open when the
// server dies: a message has the end that was acknowledged last, or the one that this operation gives it.  After a restart
// the observer reads everything; what it sees is on disk, and is the only possible end from then on.
import { after as soon } from "./awake.mjs";
import { wrong } from "./trial.mjs";

export const NEVER = Number.MAX_VALUE; // without an end on purpose
export const NONE = Infinity; // without an end
export const EDGE_MS = 3; // Date.now() cuts off; the two sides read the clock at different times

export const endOf = (text) => (text === "never" ? NEVER : text === undefined || text === "none" ? NONE : Date.parse(text));
export const endOfAnswer = (r) => (r.expires ? Date.parse(r.expires) : r.state === "infinite" || r.ttl === "never" ? NEVER : NONE);
export const at = (ms) => (ms === NEVER ? "never" : ms === NONE ? "none" : new Date(ms).toISOString());
// A lifetime of `ttl` that begins between two moments; or after `from` and before the server dies.
export const between = (from, to, ttl) => [from + ttl - EDGE_MS, to + ttl + EDGE_MS];
export const after = (from, ttl) => [from + ttl - EDGE_MS, 8e15, ttl];

const holds = ([lo, hi], e) => e === lo || e === hi || (e >= lo - EDGE_MS && e <= hi + EDGE_MS && (e < NEVER || hi >= e));
const sooner = (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1])];

// One message: all ends it may have.
export class Life {
  constructor(key, uid, ends) {
    Object.assign(this, { key, uid, ends, seq: 0, state: "sent" }); // sent, there, gone (by its end), removed
    this.mayBeRemoved = false;
  }
  acked(seq, end) {
    this.seq = seq;
    this.state = "there";
    this.ends = [[end, end]];
  }
  may(...ends) {
    this.ends = [...this.ends, ...ends];
  }
  must(...ends) {
    this.ends = ends;
  }
  // It does not outlive a newer one with these ends.
  lowered(ends) {
    return this.ends.flatMap((x) => ends.map((y) => sooner(x, y)));
  }
  mayHaveEnded(ms) {
    return this.ends.some(([lo]) => lo <= ms + EDGE_MS);
  }
  text() {
    return `${this.key} ${this.seq} (${this.uid}), which may end at ${this.ends.map(([lo, hi]) => (lo === hi ? at(lo) : `${at(lo)} to ${at(hi)}`)).join(" or ")}`;
  }
}

// The lives of one stream.
export class Book {
  // depth: max_msgs_per_subject.  scope: an older message of a subject never outlives a newer one.
  constructor(find, stream, { depth = 0, scope = false } = {}) {
    Object.assign(this, { find, stream, depth, scope });
    this.keys = new Map(); // key: lives that may be there, the oldest first
    this.byUid = new Map(); // those, and those that are over
    this.ended = []; // by their end, since the last look
  }

  of(key) {
    return this.keys.get(key) ?? [];
  }
  last(key) {
    return this.of(key).findLast((l) => l.state === "there");
  }

  sending(key, uid, ends) {
    const l = new Life(key, uid, ends);
    this.byUid.set(uid, l);
    const older = this.of(key);
    l.older = older.map((o) => [o, o.ends]);
    if (this.scope) older.forEach((o) => o.may(...o.lowered(ends)));
    older.slice(0, this.depth ? Math.max(0, older.length - this.depth + 1) : 0).forEach((o) => (o.mayBeRemoved = true));
    this.keys.set(key, [...older, l]);
    return l;
  }
  acked(l, seq, end) {
    if (this.byUid.get(l.uid) !== l || l.state !== "sent") throw wrong("trial-error", `${l.text()} was acknowledged twice`);
    l.acked(seq, end);
    if (this.scope) for (const [o, before] of l.older) o.must(...before.map((x) => sooner(x, [end, end])));
    l.older = null;
    const older = this.of(l.key).filter((o) => o !== l);
    for (const o of older.slice(0, this.depth ? Math.max(0, older.length - this.depth + 1) : 0)) this.close(o, "removed");
  }
  // A change of the end of l was asked for: either holds until the answer.  Returns a function of the end that was
  // acknowledged: older ones end no later then.
  changing(l, ends) {
    const list = this.of(l.key);
    const older = this.scope ? list.slice(0, list.indexOf(l)).map((o) => [o, o.ends]) : [];
    for (const [o] of older) o.ends = [...o.ends, ...o.lowered(ends)];
    l.may(...ends);
    return (end) => {
      l.must([end, end]);
      for (const [o, before] of older) o.must(...before.map((x) => sooner(x, [end, end])));
    };
  }

  close(l, state) {
    if (l.state === "gone" || l.state === "removed") return;
    if (state === "gone" && l.seq) this.ended.push(l);
    l.state = state;
    this.keys.set(l.key, this.of(l.key).filter((o) => o !== l));
  }

  // A reader who asked at `from` was shown this message with this end.
  saw({ key, uid, seq, end }, from) {
    const l = this.byUid.get(uid);
    const what = `${this.stream} ${key} ${seq} (${uid}), end ${at(end)}`;
    if (!l || l.key !== key) return this.find("alien", what);
    if (l.seq && l.seq !== seq) return this.find("two-places", `${what} is at ${l.seq}, too`);
    if (l.state === "gone" || l.state === "removed") return this.find("revived", `${what} was ${l.state}`);
    if (end < from - EDGE_MS) this.find("late", `${what} was read at ${at(from)}`);
    if (!l.ends.some((x) => holds(x, end))) this.find("other-end", `${what} is ${l.text()}`);
    return l;
  }
  // A reader who asked at `from` and had the answer at `to` was not shown it.
  missed(l, to) {
    if (l.state === "sent" || l.mayBeRemoved) return this.close(l, l.mayHaveEnded(to) ? "gone" : "removed");
    if (!l.mayHaveEnded(to)) this.find("early", `${this.stream} ${l.text()} was not there at ${at(to)}`);
    this.close(l, "gone");
  }

  // All that the stream showed after a restart, when nothing was asked for.
  settle({ list, from, to }) {
    const seen = new Set();
    for (const m of list) {
      const l = this.saw(m, from);
      if (!l) continue;
      seen.add(l);
      l.acked(m.seq, m.end);
      l.mayBeRemoved = false;
    }
    for (const lives of [...this.keys.values()]) {
      for (const l of lives) if (!seen.has(l)) this.missed(l, to);
      if (this.scope) this.#order(lives.filter((l) => seen.has(l)));
    }
  }
  // Deadlines of a subject do not decrease from the older to the newer message.
  #order(lives) {
    for (let i = 1; i < lives.length; i++)
      if (lives[i - 1].ends[0][0] > lives[i].ends[0][0] && lives[i].ends[0][0] < NEVER) this.find("outlives", `${this.stream} ${lives[i - 1].text()} and then ${lives[i].text()}`);
  }

  // The server was killed: what was under way began before that.
  died(ms) {
    for (const lives of this.keys.values())
      for (const l of lives) l.ends = l.ends.map(([lo, hi, ttl]) => (ttl ? [lo, ms + ttl + EDGE_MS] : [lo, hi]));
  }
}

// --- readers ----------------------------------------------------------------------------------------------------------

let readers = 0;
const PAGE = 1000;

// Everything a stream shows, with its ends: { list, from, to }; null when the connection ended.
export async function readLives(wire, stream) {
  const list = [];
  const from = Date.now();
  for (let seq = 1, more = true; more; ) {
    const page = [];
    const reply = `_L.${wire.name}.${++readers}`;
    let done;
    const end = await new Promise((ok) => {
      const sid = wire.subscribe(reply, (m) => {
        if (!m.status) return page.push(m);
        wire.unsubscribe(sid);
        ok(m);
      });
      wire.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq, batch: PAGE, next_by_subj: ">" }), ["Mayfly-TTL: show"], reply);
      const stop = soon(30000, () => ok(null));
      const closed = () => ok(null);
      wire.socket.once("close", closed);
      done = () => (stop(), wire.socket.off("close", closed));
    });
    done();
    if (wire.closed) return null;
    if (end === null || ![204, 404].includes(end.status)) throw wrong("unreadable", `all of ${stream}: ${end?.head ?? "no answer"}`);
    for (const m of page)
      list.push({ key: m.header("Nats-Subject"), seq: Number(m.header("Nats-Sequence")), uid: m.text(), end: endOf(m.header("Mayfly-Expires")), header: (n) => m.header(n) });
    seq = (list.at(-1)?.seq ?? 0) + 1;
    more = end.status === 204 && page.length > 0 && Number(end.header("Nats-Num-Pending")) > 0;
  }
  return { list, from, to: Date.now() };
}

// A request of the TTL API: the document, or null when the connection ended.
export async function ttl(wire, op, body = "") {
  const m = await wire.request(`$MAYFLY.TTL.${op}`, typeof body === "string" ? body : JSON.stringify(body));
  return m === null || m.status ? null : JSON.parse(m.text());
}

// STATS counts what LIST shows.
export async function countLives(wire, stream, find, tries = 200) {
  const stats = async () => {
    const s = await ttl(wire, `STATS.${stream}`);
    return [s.items_with_ttl, s.items_without_ttl, s.items_infinite_ttl];
  };
  const count = async (more) => {
    let n = 0;
    for (let from; ; ) {
      const r = await ttl(wire, `LIST.${stream}`, { limit: 1000, ...more, ...(from && { from }) });
      n += r.count;
      if (!(from = r.next)) return n;
    }
  };
  for (; ; tries--) {
    const before = await stats();
    const listed = [await count({}), await count({ state: "without" }), await count({ state: "infinite" })];
    const after = await stats();
    if (String(before) !== String(after)) continue; // something ended meanwhile
    if (String(before) === String(listed)) return;
    if (tries <= 0) return find("miscounted", `${stream}: STATS says ${before} with, without and infinite, LIST shows ${listed}`);
    await new Promise((r) => setTimeout(r, 10)); // past its deadline and not swept yet
  }
}
