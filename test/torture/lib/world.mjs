// world.mjs: a server under load and its observer: begin, load, cut, verify, again and again.
import { LIMIT_MS, after, awake } from "./awake.mjs";
import { Hand, readDirect, streams } from "./load.mjs";
import { Queue } from "./queue.mjs";
import { Watcher, readAll } from "./readback.mjs";
import { Put, Record, bodyOf, moment } from "./record.mjs";
import { pause } from "./server.mjs";
import { dice, wrong } from "./trial.mjs";
import { Wire } from "./wire.mjs";

const REAL = { lo: (ms) => ms, hi: (ms) => ms };

export class World {
  // refusals: a pattern of those that are no find.  refusedGone: a refused message that is there is one.  lifetime: of
  // markers and ids, in ns.
  constructor(trial, server, { refusals = /^$/, refusedGone = false, clock = REAL, hands = 3, keys = 40, lifetime = 3600e9 } = {}) {
    Object.assign(this, { trial, server, refusals, clock, lifetime });
    trial.tried = () => this.summary();
    this.roll = dice(trial.seed);
    this.count = { puts: 0, acks: 0, refused: 0, resent: 0, deletes: 0, purges: 0, batches: 0, gets: 0, queued: 0, confirmed: 0, verified: 0, readings: 0 };
    this.records = {
      K: new Record("K", { depth: 1, markers: true, clock, refusedGone }),
      T: new Record("T", { depth: 5, markers: false, clock, refusedGone }),
    };
    this.hands = Array.from({ length: hands }, (_, i) => new Hand(this, null, i, { keys }));
    this.watchers = Object.values(this.records).map((r) => new Watcher(r, (kind, text) => this.find(kind, text)));
    this.queue = new Queue(this);
    this.lives = 0;
    this.probes = 0;
    this.loading = [];
  }

  find(kind, text) {
    this.trial.found(kind, `${text} (start ${this.server.starts})`);
  }
  refused(text) {
    this.count.refused++;
    if (!this.refusals.test(text)) this.find("refused", text);
  }

  async wire(name) {
    return Wire.open(this.server.port, `${name}x${this.lives}`);
  }

  async begin() {
    await this.server.start();
    this.lives++;
    this.main = await this.wire("m");
    for (const s of streams(this.lifetime)) {
      const r = await this.main.api(`STREAM.CREATE.${s.name}`, s);
      if (r === null || r.error) throw new Error(`creating ${s.name}: ${JSON.stringify(r?.error ?? "no answer")}`);
    }
    await this.queue.make(this.main);
    await this.#connect();
  }

