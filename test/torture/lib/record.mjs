// record.mjs: what an outside observer knows of the keyed streams: what was asked for, what was acknowledged, when;
// and from that, what a reader must see, may see, and must not see.
//
// All operations on a key go over one connection, and the server takes them in that order.  Two clocks: ticks order
// what the observer did and saw; milliseconds judge deadlines.  A deadline is known to lie between two moments: the
// server stamped the message after it was sent and before its ack was here (exactly, once a watcher saw the stamp).

let tick = 0;
export const moment = () => ({ tick: ++tick, ms: Date.now() });
export const NEVER = { tick: Infinity, ms: Infinity };
const EDGE_MS = 3; // Date.now() cuts off; the two sides read the clock at different times

// A body that says whose it is in every part of it.
export function bodyOf(uid, size) {
  const word = `${uid}:`;
  return word.repeat(Math.ceil(Math.max(1, size) / word.length)).slice(0, Math.max(size, word.length));
}

export class Put {
  constructor(uid, ttl, size, more = {}) {
    Object.assign(this, { kind: "put", uid, ttl, size, sent: NEVER, acked: NEVER, seq: 0, stamp: 0 }, more);
  }
}

// One key: its operations in the order they were sent, and the markers seen on it.
class Key {
  constructor(name) {
    this.name = name;
    this.ops = [];
    this.marks = new Map(); // seq: { seq, ms, reason }
  }
}

export class Record {
  // depth: max_msgs_per_subject.  refusedGone: a message that was refused must not be there; may change.  clock: { lo(ms), hi(ms) }, between which the server's time lies at our time ms.
  constructor(stream, { depth, markers, clock, refusedGone = false }) {
    Object.assign(this, { stream, depth, markers, clock, refusedGone });
    this.keys = new Map();
    this.byUid = new Map();
    this.bySeq = new Map(); // of acknowledged or seen messages: the put
    this.image = new Map(); // the last full reading: seq to "uid key" or "marker key"
    this.imageLast = 0;
    this.highest = 0; // the highest sequence known
  }

  key(name) {
    let k = this.keys.get(name);
    if (!k) this.keys.set(name, (k = new Key(name)));
    return k;
  }

  sending(keyName, op) {
    op.key = this.key(keyName);
    op.sent = moment();
    op.key.ops.push(op);
    if (op.kind === "put") this.byUid.set(op.uid, op);
    return op;
  }

