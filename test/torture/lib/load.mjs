// load.mjs: the load of a trial: a few connections, each with its own keys, a window of operations under way on each,
// every answer noted in the record.
import { moment, NEVER, Put, bodyOf } from "./record.mjs";

// K: a bucket: one value a key, markers.  T: history, rollups, batches, ids; no markers, so that each message's own
// deadline shows.
export const streams = (lifetime) => [
  { name: "K", subjects: ["k.>"], allow_direct: true, allow_msg_ttl: true, subject_delete_marker_ttl: lifetime, max_msgs_per_subject: 1, allow_rollup_hdrs: true },
  { name: "T", subjects: ["t.>"], allow_direct: true, allow_msg_ttl: true, max_msgs_per_subject: 5, allow_rollup_hdrs: true, allow_atomic: true, duplicate_window: lifetime },
];

let uids = 0;

export class Hand {
  // world: { roll, records: { K, T }, find(kind, text), refused(text), count }
  constructor(world, wire, number, { keys = 40, window = 64 } = {}) {
    Object.assign(this, { world, wire, number, keys, window });
    this.busy = 0;
    this.stopped = false;
    this.left = 5; // batches that may still be left open
    this.ids = []; // [{ id, op, key }] of acknowledged messages with an id
  }

  // Runs until stop() or the connection's end.
  run() {
    return new Promise((ok) => {
      this.idle = ok;
      this.#fill();
    });
  }
  stop() {
    this.stopped = true;
    if (this.busy === 0) this.idle?.();
  }

