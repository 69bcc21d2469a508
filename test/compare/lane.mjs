// lane.mjs: one history's connections, one to each server, and what came back on them.
import { AUDIT } from "./audit.mjs";
import { Normaliser } from "./normalise.mjs";
import { isSmall } from "./pair.mjs";
import { Wire } from "./wire.mjs";

const ADVISORIES = ["$JS.EVENT.ADVISORY.STREAM.>", "$JS.EVENT.ADVISORY.CONSUMER.>", "$JS.EVENT.METRIC.>"];

export class Lane {
  constructor(pair, index) {
    this.pair = pair;
    this.index = index;
    this.small = isSmall(index); // its account's limits
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
        side.hangup();
        side.wire = new Wire(() => this.#wake());
        await side.wire.open(this.pair.servers[i].port, `l${this.index}`);
        side.subscribeOwn();
        await side.wire.ping();
      }),
    );
  }

  close() {
    for (const s of this.sides ?? []) {
      s.hangup();
      s.wire.close();
    }
  }

  // One more client of each server, who may hang up.
  async client(by) {
    await Promise.all(
      this.sides.map(async (side, i) => {
        if (side.clients.has(by)) return;
        const wire = new Wire(() => this.#wake());
        side.clients.set(by, wire);
        await wire.open(this.pair.servers[i].port, `l${this.index}`);
        wire.subscribe(`_INBOX.here.${by}`, 1, () => {});
        await wire.ping();
      }),
    );
  }

  // He hangs up: waits until both servers know that nobody is there.
  async hangup(by) {
    await Promise.all(
      this.sides.map(async (side) => {
        if (!side.clients.has(by)) return;
        side.hangup(by);
        for (let gone = false; !gone; ) {
          const list = side.slot(++this.next);
          side.wire.publish(`_INBOX.here.${by}`, `_INBOX.c.${this.next}`, "", "");
          await side.wire.ping();
          gone = await this.until(() => list.length > 0, 5);
        }
      }),
    );
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
    this.hangup();
    this.listen(false);
    this.normaliser = new Normaliser();
    this.slots = new Map(); // request number -> messages
    this.subs = new Map(); // sid -> messages
    this.advisories = [];
    this.names = new Map(); // what the history calls it -> this server's name
    this.delivered = new Map(); // "stream consumer" -> reply subjects in order
    this.turn = 0; // counts the history's operations
    this.sent = new Set(); // lengths of snapshots that were restored
    this.pins = new Map(); // "stream_consumer" -> ids of those it was pinned to
    this.seen = 0;
  }

  // One of the other clients goes, or all.
  hangup(by) {
    for (const [k, wire] of this.clients ?? []) if (by === undefined || k === by) wire.close();
    if (by === undefined) this.clients = new Map();
    else this.clients.delete(by);
  }

  // Whether it listens to what is told of requests.
  listen(on) {
    if (this.asked && !on) this.wire.unsubscribe(9);
    this.audits = [];
    this.asked = on ? (this.asked ?? []) : undefined;
    if (on)
      this.wire.subscribe(AUDIT, 9, (m) => {
        this.seen++;
        this.audits.push(m);
      });
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
    if (this.asked) this.listen(true);
  }

  // Where the answers to request n go.
  slot(n) {
    const list = [];
    this.slots.set(n, list);
    return list;
  }

  // A subscription of the history's own; deliveries are remembered by consumer, for the acks.
  subscribe(subject, sid, queue, by) {
    const list = [];
    this.subs.set(sid, list);
    (this.clients.get(by) ?? this.wire).subscribe(subject, sid, (m) => {
      this.seen++;
      list.push(m);
      if (m.reply.startsWith("$JS.ACK.")) this.#remember(m, by);
    }, queue);
    return list;
  }
  unsubscribe(sid) {
    for (const wire of [this.wire, ...this.clients.values()]) wire.unsubscribe(sid);
    this.subs.delete(sid);
  }

  #remember({ reply, hdr }, by = 0) {
    const [, , stream, consumer] = reply.split(".", 4);
    const key = `${stream} ${this.normaliser.name(consumer)}`;
    let list = this.delivered.get(key);
    if (!list) this.delivered.set(key, (list = []));
    // Connections are not in step: among what came on another one it takes the place of its number.
    const number = (r) => Number(r.split(".")[6]);
    let at = list.length;
    while (at > 0 && list[at - 1].turn === this.turn && list[at - 1].by !== by && number(list[at - 1].reply) > number(reply)) at--;
    list.splice(at, 0, { reply, by, turn: this.turn });
    const pin = /^Nats-Pin-Id: (\w+)\r$/m.exec(hdr)?.[1];
    if (pin && this.pins.get(`${stream}_${consumer}`)?.[0] !== pin) this.pins.set(`${stream}_${consumer}`, [pin, ...(this.pins.get(`${stream}_${consumer}`) ?? [])]);
  }

  // In subjects and bodies %E1% stands for a name that the server chose, %pin_S_C_0% for whom consumer C is pinned to
  // (1: was before).
  fill(text) {
    if (!text.includes("%")) return text;
    return text.replace(/%(\w+)%/g, (all, as) => {
      const [, who, n] = /^pin_(\w+)_(\d)$/.exec(as) ?? [];
      return this.names.get(as) ?? this.pins.get(who)?.[n] ?? all;
    });
  }
}
