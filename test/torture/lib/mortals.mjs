// mortals.mjs: streams whose messages end by a policy, for the trial `lifetimes`: each sends operations, one after the other
// for each key, and judges after a restart what became of them (lives.mjs).
import { LIMIT_MS, awake } from "./awake.mjs";
import { Book, NEVER, after, at, between, countLives, endOf, endOfAnswer, readLives, ttl } from "./lives.mjs";
import { pause } from "./server.mjs";
import { wrong } from "./trial.mjs";

const policy = (keys) => ({ metadata: Object.fromEntries(Object.entries(keys).map(([k, v]) => [`mayfly.ttl.${k}`, typeof v === "string" ? v : JSON.stringify(v)])) });
let uids = 0;

// A stream with keys.  A subclass has: config, keys, act(key).
class Mortals {
  constructor(world, name, book = {}) {
    Object.assign(this, { world, name, busy: new Set(), rests: new Map(), tires: 25, roll: world.roll });
    this.find = (kind, text) => world.find(kind, text);
    this.book = new Book(this.find, name, book);
  }
  get wire() {
    return this.world.wire;
  }
  pick(list) {
    return list[this.roll(list.length)];
  }
  async make() {
    const r = await this.wire.api(`STREAM.CREATE.${this.name}`, { name: this.name, allow_direct: true, allow_msg_ttl: true, ...this.config });
    if (r === null || r.error) throw wrong("refused", `${this.name}: ${JSON.stringify(r?.error)}`);
  }

  // One operation on an idle key.  Now and then a key is left alone until its messages have ended, and only looked at.
  async step() {
    const key = this.pick(this.keys);
    if (this.busy.has(key)) return;
    this.busy.add(key);
    if ((this.rests.get(key) ?? 0) > Date.now()) await this.watch(key);
    else await this.act(key);
    if (this.roll(this.tires) === 0) this.rests.set(key, Date.now() + 1000 + this.roll(4000));
    this.busy.delete(key);
  }
  async watch() {}

  // An answer, or null when the server was killed.
  async ask(subject, body, header = null) {
    const m = await this.wire.request(subject, body, header);
    if (m === null) return null;
    this.world.acks++;
    if (m.status) throw wrong("refused", `${subject}: ${m.head}`);
    return JSON.parse(m.text());
  }
  refused(what, r) {
    if (r.error) this.find("refused", `${what}: ${JSON.stringify(r.error)}`);
    return r.error !== undefined;
  }

  // ms: of the writer, else of the policy (own).
  async put(key, { ms = 0, own, header = [] }) {
    const uid = `${this.name}-${++uids}`;
    const l = this.book.sending(key, uid, [typeof own === "number" || ms ? after(Date.now(), ms || own) : [NEVER, NEVER]]);
    l.ttl = ms || own;
    const r = await this.ask(key, uid, ["Mayfly-TTL: show", ...(ms ? [`Nats-TTL: ${ms}ms`] : []), ...header]);
    if (r === null || this.refused(`a put to ${key}`, r)) return null;
    this.judge(l, endOfAnswer(r));
    this.book.acked(l, r.seq, endOfAnswer(r));
    return l;
  }
  // The answer tells an end that was not possible.
  judge(l, end) {
    if (!l.ends.some(([lo, hi]) => end >= lo - 3 && end <= hi + 3)) this.find("other-end", `${this.name} ${l.text()}: the answer says ${at(end)}`);
  }