  // An ack: null, or what is wrong with it.
  acknowledged(op, seq) {
    op.acked = moment();
    if (op.kind !== "put") return null;
    return this.#place(op, seq);
  }
  #place(op, seq) {
    if (op.seq === seq) return null;
    const other = this.bySeq.get(seq);
    if (other && other !== op) return `${this.stream} ${seq} is ${other.uid}'s and ${op.uid}'s`;
    if (op.seq !== 0) return `${this.stream} ${op.uid} is at ${op.seq} and at ${seq}`;
    if (seq <= this.imageLast && !this.image.has(seq)) return `${this.stream} ${seq} was used before, now by ${op.uid}`;
    op.seq = seq;
    this.bySeq.set(seq, op);
    this.highest = Math.max(this.highest, seq);
    return null;
  }

  // Between which moments of the server's time a message's life ends.
  deadline(op) {
    if (!op.ttl) return { min: Infinity, max: Infinity };
    if (op.stamp) return { min: op.stamp + op.ttl - 1, max: op.stamp + op.ttl + 1 };
    return { min: this.clock.lo(op.sent.ms) + op.ttl - EDGE_MS, max: this.clock.hi(Math.min(op.acked.ms, op.died ?? Infinity)) + op.ttl + EDGE_MS };
  }

  // What a reader who asked at `from` and had his answer at `to` may and must find: "there", "gone", "either".
  fate(op, from, to) {
    let may = false, puts = 0;
    const ops = op.key.ops;
    for (let i = ops.lastIndexOf(op) + 1; i < ops.length; i++) {
      const later = ops[i];
      if (later.sent.tick > to.tick) break;
      let takes = later.kind === "purge" || (later.kind === "delete" && later.seq === op.seq);
      if (later.kind === "put") {
        takes = this.depth === 1 || later.rollup;
        may ||= ++puts >= this.depth;
      }
      if (takes && later.acked.tick < from.tick && !later.refused) return "gone";
      may ||= takes;
    }
    const d = this.deadline(op);
    if (this.clock.lo(from.ms) > d.max + EDGE_MS) return "gone";
    if (this.clock.hi(to.ms) >= d.min - EDGE_MS) return "either";
    return may || op.acked.tick > from.tick || op.refused ? "either" : "there";
  }

  // A message as a reader saw it: null, or what is wrong with it.  m: { key, uid | marker, seq, stamp, text }
  saw(m, from, to) {
    if (m.marker) {
      const k = this.key(m.key);
      if (!this.markers) return `a marker on ${this.stream} ${m.key}`;
      if (this.bySeq.has(m.seq)) return `${this.stream} ${m.seq} is a marker and ${this.bySeq.get(m.seq).uid}`;
      k.marks.set(m.seq, { seq: m.seq, ms: m.stamp, reason: m.marker });
      this.highest = Math.max(this.highest, m.seq);
      return null;
    }
    const op = this.byUid.get(m.uid);
    if (!op) return `revived or alien: ${this.stream} ${m.seq} ${m.key} ${m.uid}`;
    if (op.key.name !== m.key) return `${m.uid} is of ${op.key.name}, seen on ${m.key}`;
    if (m.text !== undefined && m.text !== bodyOf(op.uid, op.size)) return `the body of ${this.stream} ${m.seq} ${m.uid} is not its own (${m.text.length} bytes)`;
    if (op.refused && !this.refusedGone) op.refused = false; // nobody knows, as without an answer
    if (op.refused) return `refused, and there: ${this.stream} ${m.seq} ${m.key} ${m.uid}`;
    const wrong = this.#place(op, m.seq);
    if (wrong) return wrong;
    if (from && this.fate(op, from, to) === "gone") return `revived or late: ${this.stream} ${m.seq} ${m.key} ${m.uid}: ${this.story(op, from)}`;
    if (m.stamp) op.stamp ||= m.stamp;
    return null;
  }

  // For texts: what happened to a message.
  story(op, from) {
    const d = this.deadline(op);
    const at = (m) => (m === Infinity ? "never" : `${m}`);
    const later = op.key.ops.slice(op.key.ops.lastIndexOf(op) + 1, op.key.ops.lastIndexOf(op) + 4);
    return `sent ${at(op.sent.ms)}, acked ${at(op.acked.ms)}, seq ${op.seq}, ttl ${op.ttl}, deadline ${d.min}..${d.max}${from ? `, asked at ${from.ms}` : ""}; then ${later.map((x) => `${x.kind} ${x.uid ?? ""} seq ${x.seq ?? ""} ttl ${x.ttl ?? ""} sent ${x.sent.ms} acked ${at(x.acked.ms)}${x.refused ? " refused" : ""}`).join(", ") || "nothing"}`;
  }

  // Markers of one key against its puts: exactly one for each death, before what came later.  wrong(TEXT) per fault.
  // A put that was lost on its way to us may stand between two markers.
  checkMarks(k, wrong) {
    const puts = k.ops.filter((o) => o.kind === "put" && o.seq > 0);
    const line = [...puts.map((op) => ({ seq: op.seq, op })), ...[...k.marks.values()].map((mark) => ({ seq: mark.seq, mark }))].sort((a, b) => a.seq - b.seq);
    const unknown = k.ops.some((o) => o.kind === "put" && o.seq === 0);
    for (let i = 1; i < line.length; i++) {
      const [a, b] = [line[i - 1], line[i]];
      if (a.mark && b.mark && !unknown) wrong(`two markers for one death: ${this.stream} ${k.name} ${a.seq} and ${b.seq} ${b.mark.reason}`);
      if (a.op && b.mark && !unknown) this.#checkDeath(k, a.op, b.mark, wrong);
      if (a.op && b.op && this.#diedBefore(k, a.op, b.op) && this.#allKnown(a.seq, b.seq))
        wrong(`no marker between ${a.op.uid} and ${b.op.uid}: ${this.stream} ${k.name} ${a.seq}, ${b.seq}: ${this.story(a.op)}`);
    }
  }
  #checkDeath(k, op, mark, wrong) {
    const asked = k.ops.slice(k.ops.lastIndexOf(op) + 1).some((o) => o.kind === "purge" || o.kind === "delete");
    if (mark.reason === "MaxAge" ? mark.ms < this.deadline(op).min - EDGE_MS : !asked)
      wrong(`marker ${mark.seq} ${mark.reason} at ${mark.ms} without a death: ${this.stream} ${k.name}: ${this.story(op)}`);
  }
  #diedBefore(k, op, next) {
    if (this.clock.lo(next.sent.ms) > this.deadline(op).max + EDGE_MS) return true;
    const between = k.ops.slice(k.ops.lastIndexOf(op) + 1, k.ops.lastIndexOf(next));
    return between.some((o) => o.acked !== NEVER && !o.refused && (o.kind === "purge" || (o.kind === "delete" && o.seq === op.seq)));
  }
  #allKnown(a, b) {
    if (b - a > 5000) return false;
    for (let s = a + 1; s < b; s++) if (!this.bySeq.has(s)) return false;
    return true;
  }

  // Keys that must end with a marker: whose last put died for sure and was followed by nothing.
  *mustBeMarked(from) {
    if (!this.markers) return;
    for (const k of this.keys.values()) {
      const i = k.ops.findLastIndex((o) => o.kind === "put");
      const last = k.ops[i];
      if (!last || last.seq === 0 || last.acked === NEVER || this.fate(last, from, from) !== "gone") continue;
      if (!this.#mayLoseMark(last, k.ops.slice(i + 1))) yield { key: k, put: last };
    }
  }
  // A purge also takes a marker that is there already, and a tombstone leaves none.
  #mayLoseMark(put, later) {
    const purges = later.filter((o) => o.kind === "purge");
    if (purges.length === 0) return false;
    return purges.length > 1 || later[0] !== purges[0] || this.clock.hi(purges[0].acked.ms) >= this.deadline(put).min - EDGE_MS;
  }

  // A full reading was checked: what is not in it is gone for good, what was on its way is decided.
  settle(image, last, at) {
    this.image = image;
    this.imageLast = Math.max(last, this.imageLast);
    this.bySeq = new Map([...this.bySeq].filter(([seq]) => image.has(seq)));
    this.byUid = new Map();
    for (const k of this.keys.values()) {
      k.ops = k.ops.filter((o) => o.kind === "put" && o.seq > 0 && image.has(o.seq));
      for (const o of k.ops) {
        this.byUid.set(o.uid, o);
        if (o.acked !== NEVER) continue;
        o.died = at.ms; // stamped before the server that took it ended
        o.acked = at;
      }
      for (const seq of k.marks.keys()) if (!image.has(seq)) k.marks.delete(seq);
      if (k.ops.length === 0 && k.marks.size === 0) this.keys.delete(k.name);
    }
  }
}
