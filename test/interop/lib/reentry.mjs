// reentry.mjs: random traffic whose answers, copies and deliveries are requests themselves: replies, republish
// destinations, deliver subjects and snapshots aim at the API and at streams.  Every choice comes from the dice.
import { createHash } from "node:crypto";
import { connect as dial, headers } from "@nats-io/transport-node";
import "./patience.mjs";
import { LIMIT_MS } from "./wait.mjs";

const STREAMS = ["FS", "MS", "FP", "MP", "CS", "WS"]; // file or memory, s2 or plain; a counter; a work queue
const CONSUMERS = ["pull", "push"];
const COPIES = ["STREAM.MSG.GET", "STREAM.MSG.GET", "DIRECT.GET", "STREAM.INFO", "STREAM.PURGE", "STREAM.UPDATE", "STREAM.MSG.DELETE", "CONSUMER.MSG.NEXT", "CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.LIST", "STREAM.SNAPSHOT"]
  .map((op) => `$JS.API.${op}.>`)
  .concat("copies.>");

// Each stored message says what it is, so that whoever gets it can tell whether it is whole.
const sum = (text) => `${text.length}:${createHash("md5").update(text).digest("hex")}`;

// On a connection of its own.
export async function connect(port, roll) {
  return new Storm(await dial({ servers: `127.0.0.1:${port}`, reconnect: false, timeout: LIMIT_MS }), roll);
}

export class Storm {
  // bad: what must not have happened, as texts.
  constructor(nc, roll) {
    Object.assign(this, { nc, roll, bad: [], seen: 0, steps: 0, home: STREAMS[0] });
    const look = (_, m) => this.#look(m);
    for (const subject of [">", "$JS.API.>", "$JS.API.STREAM.MSG.GET.*", "$JS.API.STREAM.MSG.GET.FS"]) nc.subscribe(subject, { callback: look });
  }