  // SET, TOUCH, PERSIST of the last message of a key, or of another one.  ends: those it may give.
  async change(op, l, body, ends) {
    // Without a scope the last one of a key may end before an older one.
    const last = this.book.last(l.key) === l && (this.book.scope || this.book.depth === 1);
    const done = this.book.changing(l, ends);
    const r = await (last ? this.ask(`$MAYFLY.TTL.${op}.${this.name}.${l.key}`, JSON.stringify(body)) : this.ask(`$MAYFLY.TTL.${op}.${this.name}`, JSON.stringify({ ...body, seq: l.seq })));
    if (r === null) return null;
    if (r.error?.code === 404) {
      if (!l.mayHaveEnded(Date.now())) this.find("early", `${this.name} ${l.text()}: ${op} did not find it`);
      this.book.close(l, "gone");
      return null;
    }
    if (this.refused(`${op} of ${l.key}`, r)) return null;
    if (r.seq !== l.seq) this.find(r.seq < l.seq ? "older" : "newer", `${this.name} ${l.text()}: ${op} of its key found ${r.seq}`);
    else done(endOfAnswer(r));
    return r;
  }
  async set(l) {
    const ms = 1000 + this.roll(4000);
    const q = Date.now();
    // A history has the end of the next newer one at the latest.
    const list = this.book.of(l.key);
    const newer = list[list.indexOf(l) + 1];
    const ends = [after(q, ms), ...(newer ? newer.ends : [])];
    if (this.roll(3)) return this.change("SET", l, { ttl: `${ms}ms` }, ends);
    return this.change("SET", l, { expires: at(q + ms) }, [...ends, [q + ms, q + ms]]);
  }
  // The TTL that it was written with.
  touch(l) {
    return this.change("TOUCH", l, {}, [after(Date.now(), l.ttl)]);
  }

  // A read of the last value: none before the last one that was acknowledged.
  async get(key) {
    const from = Date.now();
    const newest = this.book.last(key);
    const m = await this.wire.request(`$JS.API.DIRECT.GET.${this.name}`, JSON.stringify({ last_by_subj: key }), ["Mayfly-TTL: show"]);
    const to = Date.now();
    if (m === null) return null;
    if (m.status === 404) {
      if (newest && !newest.mayHaveEnded(to)) this.find("early", `${this.name} ${newest.text()} was not read at ${at(to)}`);
      if (newest) this.book.close(newest, "gone");
      return null;
    }
    const seen = { key, uid: m.text(), seq: Number(m.header("Nats-Sequence")), end: endOf(m.header("Mayfly-Expires")) };
    this.book.saw(seen, from);
    if (newest && seen.seq < newest.seq) this.find("older", `${this.name} ${key}: ${seen.seq} was read after ${newest.text()}`);
    return { ...seen, from, to };
  }

  died(ms) {
    this.busy.clear();
    this.book.died(ms);
  }
  async settle() {
    this.read = await readLives(this.wire, this.name);
    this.world.compared += this.read.list.length;
    this.book.settle(this.read);
    await countLives(this.wire, this.name, this.find);
  }
  // Polls for what comes a little later.
  async until(what, test) {
    for (const end = awake() + LIMIT_MS; !(await test()); await pause(5))
      if (awake() > end) return this.find("never-done", `${this.name}: ${what()}`);
  }
}

// --- a bucket with a default, a history of five, and scope subject ------------------------------------------------------