  async #connect() {
    for (const h of this.hands) {
      h.wire = await this.wire(`h${h.number}`);
      h.busy = 0;
      h.stopped = false;
      h.left = 5;
      h.window = [1, 8, 64, 256][this.roll(4)];
    }
    this.watching = await this.wire("w");
    for (const w of this.watchers) await w.start(this.watching);
    this.queueWire = await this.wire("q");
  }

  // Runs until rest() or the server's end; `during` runs beside it.
  load() {
    this.queue.start(this.queueWire);
    this.loading = this.hands.map((h) => h.run());
  }
  // The load ends; what is under way is answered (or the connections end).
  async rest(ms = LIMIT_MS) {
    this.queue.stop();
    this.hands.forEach((h) => h.stop());
    const done = after(ms, () => {
      for (const h of this.hands)
        if (h.busy > 0 && !h.wire.closed) {
          this.find("no-answer", `${h.busy} requests of hand ${h.number} have no answer after ${ms} ms: ${[...h.wire.waiting.values()].slice(0, 8).map((f) => f.subject).join(", ")}`);
          h.wire.close();
        }
    });
    await Promise.all(this.loading);
    done();
  }

  // Ends the server: SIGKILL, or SIGTERM in good order.
  async cut(orderly = false) {
    const ended = this.server.gone !== null;
    if (ended) this.find("crash", this.server.report() ?? `the server ended (${this.server.gone.code}): ${this.server.said()}`);
    if (orderly) {
      const g = await this.server.stop();
      if (g.code !== 0) this.find("bad-end", `exit ${g.code ?? g.signal}: ${this.server.said()}`);
    } else await this.server.kill();
    const report = this.server.report();
    if (report && !ended) this.find("crash", report);
    this.ended = moment();
    this.disconnect();
    await this.rest();
  }
  disconnect() {
    for (const w of [this.main, this.watching, this.queueWire, ...this.hands.map((h) => h.wire)]) w.close();
  }

  // The server is up again: everything is read and compared, then the load may go on.
  async resume() {
    this.lives++;
    this.main = await this.wire("m");
    await this.verify();
    await this.queue.check(this.main);
    this.ended = null;
    this.queue.settle();
    await this.#connect();
  }

  // The same while it goes on: the load rests, the watchers have seen all.
  async verifyLive() {
    await this.rest();
    for (const w of this.watchers) await w.caughtUp(this.watching);
    await this.verify();
    this.hands.forEach((h) => (h.stopped = false));
  }

  async verify() {
    for (const w of this.watchers) w.check();
    for (const record of Object.values(this.records)) {
      const { highest } = record; // meanwhile the reader and the watchers see more
      const got = await readAll(this.main, record.stream);
      this.count.readings++;
      if (got.last < highest) this.find("sequence", `${record.stream}: last_seq ${got.last}, but ${highest} was given`);
      const image = this.#compare(record, got);
      await this.#marked(record, image);
      if (record.stream === "T") await this.#dropBatches(record, image);
      record.settle(image, got.last, this.ended ?? got.from);
    }
    // What the watchers did not see before the end is read by nobody else: they go on where they stopped.
  }

  #compare(record, got) {
    const image = new Map();
    const uids = new Set();
    const depth = new Map();
    let before = 0;
    this.count.verified += got.list.length;
    for (const m of got.list) {
      const what = `${m.marker ? "marker" : m.uid} ${m.key}`;
      if (m.seq <= before) this.find("order", `${record.stream} ${m.seq} after ${before}`);
      before = m.seq;
      if (m.seq <= record.imageLast && !record.image.has(m.seq)) this.find("revived", `${record.stream} ${m.seq} ${what} was gone before`);
      else if (record.image.has(m.seq) && record.image.get(m.seq) !== what) this.find("changed", `${record.stream} ${m.seq} was ${record.image.get(m.seq)}, is ${what}`);
      const wrong = record.saw(m, got.from, got.to);
      if (wrong) this.find(/^revived or late/.test(wrong) ? "revived" : "read", wrong);
      if (!m.marker && uids.has(m.uid)) this.find("twice", `${record.stream} ${m.seq} ${what}`);
      uids.add(m.uid);
      image.set(m.seq, what);
      depth.set(m.key, (depth.get(m.key) ?? 0) + 1);
      if (depth.get(m.key) > record.depth && m.seq <= got.last) this.find("depth", `${record.stream} ${m.key}: more than ${record.depth} messages`);
    }
    if (got.messages !== undefined && got.list.length !== got.messages) this.find("count", `${record.stream}: info says ${got.messages} messages, ${got.list.length} were read`);
    this.#missing(record, got, image);
    return image;
  }

  #missing(record, got, image) {
    const batches = new Set();
    const reached = new Map(); // hand: the last unacknowledged put that is there
    const each = (visit) => record.keys.forEach((k) => k.ops.forEach((op) => op.kind === "put" && visit(op, k)));
    const handOf = (k) => k.name.split(".")[1];
    each((op, k) => {
      if (op.batch) batches.add(op.batch);
      else if (op.acked.tick === Infinity && image.has(op.seq)) reached.set(handOf(k), Math.max(op.sent.tick, reached.get(handOf(k)) ?? 0));
      if (!image.has(op.seq) && record.fate(op, got.from, got.to) === "there") this.find("lost", `${record.stream} ${k.name} ${op.uid}: ${record.story(op)}`);
    });
    // The server takes what comes over a connection in order: no hole before what is there, unless it refuses some.  Where
    // it may, that some were not refused is not known: without memory for a refusal the connection ends, and a kill takes
    // those on their way.
    if (!this.refusals.test("put")) each((op, k) => {
      if (op.batch || op.acked.tick !== Infinity || op.refused || op.seq > 0 || !(op.sent.tick < reached.get(handOf(k)))) return;
      const acked = op.acked;
      op.acked = op.sent;
      if (record.fate(op, got.from, got.to) === "there") this.find("hole", `${record.stream} ${k.name} ${op.uid} is not there, but what was sent later is: ${record.story(op)}`);
      op.acked = acked;
    });
    for (const b of batches) {
      const there = b.filter((p) => image.has(p.seq)).length;
      if (there !== 0 && !b.purged && (there !== b.length || b.open)) this.find("batch", `${there} of ${b.length} messages of a batch${b.open ? " without a commit" : ""}: ${b[0].key.name}: ${b.map((p) => `${p.uid} seq ${p.seq} acked ${p.acked.ms} ${p.refused ? "refused" : ""}`)}`);
    }
  }

  // Every death has its marker: at once, or as soon as the sweep was there.
  async #marked(record, image) {
    if (!record.markers) return;
    for (const k of record.keys.values()) record.checkMarks(k, (text) => this.find("marker", text));
    const end = awake() + LIMIT_MS;
    for (const { key, put } of [...record.mustBeMarked(moment())]) {
      const marked = () => [...key.marks.keys()].some((s) => s > put.seq);
      while (!marked()) {
        const m = await this.main.request(`$JS.API.DIRECT.GET.${record.stream}.${key.name}`);
        if (m !== null && !m.status) {
          const seen = readDirect(m);
          if (seen.marker) {
            record.saw(seen);
            image.set(seen.seq, `marker ${key.name}`);
          }
        }
        if (marked()) break;
        if (awake() > end || m === null) {
          this.find("marker", `none after the death of ${record.stream} ${key.name} ${put.uid}: ${record.story(put)}`);
          break;
        }
        await pause(20);
      }
    }
  }

  // Keys of batches are used once.
  async #dropBatches(record, image) {
    const r = await this.main.api("STREAM.PURGE.T", { filter: "t.*.b.>" });
    if (r === null || (r.error && !this.refusals.test("purge"))) throw wrong("refused", `purging batches: ${JSON.stringify(r?.error ?? "no answer")}`);
    // It goes from subject to subject: one that was refused may have got to some of them.  The rest goes the next time.
    const left = new Set();
    if (r.error) {
      this.refused(`purging batches: ${r.error.description}`);
      for (const k of record.keys.values()) for (const op of k.ops) if (op.batch) op.batch.purged = true;
      for (const m of (await readAll(this.main, record.stream)).list) left.add(m.seq);
    }
    for (const [seq, what] of image) if (/^\S+ t\.\d+\.b\./.test(what) && !left.has(seq)) image.delete(seq);
  }

  // One message to each stream, by a client that does nothing else: what each answers, as text.
  async probe(ms = LIMIT_MS) {
    const said = {};
    for (const [stream, record] of [...Object.entries(this.records), ["Q", null]]) {
      const uid = `p${++this.probes}`;
      const key = `${stream.toLowerCase()}.9.probe`;
      const op = record?.sending(key, new Put(uid, 1000, 20));
      if (!record) this.queue.unsure.add(uid);
      const m = await this.main.request(key, bodyOf(uid, 20), record ? ["Nats-TTL: 1s"] : null, ms);
      said[stream] = m === null ? "nothing" : m.status ? "no responders" : m.text();
      if (m === null && !this.main.closed) this.find("no-answer", `publishing to ${key} is not answered in ${ms} ms`);
      const seq = Number(said[stream].match(/"seq":(\d+)/)?.[1] ?? 0);
      if (op && seq > 0) {
        const wrong = record.acknowledged(op, seq);
        if (wrong) this.find("sequence", wrong);
      } else if (op) op.refused = true;
    }
    return said;
  }

  // The end of a trial: the queue is emptied, the server stops in good order.
  async finish() {
    this.queue.draining = true;
    await this.queue.drain(this.queueWire, LIMIT_MS);
    await this.cut(true);
  }

  summary() {
    const c = this.count;
    return `${c.acks} acks (${c.puts} puts, ${c.deletes} deletes, ${c.purges} purges, ${c.batches} batches, ${c.resent} resent ids), ${c.confirmed} confirmed acks, ` +
      `${c.gets} gets, ${this.watchers.reduce((n, w) => n + w.seen, 0)} watched, ${c.verified} messages in ${c.readings} full readings${c.refused ? `, ${c.refused} refusals` : ""}`;
  }
}
