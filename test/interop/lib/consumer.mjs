// consumer.mjs: consumers by raw requests, and what their subscribers received.
import assert from "node:assert/strict";
import { createInbox } from "@nats-io/transport-node";
import { LIMIT_MS, until } from "./wait.mjs";

export const MS = 1_000_000; // the API counts nanoseconds

// Creates a consumer, durable C with explicit acks unless told otherwise; its info.
export async function add(c, config = {}, more = {}) {
  const r = await tryAdd(c, config, more);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return r;
}
// The same, but errors are answers too.
export function tryAdd(c, config = {}, more = {}) {
  const full = { ack_policy: "explicit", ...(config.name ? {} : { durable_name: "C" }), ...config };
  const name = full.durable_name ?? full.name;
  return c.api(`CONSUMER.CREATE.${c.id}.${name}`, { stream_name: c.id, config: full, ...more });
}
export const look = (c, name = "C") => c.api(`CONSUMER.INFO.${c.id}.${name}`);
export const drop = (c, name = "C") => c.api(`CONSUMER.DELETE.${c.id}.${name}`);

// Where a consumer is, each pair as consumer sequence and stream sequence.
export async function place(c, name = "C") {
  const i = await look(c, name);
  assert.equal(i.error, undefined, JSON.stringify(i.error));
  const pair = (p) => `${p.consumer_seq}/${p.stream_seq}`;
  return { delivered: pair(i.delivered), floor: pair(i.ack_floor), unacked: i.num_ack_pending, again: i.num_redelivered, pending: i.num_pending };
}
// Waits until it is there: acks and deaths take effect a moment after they were sent.
export async function placed(c, expected, name = "C") {
  let got;
  const same = () => Object.entries(expected).every(([k, v]) => got[k] === v);
  try {
    await until("the place", async () => ((got = await place(c, name)), same()));
  } catch {
    assert.deepEqual(got, { ...got, ...expected });
  }
  return got;
}

// What one subscription received, in order: messages of the stream and statuses.
export class Inbox {
  constructor(c, { subject = createInbox(), queue, nc = c.nc } = {}) {
    this.c = c;
    this.nc = nc;
    this.subject = subject;
    this.all = [];
    this.read = 0;
    this.sub = nc.subscribe(subject, { queue, callback: (_, m) => this.all.push(parse(m)) });
  }
  // The next one that nobody looked at yet.
  async next() {
    await until(`message ${this.read + 1} on ${this.subject}`, () => this.all.length > this.read);
    return this.all[this.read++];
  }
  // The next N, all of them messages.
  async messages(n) {
    const got = [];
    while (got.length < n) {
      const m = await this.next();
      assert.equal(m.status, undefined, `${m.status} instead of message ${got.length + 1} of ${n}`);
      got.push(m);
    }
    return got;
  }
  async seqs(n) {
    return (await this.messages(n)).map((m) => m.seq);
  }
  // The next one is a status with this line.
  async status(line) {
    const m = await this.next();
    assert.equal(m.status ?? `message ${m.seq}`, line);
    return m;
  }
  // The next one that is not a heartbeat.
  async beyond() {
    for (;;) {
      const m = await this.next();
      if (!m.status?.startsWith("100 ")) return m;
    }
  }
  get unread() {
    return this.all.slice(this.read);
  }
  stop() {
    this.sub.unsubscribe();
  }
}

// A message: { subject, seq, cseq, count, pending, time, data, headers, reply }; a status: { status, headers }.
export function parse(m) {
  const got = { subject: m.subject, data: m.string(), headers: m.headers, reply: m.reply, raw: m, at: Date.now() };
  if (m.headers?.code) got.status = `${m.headers.code} ${m.headers.description}`;
  const t = m.reply?.split(".") ?? [];
  if (t[1] === "ACK") {
    assert.equal(t.length, 9, m.reply);
    [got.stream, got.consumer] = [t[2], t[3]];
    [got.count, got.seq, got.cseq] = t.slice(4, 7).map(Number);
    got.time = BigInt(t[7]);
    got.pending = Number(t[8]);
  }
  return got;
}

// A pull request; body: object, number or text.  hdr: headers of nats.js.
export function pull(c, body = "", { name = "C", inbox = new Inbox(c), hdr } = {}) {
  const text = typeof body === "object" ? JSON.stringify(body) : String(body);
  inbox.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${c.id}.${name}`, text, { reply: inbox.subject, headers: hdr });
  return inbox;
}
// Messages that are there already, N of them.
export async function fetch(c, n, name = "C") {
  const inbox = pull(c, { batch: n, expires: 60_000 * MS }, { name });
  const got = await inbox.messages(n);
  inbox.stop();
  return got;
}
// Nothing is there to deliver.
export async function nothing(c, name = "C") {
  const inbox = pull(c, { batch: 1, no_wait: true }, { name });
  await inbox.status("404 No Messages");
  inbox.stop();
}

// An ack that the server confirms.
export async function settle(c, m, payload = "+ACK") {
  const r = await c.nc.request(m.reply ?? m, payload, { timeout: LIMIT_MS });
  assert.equal(r.data.length, 0);
  assert.equal(r.headers, undefined);
}

// Advisories about one consumer, as JSON.
export function advisories(c, name = "C") {
  const got = [];
  c.nc.subscribe(`$JS.EVENT.ADVISORY.CONSUMER.*.${c.id}.${name}`, { callback: (_, m) => got.push({ what: m.subject.split(".")[4], ...m.json() }) });
  got.of = (what) => until(`advisory ${what}`, () => got.find((a) => a.what === what));
  return got;
}

// Fills a stream: N messages named by turns.
export async function fill(c, n, names = ["a"], data = (i) => `m${i}`) {
  const all = [];
  for (let i = 1; i <= n; i++) all.push(c.pub(names[(i - 1) % names.length], data(i)));
  return Promise.all(all);
}