const GROUPS = 10, PER_GROUP = 6;
export class Drafts extends Mortals {
  constructor(world) {
    super(world, "KV_drafts", { depth: 5, scope: true });
    this.config = { subjects: ["$KV.drafts.>"], max_msgs_per_subject: 5, ...policy({ default: "2s" }) };
    this.own = 2000;
    this.keys = Array.from({ length: GROUPS * PER_GROUP }, (_, i) => `$KV.drafts.${i % GROUPS}.${i}`);
  }
  async act(key) {
    const l = this.book.last(key), r = this.roll(20);
    if (!l || r < 6) return this.put(key, this.roll(2) ? { own: this.own } : { ms: 1000 + this.roll(4000) });
    if (r < 8) return this.set(l);
    if (r < 9) return this.set(this.pick(this.book.of(key).filter((x) => x.state === "there")));
    if (r < 12) return this.touch(l);
    if (r < 13) return this.change("PERSIST", l, {}, [[NEVER, NEVER]]);
    if (r < 14) return this.end(l);
    if (r < 15) return this.page(key);
    return this.get(key);
  }
  watch(key) {
    return this.get(key);
  }
  // At once.
  async end(l) {
    const q = Date.now();
    await this.change("SET", l, { expires: at(q - 5) }, [[q - 5, q + 1]]);
  }
  // All keys of a group, one atomic batch.
  async page(key) {
    const group = key.split(".")[2];
    const keys = this.keys.filter((k) => k.split(".")[2] === group && k !== key);
    if (keys.some((k) => this.busy.has(k))) return;
    keys.forEach((k) => this.busy.add(k));
    const ms = 1000 + this.roll(4000), from = Date.now();
    const lives = [...keys, key].map((k) => this.book.last(k)).filter(Boolean);
    const before = lives.map((l) => l.ends.slice());
    lives.forEach((l) => this.book.changing(l, [after(from, ms)]));
    this.paging = { lives, before, from, ms };
    const r = await this.ask(`$MAYFLY.TTL.SET.${this.name}`, JSON.stringify({ filter: `$KV.drafts.${group}.*`, ttl: `${ms}ms` }));
    if (r !== null) {
      this.paging = null;
      const end = between(from, Date.now(), ms);
      lives.forEach((l, i) => (l.mayHaveEnded(Date.now()) && before[i].some(([lo]) => lo <= Date.now() + 3) ? l.must(...before[i], end) : l.must(end)));
      if (r.count > lives.length) this.find("older", `${this.name}: SET of a group changed ${r.count} messages, ${lives.length} may be there`);
    }
    keys.forEach((k) => this.busy.delete(k));
  }
  async settle() {
    const p = this.paging;
    this.paging = null;
    await super.settle();
    if (!p) return;
    // Of one page all have changed or none.
    const clear = p.lives.filter((l) => l.state === "there").map((l) => {
      const end = l.ends[0][0], i = p.lives.indexOf(l);
      const fresh = end >= p.from + p.ms - 3 && end <= p.from + p.ms + 60000;
      const old = p.before[i].some(([lo, hi]) => end >= lo - 3 && end <= hi + 3);
      return fresh === old ? null : fresh;
    });
    if (clear.includes(true) && clear.includes(false)) this.find("split", `${this.name}: a part of a page of SET`);
  }
}

// --- reads that renew ---------------------------------------------------------------------------------------------------

export class Slides extends Mortals {
  constructor(world) {
    super(world, "SLIDES", { depth: 1 });
    this.config = { subjects: ["slide.*"], max_msgs_per_subject: 1, ...policy({ default: "1500ms", slide: "read" }) };
    this.own = 1500;
    this.keys = Array.from({ length: 40 }, (_, i) => `slide.${i}`);
  }
  async act(key) {
    const l = this.book.last(key), r = this.roll(10);
    if (!l || r < 2) return this.put(key, { own: this.own });
    if (r < 3) return this.touch(l);
    if (r < 4) return this.set(l);
    return this.slide(key, l);
  }
  // The renewal is not waited for: a kill may lose it, and no later end than its own is possible.
  async slide(key, l) {
    const pinned = l.pinned;
    if (!pinned) l.may(after(Date.now(), this.own));
    const seen = await this.get(key);
    if (!seen || seen.seq !== l.seq) return;
    const r = await ttl(this.wire, `GET.${this.name}.${key}`);
    if (!r || r.error || r.seq !== l.seq) return;
    const end = endOfAnswer(r), used = seen.from + this.own - seen.end;
    if (end < seen.end - 3) this.find("shorter", `${this.name} ${l.text()}: a read made it end at ${at(end)}`);
    if (pinned && end > seen.end + 3) this.find("overruled", `${this.name} ${l.text()}: was set by hand, ends at ${at(end)} after a read`);
    if (!r.pinned && used > this.own / 64 + 10 && end < seen.from + this.own - 3) this.find("not-renewed", `${this.name} ${l.text()}: ends at ${at(end)} after a read at ${at(seen.from)}`);
    const lo = Math.min(...l.ends.map((x) => x[0]));
    l.must([lo, Math.max(end, seen.end)]);
  }
  async set(l) {
    l.pinned = true;
    return super.set(l);
  }
  async touch(l) {
    const r = await super.touch(l);
    if (r) l.pinned = false;
    return r;
  }
  async settle() {
    await super.settle();
    for (const lives of this.book.keys.values()) for (const l of lives) l.pinned = false;
  }
}

// --- dead letters -------------------------------------------------------------------------------------------------------

