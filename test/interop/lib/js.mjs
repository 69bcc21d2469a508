// js.mjs: scenarios about streams.  The checks of one file share a server and run side by side, each on
// streams of its own, because most of them wait for a message's last second.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Scene, collect, scenario, scenarios } from "./scenario.mjs";
import { isMayfly } from "./server.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

export const SECOND = 1_000_000_000; // the API counts nanoseconds
export const jetstreamBlock = (more = "") => `jetstream { store_dir: "DIR/js", ${more} }\n`;

// group(OPTIONS) returns check(NAME, [OPTIONS], FN): a scenario on the file's common server.
//   only: "mayfly"   mayflyd alone: nats-server has a bug there that is not worth waiting for
//   only: "nats-server"   asks for what mayflyd learns later
//   strict: true     on mayflyd a second time under `compat: strict`, where FN sees c.strict
export function group({ config = "", block = "" } = {}) {
  const ours = new Party(config + jetstreamBlock(block));
  const strict = new Party(config + jetstreamBlock(`${block}${block && ","} compat: strict`));
  return (name, options, fn) => {
    if (typeof options === "function") [options, fn] = [{}, options];
    if (options.only === "mayfly" && !isMayfly) return;
    if (options.only === "nats-server" && isMayfly) return;
    ours.add(name, fn, !isMayfly);
    if (options.strict && isMayfly) strict.add(`${name} (compat: strict)`, fn, true);
  };
}

// The first scenario that is run starts all of them; each then tells its own result.
class Party {
  constructor(config) {
    this.config = config;
    this.members = [];
  }

  add(name, fn, strict) {
    const m = { fn, strict, id: `S${this.members.length + 1}` };
    this.members.push(m);
    scenario(name, () => {
      if (m.told) return this.again(m);
      m.told = true;
      this.running ??= this.run();
      return m.result;
    });
    m.scenario = scenarios.at(-1);
  }

  async #start(scene) {
    const s = await scene.server({ config: this.config });
    const nc = await scene.connect(s);
    return { s, nc, jsm: await jetstreamManager(nc, { timeout: LIMIT_MS }) };
  }

  // One that failed (run.mjs, TRIES), alone on a server of its own.
  async again(m) {
    const scene = new Scene();
    try {
      await m.fn(new Check(m, scene, await this.#start(scene)));
    } finally {
      await scene.end();
    }
  }

  async run() {
    const wanted = new RegExp(process.argv[2] ?? ".", "i");
    const scene = new Scene();
    const started = this.#start(scene);
    const chosen = this.members.filter((m) => wanted.test(m.scenario.name));
    for (const m of chosen) {
      m.result = started.then((with_) => new Check(m, scene, with_)).then((c) => m.fn(c));
      m.result.catch(() => {}); // it is looked at when its turn comes
    }
    // Whoever ends last also ends the server: a bad exit or a sanitizer's report is that one's failure.
    const done = Promise.allSettled(chosen.map((m) => m.result)).then(() => scene.end());
    done.catch(() => {});
    const last = chosen.at(-1);
    last.result = last.result.finally(() => done);
    last.result.catch(() => {});
  }
}

// One stream (or more) on the common server.
// The document, or an error that shows the place of the mistake.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (e) {
    const at = Number(/position (\d+)/.exec(e.message)?.[1] ?? text.length);
    throw new Error(`${e.message}: ...${text.slice(Math.max(0, at - 300), at)} HERE ${text.slice(at, at + 100)}`);
  }
}

export class Check {
  constructor({ id, strict }, scene, { s, nc, jsm }) {
    this.id = id; // name of the stream
    this.prefix = id.toLowerCase();
    this.strict = strict; // 2.15.1's answers are due, not Mayfly's own
    this.t = scene;
    this.s = s;
    this.nc = nc;
    this.jsm = jsm;
    this.js = jetstream(nc, { timeout: LIMIT_MS });
    this.children = 0;
  }

