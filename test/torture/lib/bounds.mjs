// bounds.mjs: small streams whose every number is known: limits keep exactly what they say, what expired is counted by
// nobody, and what a consumer confirmed is there after the next start.  They are quiet while a server is cut.
import { awake } from "./awake.mjs";
import { placeOf } from "./readback.mjs";
import { pause } from "./server.mjs";

const MSGS = 20, DEPTH = 3, WIDE = 40000, LATE_MS = 10000;
const STREAMS = [
  { name: "BNEW", subjects: ["bnew.>"], discard: "new", max_msgs: MSGS },
  { name: "BOLD", subjects: ["bold.>"], discard: "old", max_msgs: MSGS },
  { name: "BDEEP", subjects: ["bdeep.>"], max_msgs_per_subject: DEPTH },
  { name: "BFULL", subjects: ["bfull.>"], discard: "new", discard_new_per_subject: true, max_msgs_per_subject: DEPTH },
  { name: "BDIES", subjects: ["bdies.>"], allow_msg_ttl: true },
  { name: "BACK", subjects: ["back.>"] },
  { name: "BWIDE", subjects: ["bwide.>"], max_msgs_per_subject: 2 },
  { name: "BBATCH", subjects: ["bbatch.>"], max_msgs: 5, max_msgs_per_subject: 1, allow_atomic: true },
];
const CONSUMERS = [["BDIES", "UNREAD"], ["BDIES", "UNACKED"], ["BACK", "AGAIN"], ["BACK", "DONE"]];

export class Bounds {
  constructor(world) {
    this.world = world;
    this.checks = 0;
    this.state = {}; // stream: its messages and last sequence when it was left
    this.deliveries = 0; // of the one message that is never acknowledged
    this.done = 0; // stream sequence of the last confirmed ack
  }