export class Letters extends Mortals {
  constructor(world) {
    super(world, "JOBS");
    this.config = { subjects: ["job.*", "dead.job.*"], ...policy({ default: "1s", on_expire: "dead", rules: [{ subject: "dead.>", ttl: "1h" }] }) };
    this.own = 1000;
    this.keys = Array.from({ length: 60 }, (_, i) => `job.${i}`);
    this.letters = new Map(); // sequence of the dead: of its letter
    this.wanted = new Set(); // ended, and no letter seen yet
    this.deleted = new Set(); // removed for sure before its end
    this.count = 0;
  }
  async act(key) {
    const lives = this.book.of(key).filter((l) => l.state === "there");
    const l = lives.length ? this.pick(lives) : null, r = this.roll(12);
    if (!l || (r < 5 && lives.length < 4)) return this.put(key, this.roll(2) ? { own: this.own } : { ms: 1000 + this.roll(1500) });
    if (r < 7) return this.set(l);
    if (r < 8) return this.touch(l);
    if (r < 9) return this.remove(l);
  }
  async remove(l) {
    l.mayBeRemoved = true;
    const r = await this.ask(`$JS.API.STREAM.MSG.DELETE.${this.name}`, JSON.stringify({ seq: l.seq }));
    if (r?.success) {
      this.deleted.add(l.seq);
      this.book.close(l, "removed");
    } else if (r) l.mayBeRemoved = false;
  }

  // A letter is there once for each death, with what its message was.
  take(m, to) {
    const seq = Number(m.header("Mayfly-Expired-Sequence"));
    const l = this.book.byUid.get(m.uid);
    const what = `${this.name} letter ${m.seq} of ${seq} (${m.uid})`;
    const seen = this.letters.get(seq);
    if (seen !== undefined) return seen === m.seq ? undefined : this.find("letter-twice", `${what}: there was ${seen}`);
    this.letters.set(seq, m.seq);
    this.count++;
    if (!l || m.key !== `dead.${l.key}` || (l.seq && l.seq !== seq) || m.header("Mayfly-Expired-Subject") !== l.key) return this.find("letter-alien", what);
    if (this.deleted.has(seq)) this.find("letter-of-removed", what);
    const end = endOf(m.header("Mayfly-Expired-At"));
    if (end > to + 3 || (l.state === "there" && !l.mayHaveEnded(to))) this.find("letter-early", `${what}: ${l.text()}`);
    this.wanted.delete(l);
  }
  async look() {
    const r = await readLives(this.wire, this.name);
    const [letters, jobs] = [r.list.filter((m) => m.key.startsWith("dead.")), r.list.filter((m) => !m.key.startsWith("dead."))];
    this.book.settle({ ...r, list: jobs });
    for (const l of this.book.ended.splice(0)) if (l.seq && !l.mayBeRemoved) this.wanted.add(l);
    for (const m of letters) this.take(m, r.to);
    for (const l of this.wanted) if (this.letters.has(l.seq)) this.wanted.delete(l);
    this.world.compared += r.list.length;
    return { letters, last: r.list.at(-1)?.seq ?? 0 };
  }
  async settle() {
    let seen;
    await this.until(() => `${this.wanted.size} messages have no letter, first ${[...this.wanted][0].text()}`, async () => {
      seen = await this.look();
      return this.wanted.size === 0;
    });
    await countLives(this.wire, this.name, this.find);
    if (seen.letters.length < 300) return;
    const r = await this.ask(`$JS.API.STREAM.PURGE.${this.name}`, JSON.stringify({ filter: "dead.>", seq: seen.last + 1 }));
    if (r) this.refused("a purge of letters", r);
  }
}

// --- links --------------------------------------------------------------------------------------------------------------

