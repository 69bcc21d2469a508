// comings.mjs: streams that come and go beside the load: what was answered for is there after the next start, what was
// deleted is not.
import { pause } from "./server.mjs";

let made = 0;

export class Comings {
  constructor(world) {
    this.world = world;
    this.list = new Map(); // name: { state: "making" | "there" | "going" | "gone", messages, consumer }
    this.created = this.deleted = 0;
  }

  // Until the connection ends, or stop().
  async run(wire, { quiet = 0 } = {}) {
    const { roll } = this.world;
    this.stopped = false;
    while (!this.stopped && !wire.closed) {
      const live = [...this.list].filter(([, s]) => s.state === "there");
      if (live.length > 5 || (live.length > 0 && roll(3) === 0)) await this.#delete(wire, ...live[roll(live.length)]);
      else await this.#create(wire);
      if (quiet) await pause(roll(quiet));
    }
  }
  stop() {
    this.stopped = true;
  }

  // What an answer says, or null: the connection ended or it was refused, and nobody knows.
  async #ask(wire, op, body) {
    const r = await wire.api(op, body);
    if (r?.error) this.world.refused(`${op}: ${r.error.description}`);
    return r === null || r.error ? null : r;
  }
  async #create(wire) {
    const name = `COME${++made}`;
    const s = { state: "making", messages: 0, consumer: false };
    this.list.set(name, s);
    if (!(await this.#ask(wire, `STREAM.CREATE.${name}`, { name, subjects: [`come${made}.>`], description: `the ${made}th` }))) return;
    s.state = "there";
    s.subject = `come${made}.x`;
    this.created++;
    if (this.world.roll(2)) {
      const m = await wire.request(s.subject, "x");
      if (m !== null && !m.status && /"seq":1\b/.test(m.text())) s.messages = 1;
    }
    if (this.world.roll(3) === 0) s.consumer = !!(await this.#ask(wire, `CONSUMER.DURABLE.CREATE.${name}.D`, { stream_name: name, config: { durable_name: "D", ack_policy: "explicit" } }));
  }
  async #delete(wire, name, s) {
    s.state = "going";
    if (!(await this.#ask(wire, `STREAM.DELETE.${name}`, ""))) return;
    s.state = "gone";
    this.deleted++;
  }

  // After a start: what must be there is, what must not is not; then what was unsure is sure.
  async check(wire) {
    for (const [name, s] of this.list) {
      const r = await wire.api(`STREAM.INFO.${name}`);
      if (r === null) return; // the next time
      const there = !r.error;
      if (s.state === "there" && !there) this.world.find("stream-lost", `${name} was answered for: ${JSON.stringify(r.error)}`);
      if (s.state === "gone" && there) this.world.find("stream-revived", `${name}: its deletion was answered`);
      if (there && s.state === "there") {
        if (r.state.messages < s.messages) this.world.find("lost", `${name} holds ${r.state.messages} messages, ${s.messages} were acknowledged`);
        if (s.consumer && r.state.consumer_count !== 1) this.world.find("consumer-lost", `${name} has ${r.state.consumer_count} consumers, one was answered for`);
      }
      if (there) s.state = "there";
      else this.list.delete(name);
    }
  }

  summary() {
    return `${this.created} streams made, ${this.deleted} deleted`;
  }
}
