// queue.mjs: a work queue with one durable consumer: what was confirmed is not delivered again, what was not is.
import { awake } from "./awake.mjs";
import { bodyOf } from "./record.mjs";
import { placeOf } from "./readback.mjs";
import { pause } from "./server.mjs";

const ACK_WAIT = 1e9;
export const CONFIG = { name: "Q", subjects: ["q.>"], retention: "workqueue" };
const CONSUMER = { stream_name: "Q", config: { durable_name: "D", ack_policy: "explicit", ack_wait: ACK_WAIT, max_ack_pending: 2000 } };
const BACKLOG = 3000;
const LATEST = 40, GONE_TURNS = 200;

export class Queue {
  constructor(world) {
    this.world = world;
    this.open = new Map(); // seq: uid, acknowledged and not confirmed
    this.unsure = new Set(); // uids sent, no ack
    this.confirmed = new Set(); // seqs
    this.latest = []; // of them, the last ones
    this.asked = new Set(); // seqs whose ack was sent: they may be gone, confirmed or not
    this.uid = 0;
  }

  async make(wire) {
    for (const [op, body] of [["STREAM.CREATE.Q", CONFIG], ["CONSUMER.DURABLE.CREATE.Q.D", CONSUMER]]) {
      const r = await wire.api(op, body);
      if (r === null || r.error) throw new Error(`${op}: ${JSON.stringify(r?.error ?? "no answer")}`);
    }
  }

  // From now on on this connection, until stop().
  start(wire) {
    if (this.wire === wire) wire.unsubscribe(this.sid);
    this.wire = wire;
    this.stopped = false;
    this.sid = wire.subscribe(`_Q.${wire.name}`, (m) => this.#got(m));
    this.pulling = false;
    this.#publish();
    this.#pull();
  }
  stop() {
    this.stopped = true;
  }

  #publish() {
    const { wire, world } = this;
    if (this.stopped || wire.closed) return;
    if (this.open.size < BACKLOG)
      for (let i = world.roll(20); i >= 0; i--) {
        const uid = `q${++this.uid}`;
        this.unsure.add(uid);
        world.count.queued++;
        wire.ask(`q.${world.roll(10)}`, bodyOf(uid, world.roll(300)), null, (m) => {
          if (m === null) return;
          const a = m.status ? { error: "no responders" } : JSON.parse(m.text());
          if (a.error) return this.world.refused(`Q: ${JSON.stringify(a.error)}`);
          this.unsure.delete(uid);
          if (this.confirmed.has(a.seq)) world.find("sequence", `Q ${a.seq} is ${uid}'s and was another's`);
          else if (!this.asked.has(a.seq)) this.open.set(a.seq, uid);
        });
      }
    setTimeout(() => this.#publish(), 5);
  }

  #pull() {
    if (this.wire.closed) return;
    this.pulling = true;
    this.wire.publish("$JS.API.CONSUMER.MSG.NEXT.Q.D", JSON.stringify({ batch: 200, expires: 500e6 }), null, `_Q.${this.wire.name}`);
  }

  #got(m) {
    const { world, wire } = this;
    if (m.status) {
      // The end of a pull.  An error is asked again a little later.
      if (m.status !== 100 && !this.stopped) setTimeout(() => this.#pull(), m.status === 408 || m.status === 404 ? 1 : 50);
      else this.pulling = m.status === 100;
      return;
    }
    const { seq } = placeOf(m.reply);
    const uid = m.text().slice(0, m.text().indexOf(":"));
    if (this.confirmed.has(seq)) world.find("redelivered", `Q ${seq} ${uid}: its ack was confirmed`);
    const known = this.open.get(seq);
    if (known !== undefined && known !== uid) world.find("sequence", `Q ${seq} is ${known}'s and ${uid}'s`);
    if (known === undefined && !this.confirmed.has(seq)) this.open.set(seq, uid);
    this.unsure.delete(uid);
    const x = this.draining ? 0 : world.roll(10);
    if (x === 9) return; // it comes again after the ack wait
    if (x === 8) return wire.publish(m.reply, "-NAK");
    this.asked.add(seq);
    wire.ask(m.reply, "+ACK", null, (a) => {
      if (a === null || a.status) return;
      world.count.confirmed++;
      this.confirmed.add(seq);
      if (this.latest.push(seq) > LATEST) this.latest.shift();
      this.open.delete(seq);
    });
  }

  // After a start: what was confirmed last is done, not waiting to be delivered again some day.
  async check(wire) {
    let left = this.latest;
    for (let turn = 0; ; turn++, await pause(20)) {
      const answers = await Promise.all(left.map((seq) => wire.api("STREAM.MSG.GET.Q", { seq })));
      if (answers.includes(null)) return; // the next time
      left = left.filter((_, i) => answers[i].message);
      if (left.length === 0) return;
      if (turn === GONE_TURNS) return this.world.find("unconfirmed", `Q ${left.join(", ")}: confirmed before the start, and still there`);
    }
  }

  // All that is open comes, within `ms`; then the queue is empty.
  async drain(wire, ms) {
    this.draining = true;
    this.start(wire);
    this.stopped = true; // no new messages
    this.#pullOn();
    const end = awake() + ms;
    let left = [];
    for (;;) {
      left = [...this.open.keys()].filter((s) => !this.asked.has(s));
      if (left.length === 0) break;
      if (awake() > end) {
        const i = await wire.api("CONSUMER.INFO.Q.D");
        this.world.find("lost", `Q: ${left.length} messages never came, the first is ${left[0]} ${this.open.get(left[0])}; num_pending ${i?.num_pending}, num_ack_pending ${i?.num_ack_pending}, ack floor ${i?.ack_floor?.stream_seq}`);
        break;
      }
      await pause(20);
    }
    this.draining = false;
  }
  #pullOn() {
    if (!this.draining || this.wire.closed) return;
    this.#pull();
    setTimeout(() => this.#pullOn(), 300);
  }

  // Old confirmations are kept, they are what is checked; but not for ever.
  settle() {
    if (this.confirmed.size > 300_000) this.confirmed = new Set([...this.confirmed].slice(-100_000));
    if (this.asked.size > 300_000) this.asked = new Set([...this.asked].slice(-100_000));
  }
}