// bucket.N is permanent while config.N is.  Both have one key here: N.
export class Links extends Mortals {
  constructor(world) {
    super(world, "LINKS", { depth: 1 });
    const rules = [
      { id: "bucket", subject: "bucket.*", ttl: "2s", permanent_if: "config.{{wildcard(1)}}" },
      { id: "sync", subject: "config.*", header: { Source: "sync" }, ttl: "2s" },
      { id: "config", subject: "config.*", ttl: "never" },
    ];
    this.config = { subjects: ["bucket.*", "config.*"], max_msgs_per_subject: 1, ...policy({ rules, default: "10s" }) };
    this.own = 2000;
    this.keys = Array.from({ length: 50 }, (_, i) => String(i));
    this.open = new Map(); // N: what was asked for and not answered
    this.pinned = new Set(); // buckets whose end was set by hand
    this.due = new Map(); // buckets that get an end again: since when
    this.told = new Map(); // N: what happened to it lately, for the text of a find
  }
  // Of the last ten things that were asked for, for N.
  note(n, text) {
    const list = this.told.get(n) ?? [];
    list.push(`${at(Date.now()).slice(11)} ${text}`);
    this.told.set(n, list.slice(-10));
  }
  lately(n) {
    return (this.told.get(n) ?? []).join("; ");
  }
  #config(n) {
    return this.book.last(`config.${n}`);
  }
  #bucket(n) {
    return this.book.last(`bucket.${n}`);
  }
  isPermanent(n) {
    return this.#config(n)?.ends[0][0] === NEVER;
  }
  async act(n) {
    const c = this.#config(n), b = this.#bucket(n), r = this.roll(12);
    if (!b || r < 3) return this.putBucket(n);
    if (r < 4 && !this.due.has(n)) return this.setBucket(n, b);
    if (this.isPermanent(n) && r < 8) return this.end(n, c);
    if (!this.isPermanent(n) && r < 9) return this.begin(n, c);
    await this.get(`bucket.${n}`);
  }
  async watch(n) {
    await this.get(`bucket.${n}`);
  }
  async putBucket(n) {
    this.open.set(n, { op: "put" });
    const permanent = this.isPermanent(n);
    const l = await this.put(`bucket.${n}`, permanent ? {} : { own: this.own });
    this.note(n, `put${permanent ? ", permanent" : ""}: ${l ? l.text() : "?"}`);
    if (!l) return;
    this.open.delete(n);
    this.pinned.delete(n);
    this.due.delete(n);
  }
  async setBucket(n, b) {
    this.open.set(n, { op: "set" });
    const r = await this.set(b);
    this.note(n, `set: ${r ? b.text() : "?"}`);
    if (!r && this.wire.closed) return;
    this.open.delete(n);
    if (r) this.pinned.add(n);
  }
  follows(n) {
    return this.pinned.has(n) ? undefined : this.#bucket(n);
  }

  // A permanent record appears: what links to it is safe when it is acknowledged.
  async begin(n, c) {
    const b = this.follows(n), before = b?.ends.slice();
    this.open.set(n, { op: "begin", b, before });
    b?.may([NEVER, NEVER]);
    const persist = c && this.roll(3) === 0;
    const r = persist ? await this.change("PERSIST", c, {}, [[NEVER, NEVER]]) : await this.put(`config.${n}`, {});
    this.note(n, `begin by ${persist ? "persist" : "put"}: ${r ? "done" : "?"}, bucket ${b?.text()}`);
    if (!r) return this.wire.closed ? undefined : this.open.delete(n);
    this.open.delete(n);
    this.due.delete(n);
    b?.must(...(before.some(([lo]) => lo <= Date.now() + 3) ? before : []), [NEVER, NEVER]);
  }
  // It ceases: a life begins then.
  async end(n, c) {
    const from = Date.now();
    const b = this.follows(n), before = b?.ends.slice();
    this.open.set(n, { op: "end", b, from });
    b?.may(after(from, this.own));
    const how = this.roll(4);
    let r;
    if (how === 0) r = await this.put(`config.${n}`, { own: this.own, header: ["Source: sync"] });
    else if (how === 1) r = await this.set(c);
    else r = await this.remove(n, c, how === 2);
    this.note(n, `end by ${["sync", "set", "purge", "delete"][how]}: ${r ? "done" : "?"}, bucket ${b?.text()}`);
    if (!r) return this.wire.closed ? undefined : this.open.delete(n);
    this.open.delete(n);
    if (!b) return;
    this.due.set(n, { b, from });
    // It may have ended before its record became permanent, and nobody has looked since.
    b.must(...before.filter(([lo]) => lo <= from + 3), after(from, this.own), [NEVER, NEVER]);
    await this.until(() => `${b.text()} gets no end again`, () => this.hasEnd(n, b, from));
  }
  // The job has given it an end again, counted from that of its record; or nobody can tell any more.
  async hasEnd(n, b, from) {
    const wire = this.wire;
    const r = await ttl(wire, `GET.${this.name}`, { seq: b.seq });
    if (r === null || wire.closed) return true;
    if (r.error) {
      this.book.missed(b, Date.now());
    } else {
      const end = endOfAnswer(r);
      if (end === NEVER) return false;
      if (end < from + this.own - 3 || end > Date.now() + this.own + 3) this.find("other-end", `${this.name} ${b.text()}: ends at ${at(end)}, its record ceased after ${at(from)}`);
      b.must([end, end], ...(this.quiet ? [] : [after(from, this.own), [NEVER, NEVER]]));
    }
    if (this.quiet) this.due.delete(n);
    return true;
  }
  async remove(n, c, purge) {
    c.mayBeRemoved = true;
    const r = purge
      ? await this.ask(`$JS.API.STREAM.PURGE.${this.name}`, JSON.stringify({ filter: c.key }))
      : await this.ask(`$JS.API.STREAM.MSG.DELETE.${this.name}`, JSON.stringify({ seq: c.seq }));
    if (r === null || this.refused(`a removal of ${c.key}`, r)) return null;
    this.book.close(c, "removed");
    return r;
  }

  // Those that are to get an end get it after the start.
  died(ms) {
    super.died(ms);
    for (const n of this.open.keys()) this.note(n, `killed during ${this.open.get(n).op}`);
    const open = [...this.open.values()].filter((o) => o.op === "end" && o.b);
    for (const { b, from } of [...this.due.values(), ...open]) b.may([from + this.own - 3, 8e15]);
  }
  // What was open was done, or it was not: the record itself tells, and what links to it agrees.
  async settle() {
    await super.settle();
    for (const [n, o] of this.open) {
      const b = this.#bucket(n);
      const permanent = this.isPermanent(n);
      if (o.op === "begin" && b && b === o.b && permanent !== (b.ends[0][0] === NEVER))
        this.find("link-split", `${this.name}: config.${n} is ${permanent ? "" : "not "}permanent, ${b.text()}`);
      if (o.op === "end" && !permanent && b && b === o.b) this.due.set(n, { b, from: o.from });
      if (o.op === "set" || o.op === "put") await this.#learn(n);
    }
    if (this.wire.closed) return; // killed during the start: the next one asks again
    this.open.clear();
    this.quiet = true; // what is read now is on disk
    await this.#follow();
    this.quiet = false;
  }
  async #learn(n) {
    const r = await ttl(this.wire, `GET.${this.name}.bucket.${n}`);
    if (r === null) return;
    if (r.pinned) this.pinned.add(n);
    else this.pinned.delete(n);
  }
  // Buckets whose record has ceased get an end, the others have none.
  async #follow() {
    for (const [n, { b, from }] of this.due) {
      if (b.state !== "there" || this.isPermanent(n)) continue;
      await this.until(() => `${b.text()} gets no end again`, () => this.hasEnd(n, b, from));
    }
    this.due.clear();
    for (const n of this.keys) {
      const b = this.follows(n);
      if (b && this.isPermanent(n) && b.ends[0][0] !== NEVER) this.find("link-lost", `${this.name}: config.${n} is permanent, ${b.text()}; ${this.lately(n)}`);
    }
  }
}