  // The same on another stream.
  another() {
    return new Check({ id: `${this.id}_${++this.children}`, strict: this.strict }, this.t, this);
  }

  // Names are relative to the stream's own subjects, but for those of KV buckets.
  subject(name) {
    return name.startsWith("$KV.") ? name : `${this.prefix}.${name}`;
  }

  async api(op, body = "", hdr) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const m = await this.nc.request(`$JS.API.${op}`, text, { timeout: LIMIT_MS, headers: asHeaders(hdr) });
    return parsed(m.string());
  }

  config(over = {}) {
    return { name: this.id, subjects: [`${this.prefix}.>`], allow_direct: true, ...over };
  }
  async create(over) {
    const r = await this.api(`STREAM.CREATE.${this.id}`, this.config(this.#watched(over)));
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    return r;
  }
  async update(over) {
    const r = await this.api(`STREAM.UPDATE.${this.id}`, this.config(this.#watched(over)));
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    return r;
  }
  // A marker that lives a second or so is republished: a poll may come too late to see it.
  #watched(over = {}) {
    if (!(over.subject_delete_marker_ttl <= 5 * SECOND) || over.republish || over.mirror) return over;
    this.seen ??= collect(this.nc, `seen.${this.id}.>`);
    return { ...over, republish: { src: ">", dest: `seen.${this.id}.>` } };
  }
  #told(name) {
    const m = this.seen.findLast((x) => x.headers.get("Nats-Subject") === this.subject(name));
    if (!m) return undefined;
    const place = ["Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Last-Sequence"];
    const lines = [...m.headers].filter(([k]) => !place.includes(k)).map(([k, v]) => `${k}: ${v}`);
    return { subject: this.subject(name), seq: Number(m.headers.get("Nats-Sequence")), hdr: block(...lines), data: m.string(), time: m.headers.get("Nats-Time-Stamp") };
  }
  // The error of a create or update that must fail.
  async refusedConfig(over, [code, err_code, description], op = "CREATE") {
    const r = await this.api(`STREAM.${op}.${this.id}`, this.config(over));
    assert.deepEqual(r.error, { code, err_code, description });
  }

  async info(body) {
    return this.api(`STREAM.INFO.${this.id}`, body);
  }
  async state(body) {
    return (await this.info(body)).state;
  }
  purge(body = "") {
    return this.api(`STREAM.PURGE.${this.id}`, body);
  }
  remove(seq, more = {}) {
    return this.api(`STREAM.MSG.DELETE.${this.id}`, { seq, ...more });
  }

  // The reply to a publish as it came, as text.
  async send(name, data = "", hdr) {
    const m = await this.nc.request(this.subject(name), data, { timeout: LIMIT_MS, headers: asHeaders(hdr) });
    return m.string();
  }
  // hdr: an object, a list of header lines, or the text of a whole block.
  async ack(name, data, hdr) {
    return JSON.parse(await this.send(name, data, hdr));
  }
  // A publish that must succeed: its sequence.
  async pub(name, data, hdr) {
    const a = await this.ack(name, data, hdr);
    assert.equal(a.error, undefined, `${name}: ${JSON.stringify(a.error)}`);
    return a.seq;
  }
  async refused(name, [code, err_code, description], data, hdr) {
    const text = await this.send(name, data, hdr);
    const error = { code, err_code, description };
    assert.deepEqual(JSON.parse(text), { error, stream: this.id, seq: 0 }, `${name} ${JSON.stringify(hdr)}`);
  }

  // { subject, seq, hdr, data, time } or undefined, by MSG.GET.
  async get(query) {
    const body = typeof query === "number" ? { seq: query } : query;
    const r = await this.api(`STREAM.MSG.GET.${this.id}`, body);
    if (r.error) {
      assert.equal(r.error.err_code, 10037, JSON.stringify(r.error));
      return undefined;
    }
    const text = (b64) => Buffer.from(b64 ?? "", "base64").toString("latin1");
    return { ...r.message, hdr: text(r.message.hdrs), data: text(r.message.data) };
  }
  last(name) {
    return this.get({ last_by_subj: this.subject(name) });
  }
  // The same by DIRECT.GET: { status, headers, data }.
  async direct(body) {
    const [tail, text] = typeof body === "string" ? [`.${this.subject(body)}`, ""] : ["", JSON.stringify(body)];
    const m = await this.nc.request(`$JS.API.DIRECT.GET.${this.id}${tail}`, text, { timeout: LIMIT_MS });
    return { status: m.headers?.code, headers: m.headers, data: m.string() };
  }

  // Waits for a sequence to be unreadable.
  gone(seq) {
    return until(`${this.id} to lose ${seq}`, async () => !(await this.get(seq)));
  }
  // Waits for the marker of a subject.
  marker(name) {
    return until(`a marker on ${name}`, async () => {
      const m = this.seen ? this.#told(name) : await this.last(name);
      return /\r\nNats-Marker-Reason: \S/.test(m?.hdr) && m;
    });
  }
  // Waits until nothing of the stream is left and says which sequences it used.
  empty() {
    return until(`${this.id} to be empty`, async () => {
      const st = await this.state();
      return st.messages === 0 && st;
    });
  }
}

// The bytes of a snapshot, in nats-server's own format, and the config and state that came with it.
export async function snapshot(c) {
  const chunks = [];
  const inbox = `snap.${c.id}`;
  let end;
  const ended = new Promise((ok) => (end = ok));
  const sub = c.nc.subscribe(inbox, {
    callback: (_, m) => {
      if (m.data.length === 0) return end(m.headers?.code ?? 204);
      chunks.push(m.data);
      if (m.reply) m.respond();
    },
  });
  const r = await c.api(`STREAM.SNAPSHOT.${c.id}`, { deliver_subject: inbox, no_consumers: true });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal(await ended, 204);
  sub.unsubscribe();
  return { config: r.config, state: r.state, bytes: Buffer.concat(chunks) };
}
// Restores it: the answer to the last chunk.
export async function restore(c, { config, state, bytes }) {
  const r = await c.api(`STREAM.RESTORE.${config.name}`, { config, state });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  for (let i = 0; i < bytes.length; i += 65536)
    await c.nc.request(r.deliver_subject, bytes.subarray(i, i + 65536), { timeout: LIMIT_MS });
  return (await c.nc.request(r.deliver_subject, "", { timeout: LIMIT_MS })).json();
}

// A scenario with a server of its own, which it may stop, kill and start again.
export async function ownServer(t, { config = "", block = "" } = {}) {
  const s = await t.server({ config: config + jetstreamBlock(block) });
  return { s, ...(await onServer(t, s)) };
}
// Connects (again) to a server: { nc, stream(NAME) }.
export async function onServer(t, s, options) {
  const nc = await t.connect(s, options);
  const jsm = await jetstreamManager(nc, { timeout: LIMIT_MS });
  return { nc, jsm, stream: (id) => new Check({ id, strict: !isMayfly }, t, { s, nc, jsm }) };
}

export const block = (...lines) => `NATS/1.0\r\n${lines.map((l) => `${l}\r\n`).join("")}\r\n`;

// nats.js sends whatever encode() returns, so a block may hold what its own headers refuse.
function asHeaders(hdr) {
  if (hdr === undefined) return undefined;
  if (typeof hdr === "string") return { encode: () => Buffer.from(hdr, "latin1") };
  if (Array.isArray(hdr)) return asHeaders(block(...hdr));
  const h = headers();
  for (const [k, v] of Object.entries(hdr)) h.set(k, String(v));
  return h;
}

export const markerBlock = (reason, ttl, ...more) =>
  block(`Nats-Marker-Reason: ${reason}`, `Nats-TTL: ${ttl}`, "Nats-Rollup: sub", ...more);

// The moment of a message, in milliseconds.
export const at = (m) => Date.parse(m.time);