  #look(m) {
    const told = m?.headers?.get("Sum");
    if (!told || m.headers.has("Nats-Msg-Size")) return;
    this.seen++;
    const text = m.string();
    if (sum(text) !== told) this.bad.push(`${m.subject}: ${told}, but ${JSON.stringify(text.slice(0, 60))} of ${text.length}`);
  }

  one(list) {
    return list[this.roll(list.length)];
  }
  // Mostly the one this part of the history is about, so that its traffic meets itself.
  stream() {
    return this.roll(4) ? this.home : this.one(STREAMS);
  }
  // Behind the prefix stands what makes a request of it where the stream republishes to the API.
  subject(s) {
    return `${s.toLowerCase()}.${this.one([s, s, this.stream(), `${s}.pull`])}`;
  }

  config(name) {
    return {
      name,
      subjects: [`${name.toLowerCase()}.>`],
      storage: name[0] === "M" ? "memory" : "file",
      compression: name[1] === "S" ? "s2" : "none",
      retention: name === "WS" ? "workqueue" : "limits",
      max_msgs: 300,
      max_msgs_per_subject: this.one([-1, -1, 5]),
      allow_direct: true,
      allow_atomic: name !== "CS",
      allow_msg_counter: name === "CS",
      allow_rollup_hdrs: name !== "CS",
      ...(this.roll(3) ? { republish: { src: `${name.toLowerCase()}.>`, dest: this.one(COPIES) } } : {}),
    };
  }

  consumer(name) {
    const push = name === "push" ? { deliver_subject: this.one([() => this.api(), () => "to"])(), flow_control: true, idle_heartbeat: 1e9 } : {};
    return { name, durable_name: name, ack_policy: "explicit", ack_wait: 1e9, max_deliver: 3, filter_subject: undefined, ...push };
  }

  // A subject of the API.
  api() {
    const s = this.stream();
    const c = this.one(CONSUMERS);
    const ops = [
      ...Array(12).fill(`STREAM.MSG.GET.${s}`), `DIRECT.GET.${s}`, `DIRECT.GET.${s}`, `DIRECT.GET.${s}.${this.subject(s)}`,
      `STREAM.INFO.${s}`, `STREAM.PURGE.${s}`, `STREAM.UPDATE.${s}`, `STREAM.CREATE.${s}`, `STREAM.MSG.DELETE.${s}`, "STREAM.NAMES", "STREAM.LIST",
      `CONSUMER.CREATE.${s}.${c}`, `CONSUMER.INFO.${s}.${c}`, `CONSUMER.DELETE.${s}.${c}`, `CONSUMER.MSG.NEXT.${s}.${c}`, `CONSUMER.LIST.${s}`,
      `CONSUMER.NAMES.${s}`, `CONSUMER.PAUSE.${s}.${c}`, `CONSUMER.RESET.${s}.${c}`, `CONSUMER.UNPIN.${s}.${c}`, "INFO", `STREAM.SNAPSHOT.${s}`, `STREAM.RESTORE.${s}`,
    ];
    return `$JS.API.${this.roll(40) ? this.one(ops) : `STREAM.DELETE.${s}`}`;
  }
  // Where an answer may go to.
  target() {
    return this.one([() => this.api(), () => this.api(), () => this.api(), () => this.subject(this.stream()), () => "answers", () => "$JS.ACK.FS.pull.1.1.1.1.0"])();
  }

  // A body that some request understands; blanks make it worth compressing.
  body() {
    const s = this.stream();
    const next = () => ({ seq: 1 + this.roll(100), next_by_subj: ">" });
    const what = this.one([
      ...Array(8).fill(next),
      () => ({ seq: 1 + this.roll(50) }),
      () => ({ last_by_subj: this.subject(s) }),
      () => ({ next_by_subj: ">", seq: this.roll(20), batch: this.roll(10) }),
      () => ({ multi_last: [`${s.toLowerCase()}.>`] }),
      () => ({ filter: this.subject(s), keep: this.roll(3) }),
      () => ({ batch: 1 + this.roll(10), no_wait: true }),
      () => ({ deliver_subject: this.target(), chunk_size: 1024 + this.roll(4096), no_consumers: !this.roll(2) }),
      () => ({ stream_name: s, config: this.consumer(this.one(CONSUMERS)) }),
      () => this.config(s),
      () => ({}),
    ])();
    return JSON.stringify(what).padEnd(this.one([0, 0, 300, 3000, 40_000]));
  }

  publish() {
    const s = this.stream();
    const text = this.body();
    const h = headers();
    h.set("Sum", sum(text));
    if (s === "CS") h.set("Nats-Incr", "1".padEnd(this.one([1, 400, 900]), "0"));
    if (s === "CS") h.delete("Sum");
    if (!this.roll(10)) h.set("Nats-Rollup", "sub");
    if (!this.roll(5)) h.set("Nats-Msg-Id", `${this.roll(5)}`);
    if (!this.roll(8)) {
      h.set("Nats-Batch-Id", "b");
      h.set("Nats-Batch-Sequence", `${1 + this.roll(3)}`);
      if (!this.roll(3)) h.set("Nats-Batch-Commit", "1");
    }
    this.nc.publish(this.subject(s), s === "CS" ? "" : text, { headers: h, reply: this.roll(4) ? this.target() : undefined });
  }

  ask() {
    this.nc.publish(this.api(), this.body(), { reply: this.target() });
  }
  read() {
    this.nc.publish(`$JS.API.${this.one(["DIRECT.GET", "STREAM.MSG.GET"])}.${this.stream()}`, this.body(), { reply: this.target() });
  }
  pull() {
    this.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.stream()}.pull`, JSON.stringify({ batch: 1 + this.roll(10), expires: 1e9 }), { reply: this.target() });
  }
  listen() {
    const s = this.stream();
    const c = this.one(CONSUMERS);
    this.nc.publish(`$JS.API.CONSUMER.CREATE.${s}.${c}`, JSON.stringify({ stream_name: s, config: this.consumer(c) }), { reply: this.target() });
  }
  change() {
    const s = this.stream();
    this.nc.publish(`$JS.API.STREAM.${this.one(["UPDATE", "CREATE"])}.${s}`, JSON.stringify(this.config(s)), { reply: this.target() });
  }
  save() {
    this.nc.publish(`$JS.API.STREAM.SNAPSHOT.${this.stream()}`, JSON.stringify({ deliver_subject: this.target(), chunk_size: 1024, window_size: 1 << 20 }), { reply: this.target() });
  }

  // What was deleted is made anew, and has something to read; the others stay as they are.
  begin() {
    this.home = this.one(STREAMS);
    for (const s of STREAMS) this.nc.publish(`$JS.API.STREAM.CREATE.${s}`, JSON.stringify(this.config(s)));
    for (let i = 0; i < 5; i++) this.publish();
  }

  // All of it, `steps` of them, some in flight at a time; throws when the server does not answer any more.
  async run(steps) {
    const kinds = ["publish", "publish", "publish", "publish", "ask", "read", "read", "read", "pull", "listen", "change", "save"];
    for (let i = 0; i < steps; i++) {
      if (i % 50 === 0) this.begin();
      this[this.one(kinds)]();
      this.steps++;
      if (i % 20 === 19) await this.nc.flush();
    }
    await this.nc.request("$JS.API.STREAM.LIST", "", { timeout: LIMIT_MS });
  }
}