// --- a stream that gets a policy ----------------------------------------------------------------------------------------

const STORED = 150;
export class Backfills extends Mortals {
  constructor(world) {
    super(world, "OLD");
    this.config = { subjects: ["old.*"] };
    this.keys = ["all"];
    this.tires = 1e9;
    this.stage = "empty";
    this.jobs = this.messages = 0;
  }
  async update(keys) {
    const r = await this.ask(`$JS.API.STREAM.UPDATE.${this.name}`, JSON.stringify({ name: this.name, allow_direct: true, allow_msg_ttl: true, ...this.config, ...policy(keys) }));
    return r !== null && !this.refused("an update", r);
  }
  async act() {
    if (this.stage === "empty") return this.fill();
    if (this.stage === "filled") return this.start();
    const r = await this.status();
    if (r) await this.judgeJob(r, false);
  }
  async fill() {
    if (!(await this.update({}))) return;
    const put = async (i) => {
      const uid = `${this.name}-${++uids}`;
      const l = this.book.sending(`old.${i}`, uid, [[Infinity, Infinity]]);
      const r = await this.ask(l.key, uid);
      if (r === null || this.refused("a put", r)) return;
      this.book.acked(l, r.seq, Infinity);
    };
    await Promise.all(Array.from({ length: STORED }, (_, i) => put(i)));
    if (!this.wire.closed) this.stage = "filled";
  }
  lives() {
    return [...this.book.keys.values()].flat();
  }
  // Slow enough for a kill or two.
  async start() {
    this.ms = 1500 + this.roll(2000);
    this.spread = this.roll(2) * this.roll(3);
    if (!(await this.update({ default: `${this.ms}ms`, warn: "0" }))) return;
    this.stage = "asked";
    this.from = Date.now();
    this.total = this.lives().length;
    this.id = null;
    const ends = [this.from + this.ms - 3, 8e15];
    this.lives().forEach((l) => l.may(ends));
    const rate = [100, 300, 1000, 50000][this.roll(4)];
    const r = await this.ask(`$MAYFLY.TTL.BACKFILL.${this.name}`, JSON.stringify({ action: "start", rate, expire_now: STORED, ...(this.spread && { spread: `${this.spread}s` }) }));
    if (r === null || this.refused("a start of a backfill", r)) return;
    this.jobs++;
    this.stage = "runs";
    this.started(r.job);
  }
  started(job) {
    this.id = job.id;
    const base = Date.parse(job.base);
    this.ends = [base + this.ms, base + this.ms + this.spread * 1000 + 3];
    this.lives().forEach((l) => l.must(...(l.ends.length === 1 && l.ends[0][0] < NEVER ? l.ends : [[Infinity, Infinity], this.ends])));
  }
  async status() {
    const r = await ttl(this.wire, `BACKFILL.${this.name}`, { action: "status" });
    if (r === null) return null;
    return r.error ? { state: "none" } : r.job;
  }
  // Each message is counted once, whatever was killed.
  async judgeJob(job, restarted) {
    if (job.id !== this.id) {
      if (this.stage === "runs") this.find("job-lost", `${this.name}: job ${this.id} was acknowledged, there is ${JSON.stringify(job)}`);
      if (this.stage === "asked" && restarted && job.state !== "none" && Date.parse(job.started) >= this.from - 3) this.started(job);
      else this.stage = "filled"; // it was not begun
      return;
    }
    if (job.state === "running") return;
    if (job.state !== "done") return this.find("job-failed", `${this.name}: ${JSON.stringify(job)}`);
    // Those that ended before their turn, by an end that the job gave them, were counted before.
    if (job.seen !== this.total || job.set !== this.total || job.unchanged || job.errors) this.find("miscounted", `${this.name}: a job over ${this.total} messages says ${JSON.stringify(job)}`);
    this.messages += job.set;
    this.stage = "ends";
    await this.#over();
  }
  // All of them have their end, and reach it.
  async #over() {
    const r = await readLives(this.wire, this.name);
    if (r === null) return;
    for (const m of r.list) if (m.end >= NEVER) this.find("job-missed", `${this.name} ${m.seq} has no end after a backfill`);
    if (r.list.length > 0) return;
    for (const l of this.lives()) this.book.missed(l, r.to);
    this.stage = "empty";
  }
  died(ms) {
    super.died(ms);
    this.lives().forEach((l) => (l.ends = l.ends.map(([lo, hi]) => (hi === 8e15 ? [lo, ms + this.ms + this.spread * 1000 + 3] : [lo, hi]))));
  }
  async settle() {
    const job = this.stage === "asked" || this.stage === "runs" ? await this.status() : null;
    if (job) await this.judgeJob(job, true);
    if (this.stage === "asked") this.stage = this.id ? "runs" : "filled";
    if (this.stage === "empty" || this.stage === "filled") {
      await super.settle();
      this.stage = this.lives().length ? "filled" : "empty";
      return;
    }
    // The job goes on while this is read.
    const r = await readLives(this.wire, this.name);
    this.world.compared += r.list.length;
    this.book.settle(r);
    for (const l of this.lives()) if (l.ends[0][0] === Infinity) l.may(this.ends);
    if (this.stage === "ends") await this.#over();
  }
}