  #fill() {
    while (!this.stopped && !this.wire.closed && this.busy < this.window) {
      this.busy++;
      this.#one();
    }
    if (this.busy === 0) this.idle();
  }
  #done() {
    this.busy--;
    if (this.stopped || this.wire.closed) {
      if (this.busy === 0) this.idle();
    } else if (this.busy <= this.window / 2) this.#fill();
  }

  #one() {
    const { roll } = this.world;
    const x = roll(100);
    const record = this.world.records[roll(2) ? "K" : "T"];
    const key = `${record.stream.toLowerCase()}.${this.number}.k${roll(this.keys)}`;
    if (x < 40) this.#put(record, key, 0);
    else if (x < 66) this.#put(record, key, 1000 + roll(6) * 300);
    else if (x < 72) this.#delete(record, key);
    else if (x < 76) this.#purge(record, key);
    else if (x < 80) this.#put(this.world.records.T, `t.${this.number}.k${roll(this.keys)}`, 0, { rollup: true });
    else if (x < 84) this.#batch();
    else if (x < 89) this.#again();
    else this.#get(record, key);
  }

  // An answer to something that changes a stream: true when it was done.
  #accepted(op, m, what) {
    if (m === null) return false; // the connection ended: nobody knows
    const { world } = this;
    let a;
    try {
      a = m.status ? { error: { description: `no responders` } } : JSON.parse(m.text());
    } catch {
      world.find("bad-answer", `${what}: ${m.text().slice(0, 200)}`);
      return false;
    }
    if (a.error) {
      op.refused = true;
      world.refused(`${what}: ${JSON.stringify(a.error)}`);
      return false;
    }
    op.answer = a;
    return true;
  }

  #put(record, key, ttl, { rollup = false, id = false } = {}) {
    const { world } = this;
    const uid = `u${++uids}`;
    const size = world.roll(50) === 0 ? world.roll(40000) : world.roll(400);
    id ||= world.roll(4) === 0 && record.stream === "T";
    const op = record.sending(key, new Put(uid, ttl, size, { rollup }));
    const header = [...(ttl ? [`Nats-TTL: ${ttl / 1000}s`] : []), ...(rollup ? ["Nats-Rollup: sub"] : []), ...(id ? [`Nats-Msg-Id: ${uid}`] : [])];
    world.count.puts++;
    this.wire.ask(key, bodyOf(uid, size), header.length ? header : null, (m) => {
      if (this.#accepted(op, m, `${key} ${uid}`)) {
        if (op.answer.duplicate) world.find("dedup", `${key} ${uid}: a new message taken for ${op.answer.seq}`);
        this.#told(record, op, op.answer.seq);
        if (id && this.ids.push({ id: uid, op, key, seq: op.answer.seq }) > 300) this.ids.shift();
      }
      this.#done();
    });
  }
  #told(record, op, seq) {
    const wrong = record.acknowledged(op, seq);
    this.world.count.acks++;
    if (wrong) this.world.find("sequence", wrong);
  }

  // The same id once more: the answer is the first one's.
  #again() {
    const { world } = this;
    const old = this.ids[world.roll(Math.max(1, this.ids.length))];
    if (!old) return this.#get(world.records.K, `k.${this.number}.k0`);
    world.count.resent++;
    this.wire.ask(old.key, `again ${old.id}`, [`Nats-Msg-Id: ${old.id}`], (m) => {
      const op = {};
      if (this.#accepted(op, m, `${old.key} ${old.id} again`) && !(op.answer.duplicate && op.answer.seq === old.seq))
        world.find("dedup", `${old.key} ${old.id} at ${old.seq}, sent again: ${JSON.stringify(op.answer)}`);
      this.#done();
    });
  }

  #delete(record, key) {
    const { world } = this;
    const target = record.key(key).ops.findLast((o) => o.kind === "put" && o.seq > 0);
    if (!target) return this.#put(record, key, 0);
    const op = record.sending(key, { kind: "delete", seq: target.seq, acked: NEVER });
    world.count.deletes++;
    this.wire.ask(`$JS.API.STREAM.MSG.DELETE.${record.stream}`, JSON.stringify({ seq: target.seq, no_erase: true }), null, (m) => {
      this.#removed(record, op, m, (a) => a.success);
    });
  }
  #purge(record, key) {
    const op = record.sending(key, { kind: "purge", acked: NEVER });
    this.world.count.purges++;
    this.wire.ask(`$JS.API.STREAM.PURGE.${record.stream}`, JSON.stringify({ filter: key }), null, (m) => {
      this.#removed(record, op, m, (a) => a.purged > 0);
    });
  }
  // There may be nothing to remove any more: that is no refusal.
  #removed(record, op, m, did) {
    const a = m === null || m.status ? null : JSON.parse(m.text());
    if (a) {
      if (a.error && a.error.err_code !== 10043 && a.error.err_code !== 10057) this.#accepted(op, m, `${op.kind} on ${record.stream} ${op.key.name}`);
      op.refused = !!a.error || !did(a);
      if (!a.error) this.#told(record, op, 0);
      else if (!op.acked.tick) op.acked = NEVER;
    }
    this.#done();
  }

  // A few messages on new keys, there as a whole or not at all.
  #batch() {
    const { world } = this;
    const record = world.records.T;
    const n = 2 + world.roll(5);
    const id = `b${++uids}`;
    const parts = [];
    const last = this.left === 0 || world.roll(8) > 0; // else it is left open; a stream holds fifty open batches
    for (let i = 1; i <= n; i++) {
      const uid = `u${++uids}`;
      const key = `t.${this.number}.b.${id}.${i}`;
      const op = record.sending(key, new Put(uid, 0, world.roll(300), { batch: parts }));
      parts.push(op);
      const header = [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${i}`];
      if (i < n || !last) this.wire.publish(key, bodyOf(uid, op.size), header);
      else
        this.wire.ask(key, bodyOf(uid, op.size), [...header, "Nats-Batch-Commit: 1"], (m) => {
          const whole = {};
          if (this.#accepted(whole, m, `batch ${id}`)) {
            if (whole.answer.count !== n) world.find("batch", `${id}: ${n} messages, ${JSON.stringify(whole.answer)}`);
            parts.forEach((p, j) => this.#told(record, p, whole.answer.seq - n + 1 + j));
          } else if (m !== null) parts.forEach((p) => (p.refused = true));
          this.#done();
        });
    }
    world.count.batches++;
    if (!last) {
      this.left--;
      parts.open = true;
      this.#done();
    }
  }

  // The last value of a key, by an exact read.
  #get(record, key) {
    const { world } = this;
    const from = moment();
    world.count.gets++;
    this.wire.ask(`$JS.API.DIRECT.GET.${record.stream}.${key}`, "", null, (m) => {
      if (m !== null) this.#got(record, key, m, from, moment());
      this.#done();
    });
  }
  #got(record, key, m, from, to) {
    const { world } = this;
    if (m.status && m.status !== 404) {
      return world.refused(`get ${key}: ${m.head}`);
    }
    const seen = m.status ? null : readDirect(m);
    if (seen) {
      const wrong = record.saw(seen, from, to);
      if (wrong) world.find(/late|revived/.test(wrong) ? "late" : "read", `direct get: ${wrong}`);
    }
    // What is there for sure and newer than what was read is missing.
    for (const op of record.key(key).ops)
      if (op.kind === "put" && op.seq > (seen?.seq ?? 0) && record.fate(op, from, to) === "there") {
        world.find("lost", `direct get of ${key} at ${from.ms} gave ${seen ? `${seen.seq} ${seen.uid ?? seen.marker}` : "nothing"}, not ${op.uid}: ${record.story(op)}`);
        break;
      }
  }
}

// A message with its place in headers.
export function readDirect(m) {
  return readMessage(m, m.header("Nats-Subject"), Number(m.header("Nats-Sequence")), Date.parse(m.header("Nats-Time-Stamp")));
}
export function readMessage(m, key, seq, stamp) {
  const marker = m.header("Nats-Marker-Reason");
  const text = m.text();
  return { key, seq, stamp, marker, text, uid: marker ? undefined : text.slice(0, Math.max(0, text.indexOf(":"))) };
}
