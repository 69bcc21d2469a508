// lane.mjs: one history's connections, one to each server, and what came back on them.
import { Normaliser } from "./normalise.mjs";
import { Wire } from "./wire.mjs";

const ADVISORIES = ["$JS.EVENT.ADVISORY.STREAM.>", "$JS.EVENT.ADVISORY.CONSUMER.>", "$JS.EVENT.METRIC.>"];

export class Lane {
  constructor(pair, index) {
    this.pair = pair;
    this.index = index;
    this.next = 0; // request numbers are never used again: a late answer belongs to nobody
    this.waiters = new Set();
  }

  async open() {
    this.sides = await Promise.all(this.pair.servers.map((s, i) => this.#side(s, i)));
    return this;
  }

  async #side(server, i) {
    const side = new Side(i, () => this.#wake());
    await side.wire.open(server.port, `l${this.index}`);
    side.subscribeOwn();
    await side.wire.ping();
    return side;
  }

  // After a restart of the servers: new sockets, the same memory.
  async reopen() {
    await Promise.all(
      this.sides.map(async (side, i) => {
        side.wire.close();
        side.wire = new Wire(() => this.#wake());
        await side.wire.open(this.pair.servers[i].port, `l${this.index}`);
        side.subscribeOwn();
        await side.wire.ping();
      }),
    );
  }

  close() {
    for (const s of this.sides ?? []) s.wire.close();
  }

  // A fresh history: nothing is remembered.
  begin() {
    for (const s of this.sides) s.begin();
  }

  #wake() {
    for (const w of this.waiters) w();
  }

  // Waits for test() or the deadline; says whether it came true.
  until(test, ms) {
    if (test()) return true;
    return new Promise((ok) => {
      const look = () => {
        if (!test()) return;
        clearTimeout(timer);
        this.waiters.delete(look);
        ok(true);
      };
      const timer = setTimeout(() => {
        this.waiters.delete(look);
        ok(test());
      }, ms);
      this.waiters.add(look);
    });
  }

  // Waits until nothing came in for `ms`.
  async quiet(ms) {
    for (;;) {
      const n = this.sides[0].seen + this.sides[1].seen;
      const more = await this.until(() => this.sides[0].seen + this.sides[1].seen !== n, ms);
      if (!more) return;
    }
  }
}

// One server as this history sees it.
class Side {
  constructor(index, wake) {
    this.index = index;
    this.wire = new Wire(wake);
    this.begin();
  }

  begin() {
    for (const sid of this.subs?.keys() ?? []) this.wire.unsubscribe(sid);
    this.normaliser = new Normaliser();
    this.slots = new Map(); // request number -> messages
    this.subs = new Map(); // sid -> messages
    this.advisories = [];
    this.names = new Map(); // what the history calls it -> this server's name
    this.delivered = new Map(); // "stream consumer" -> reply subjects in order
    this.seen = 0;
  }

  subscribeOwn() {
    this.wire.subscribe("_INBOX.c.>", 1, (m) => {
      this.seen++;
      this.slots.get(Number(m.subject.split(".", 3)[2]))?.push(m);
    });
    for (const [i, subject] of ADVISORIES.entries())
      this.wire.subscribe(subject, 2 + i, (m) => {
        if (/\.JS_(MIRROR|SRC)_/.test(m.subject)) return; // what copies read with: docs/deviations.md
        this.seen++;
        this.advisories.push(m);
      });
  }

  // Where the answers to request n go.
  slot(n) {
    const list = [];
    this.slots.set(n, list);
    return list;
  }

  // A subscription of the history's own; deliveries are remembered by consumer, for the acks.
  subscribe(subject, sid, queue) {
    const list = [];
    this.subs.set(sid, list);
    this.wire.subscribe(subject, sid, (m) => {
      this.seen++;
      list.push(m);
      if (m.reply.startsWith("$JS.ACK.")) this.#remember(m.reply);
    }, queue);
    return list;
  }
  unsubscribe(sid) {
    this.wire.unsubscribe(sid);
    this.subs.delete(sid);
  }

  #remember(reply) {
    const [, , stream, consumer] = reply.split(".", 4);
    const key = `${stream} ${this.normaliser.name(consumer)}`;
    let list = this.delivered.get(key);
    if (!list) this.delivered.set(key, (list = []));
    list.push(reply);
  }

  // %E1% in subjects and bodies stands for a name that the server chose.
  fill(text) {
    return text.includes("%") ? text.replace(/%(\w+)%/g, (all, as) => this.names.get(as) ?? all) : text;
  }
}