  async #api(op, body) {
    const r = await this.wire.api(op, body);
    if (r === null || r.error) throw new Error(`${op}: ${JSON.stringify(r?.error ?? "no answer")}`);
    return r;
  }
  async make(wire) {
    this.wire = wire;
    for (const s of STREAMS) await this.#api(`STREAM.CREATE.${s.name}`, s);
    for (const [stream, name] of CONSUMERS)
      await this.#api(`CONSUMER.DURABLE.CREATE.${stream}.${name}`, { stream_name: stream, config: { durable_name: name, ack_policy: "explicit", ack_wait: name === "AGAIN" ? 100e6 : 600e9, ...(stream === "BACK" ? { filter_subject: `back.${name}` } : {}) } });
    await this.#put(["back.AGAIN"]);
    await this.#note();
  }

  #is(what, got, expected) {
    if (got !== expected) this.world.find("bounds", `${what}: ${got}, not ${expected}`);
  }
  // One message to each subject, all under way at once: how many were accepted.
  async #put(subjects, header = null) {
    const answers = await Promise.all(subjects.map((s) => this.wire.request(s, "x", header)));
    let accepted = 0;
    for (const m of answers) {
      if (m === null) throw new Error("a message to a small stream has no answer");
      const a = m.status ? { error: { description: "no responders" } } : JSON.parse(m.text());
      if (!a.error) accepted++;
      else if (!/^maximum messages/.test(a.error.description)) this.world.find("bounds", `a message was refused: ${JSON.stringify(a.error)}`);
    }
    return accepted;
  }
  // A message that was refused comes at once, or, after a start, when its ack wait is over.
  async #pull(stream, consumer, batch) {
    const got = [];
    const sid = this.wire.subscribe(`_B.${this.wire.name}`, (m) => got.push(m));
    this.wire.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify({ batch, expires: 1e6 * LATE_MS }), null, `_B.${this.wire.name}`);
    for (const end = awake() + LATE_MS; awake() < end && got.length < batch && !got.some((m) => m.status); ) await pause(2);
    this.wire.unsubscribe(sid);
    return got.filter((m) => !m.status);
  }
  async #states() {
    return Object.fromEntries((await this.#api("STREAM.LIST")).streams.map((s) => [s.config.name, s.state]));
  }
  async #note() {
    this.state = await this.#states();
  }

  // After a start, before any load: as it was left; then all of it once more.
  async check(wire) {
    this.wire = wire;
    try {
      await this.#check();
    } catch (e) {
      for (const end = awake() + 2000; wire.closed && !this.world.server.gone && awake() < end; ) await pause(5);
      if (!this.world.server.gone) throw e; // else world.cut() tells of it
    }
  }
  async #check() {
    const now = await this.#states();
    for (const { name } of STREAMS.filter((s) => s.name !== "BDIES"))
      for (const part of ["messages", "bytes", "first_seq", "last_seq"]) this.#is(`${name} after a start: ${part}`, now[name]?.[part], this.state[name][part]);
    await this.#limits();
    await this.#subjects();
    await this.#batch();
    if (this.checks++ % 8 === 0) await this.#death();
    if (this.checks % 8 === 1) await this.#wide();
    await this.#confirmed();
  }

  async #limits() {
    const { roll } = this.world;
    const keep = 1 + roll(MSGS);
    const there = Math.min(this.state.BNEW.messages, keep);
    await this.#api("STREAM.PURGE.BNEW", { keep });
    const accepted = await this.#put(Array.from({ length: MSGS + 5 }, (_, i) => `bnew.${i}`));
    this.#is(`discard new, ${there} of ${MSGS} there: accepted`, accepted, MSGS - there);
    const more = roll(2 * MSGS);
    this.#is("discard old: accepted", await this.#put(Array.from({ length: more }, (_, i) => `bold.${i}`)), more);
    const now = await this.#states();
    this.#is("discard new, full: messages", now.BNEW.messages, MSGS);
    this.#is("discard old: messages", now.BOLD.messages, Math.min(MSGS, this.state.BOLD.messages + more));
  }

  async #subjects() {
    const { roll } = this.world;
    const subjects = ["a", "b", "c"].flatMap((s) => Array(DEPTH + roll(4)).fill(s));
    await this.#put(subjects.map((s) => `bdeep.${s}`));
    const { state } = await this.#api("STREAM.INFO.BDEEP", { subjects_filter: ">" });
    for (const s of ["a", "b", "c"]) this.#is("messages of a subject with a limit", state.subjects[`bdeep.${s}`], DEPTH);
    await this.#api("STREAM.PURGE.BFULL", { filter: "bfull.a" });
    this.#is("discard new for each subject: accepted of an empty one", await this.#put(Array(DEPTH + 3).fill("bfull.a")), DEPTH);
  }

  // A batch replaces one value again and again: no other one has to go for that.
  async #batch() {
    const { roll } = this.world;
    await this.#api("STREAM.PURGE.BBATCH");
    await this.#put(["a", "b", "c", "d"].map((s) => `bbatch.${s}`));
    const before = (await this.#states()).BBATCH;
    const [id, n] = [`bounds-${this.checks}-${roll(1e9)}`, 3 + roll(5)];
    let m;
    for (let i = 1; i <= n; i++) {
      m = await this.wire.request("bbatch.d", "x", [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${i}`, ...(i === n ? ["Nats-Batch-Commit: 1"] : [])]);
      if (m === null) throw new Error("a message of a batch has no answer");
    }
    this.#is("messages of a batch", JSON.parse(m.text()).count, n);
    const now = (await this.#states()).BBATCH;
    this.#is("messages after a batch to one of four subjects", now.messages, 4);
    this.#is("the first of them", now.first_seq, before.first_seq);
  }

  // All of a stream dies while nothing is written to it: nobody counts it any more.
  async #death() {
    await this.#put(Array.from({ length: 10 }, (_, i) => `bdies.${i}`), ["Nats-TTL: 1s"]);
    this.#is("messages pulled before they die", (await this.#pull("BDIES", "UNACKED", 10)).length, 10);
    let wrong;
    // Turns, not time: a machine that stalls stalls the server, too.
    for (let turn = 0; turn < LATE_MS / 50; turn++, await pause(50)) {
      const account = await this.#api("INFO");
      const states = await this.#states();
      const sum = Object.values(states).reduce((n, s) => n + s.bytes, 0);
      const unread = await this.#api("CONSUMER.INFO.BDIES.UNREAD"), unacked = await this.#api("CONSUMER.INFO.BDIES.UNACKED");
      wrong = states.BDIES.messages > 0 ? `${states.BDIES.messages} of 10 messages are there ten seconds after a TTL of one`
        : unread.num_pending > 0 ? `num_pending ${unread.num_pending} of a stream whose messages died`
        : unacked.num_ack_pending > 0 ? `num_ack_pending ${unacked.num_ack_pending} of messages that died`
        : account.storage !== sum ? `the account holds ${account.storage} bytes, its streams ${sum}` : null;
      if (!wrong) return;
    }
    this.world.find("bounds", wrong);
  }

  // Many subjects go while the server walks over them to see whether they keep to a lower limit.
  async #wide() {
    const config = STREAMS.find((s) => s.name === "BWIDE");
    for (let i = 1; i < WIDE; i++) this.wire.publish(`bwide.${i}`);
    await this.#put(["bwide.0"]);
    const updating = this.#api("STREAM.UPDATE.BWIDE", { ...config, max_msgs_per_subject: 1 });
    await pause(this.world.roll(5));
    const [, { purged }] = await Promise.all([updating, this.#api("STREAM.PURGE.BWIDE")]);
    this.#is("purged of many subjects", purged, WIDE);
    await this.#api("STREAM.UPDATE.BWIDE", config);
    this.#is("messages after a purge of many subjects", (await this.#states()).BWIDE.messages, 0);
  }

  // Deliveries go on being counted; what was confirmed is done.
  async #confirmed() {
    const info = await this.#api("CONSUMER.INFO.BACK.DONE");
    if (this.done) this.#is("the floor of confirmed acks after a start", info.ack_floor.stream_seq, this.done);
    const [again] = await this.#pull("BACK", "AGAIN", 1);
    if (!again) return this.world.find("bounds", "a message that was never acknowledged did not come again");
    const count = placeOf(again.reply).deliveries;
    this.#is("deliveries of a message that is never acknowledged", count, this.deliveries + 1);
    this.deliveries = count;
    await this.wire.request(again.reply, "-NAK");
    await this.#put(["back.DONE"]);
    await this.#note();
    const [m] = await this.#pull("BACK", "DONE", 1);
    if (!m) return this.world.find("bounds", "a new message was not delivered");
    const a = await this.wire.request(m.reply, "+ACK"); // the last of all: the next cut may come at once
    if (a !== null && !a.status) this.done = placeOf(m.reply).seq;
  }
}
