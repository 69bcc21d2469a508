// readback.mjs: readers of a stream: one that reads all of it, and a watcher that must miss nothing.
import { LIMIT_MS, awake } from "./awake.mjs";
import { readMessage } from "./load.mjs";
import { moment } from "./record.mjs";
import { pause } from "./server.mjs";
import { wrong as broken } from "./trial.mjs";

let readers = 0;

// $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<ns>.<pending>
export function placeOf(reply) {
  const f = reply.split(".");
  return { seq: Number(f.at(-4)), stamp: Number(BigInt(f.at(-2)) / 1000000n), pending: Number(f.at(-1)), count: Number(f.at(-3)), deliveries: Number(f.at(-5)) };
}

async function consume(wire, stream, config, take) {
  const subject = `_D.${wire.name}.${++readers}`;
  const sid = wire.subscribe(subject, (m) => {
    if (!m.status) take(m, placeOf(m.reply));
  });
  const r = await wire.api(`CONSUMER.CREATE.${stream}`, { stream_name: stream, config: { deliver_subject: subject, ack_policy: "none", mem_storage: true, inactive_threshold: 300e9, ...config } });
  if (r === null || r.error) throw broken("unreadable", `a consumer of ${stream}: ${JSON.stringify(r?.error ?? "no answer")}`);
  return { name: r.name, pending: r.num_pending, end: () => (wire.unsubscribe(sid), wire.api(`CONSUMER.DELETE.${stream}.${r.name}`)) };
}

// Everything a stream shows: { list, last, from, to }; list in order of sequence.
export async function readAll(wire, stream, ms = LIMIT_MS) {
  const state = async () => {
    const r = await wire.api(`STREAM.INFO.${stream}`);
    if (r === null || r.error) throw broken("unreadable", `info of ${stream}: ${JSON.stringify(r?.error ?? "no answer")}`);
    return r.state;
  };
  const before = await state();
  const from = moment();
  const list = [];
  let done = before.messages === 0;
  const c = await consume(wire, stream, { deliver_policy: "all" }, (m, p) => {
    list.push(readMessage(m, m.subject === undefined ? "" : m.subject, p.seq, p.stamp));
    done ||= p.pending === 0;
  });
  const end = awake() + ms;
  for (let turn = 0; !done && c.pending > 0; turn++) {
    await pause(turn < 50 ? 2 : 20);
    if (awake() > end || wire.closed) throw broken("unreadable", `reading all of ${stream}: ${list.length} of ${c.pending} in ${ms} ms`);
    // What expires on the way is not delivered.
    if (turn % 10 === 9) {
      const i = await wire.api(`CONSUMER.INFO.${stream}.${c.name}`);
      done ||= i?.num_pending === 0 && i.delivered.consumer_seq === list.length;
    }
  }
  await c.end();
  const after = await state();
  const steady = before.messages === after.messages && before.last_seq === after.last_seq;
  return { list, last: before.last_seq, from, to: moment(), messages: steady ? before.messages : undefined };
}

// Follows a stream from where it stopped the last time.
export class Watcher {
  constructor(record, find) {
    Object.assign(this, { record, find });
    this.last = 0;
    this.skipped = []; // what it did not get: { seq, at }
    this.seen = 0;
  }

  async start(wire) {
    const from = this.last + 1;
    this.consumer = await consume(wire, this.record.stream, { deliver_policy: "by_start_sequence", opt_start_seq: from }, (m, p) => this.#take(m, p));
  }

  #take(m, p) {
    const at = moment();
    this.seen++;
    this.record.clock.stamped?.(p.stamp, at.ms);
    if (p.seq <= this.last) this.find("watch-order", `${this.record.stream}: ${p.seq} after ${this.last}`);
    if (p.seq - this.last < 100000) for (let s = this.last + 1; s < p.seq; s++) this.skipped.push({ seq: s, at });
    this.last = p.seq;
    const wrong = this.record.saw(readMessage(m, m.subject, p.seq, p.stamp));
    if (wrong) this.find("watch", wrong);
  }

  // Waits until it was sent everything, and has it.
  async caughtUp(wire, ms = LIMIT_MS) {
    for (const end = awake() + ms; ; await pause(10)) {
      const i = await wire.api(`CONSUMER.INFO.${this.record.stream}.${this.consumer.name}`);
      if (i?.num_pending === 0) return;
      if (awake() > end) throw broken("watch-stuck", `${this.record.stream}: ${JSON.stringify(i)}`);
    }
  }

  // After all acks are known: what was skipped must have been gone.
  check() {
    for (const { seq, at } of this.skipped) {
      const op = this.record.bySeq.get(seq);
      if (op && this.record.fate(op, { tick: op.acked.tick, ms: op.acked.ms }, at) === "there")
        this.find("watch-gap", `${this.record.stream} ${seq} ${op.uid} was not delivered: ${this.record.story(op)}`);
    }
    this.skipped = [];
  }
}
