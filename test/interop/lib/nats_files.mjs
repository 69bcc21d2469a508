// nats_files.mjs: stores of a nats-server that was filled and ended, what that server said of them, and `mayfly import`.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInbox, headers } from "@nats-io/transport-node";
import { JS, api, contents, ready } from "./backup.mjs";
import { collect, scenario } from "./scenario.mjs";
import { isMayfly } from "./server.mjs";
import { mayfly } from "./tool.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

const cache = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache"), "mayfly");
export const program = process.env.NATS_SERVER ?? path.join(cache, "nats-server/usr/sbin/nats-server");
export const HOUR = 3600e9;
// The tool and mayflyd under test, a nats-server beside them.
export const check = (name, fn) => isMayfly && scenario(name, fn);

// --- filling -----------------------------------------------------------------------------------------------

export async function publish(nc, subject, data = "", hdr = {}) {
  const h = headers();
  for (const [k, v] of Object.entries(hdr)) h.set(k, v);
  const ack = (await nc.request(subject, data, { headers: h, timeout: LIMIT_MS })).json();
  assert.equal(ack.error, undefined, `${subject}: ${JSON.stringify(ack.error)}`);
  return ack;
}
export const create = (nc, config) => api(nc, `STREAM.CREATE.${config.name}`, config);
export function consumer(nc, stream, name, config = {}) {
  const full = { name, ack_policy: "explicit", ack_wait: HOUR, ...config };
  return api(nc, `CONSUMER.CREATE.${stream}.${name}`, { stream_name: stream, config: full });
}
export const durable = (nc, stream, name, config = {}) => consumer(nc, stream, name, { durable_name: name, ...config });
export async function fetch(nc, stream, name, n, more = {}) {
  const got = collect(nc, createInbox());
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify({ batch: n, expires: 30e9, ...more }), { reply: got.sub.getSubject() });
  await until(`${n} messages of ${name}`, () => got.length >= n);
  got.sub.unsubscribe();
  return got;
}
export const settle = (nc, m, body = "+ACK") => nc.request(m.reply, body, { timeout: LIMIT_MS });

// --- what a server says ------------------------------------------------------------------------------------

const OWN = /^_nats\./; // metadata of the server, not of the user
function plain(config) {
  const c = structuredClone(config);
  for (const k of Object.keys(c.metadata ?? {})) if (OWN.test(k)) delete c.metadata[k];
  if (Object.keys(c.metadata ?? {}).length === 0) delete c.metadata;
  for (const [k, v] of Object.entries(c)) if (v === false) delete c[k]; // 2.10 knows fewer of them
  return c;
}
async function places(nc, stream) {
  const { consumers } = await api(nc, `CONSUMER.LIST.${stream}`);
  return consumers.map(({ name, config, delivered, ack_floor, num_ack_pending, num_redelivered, num_pending, paused }) => {
    for (const x of [delivered, ack_floor]) delete x.last_active;
    return { name, config: plain(config), delivered, ack_floor, num_ack_pending, num_redelivered, num_pending, paused };
  }).sort((a, b) => (a.name < b.name ? -1 : 1));
}
// The origin of an imported copy is a new stream: its identity is left out.
function withoutIdentity(m) {
  if (m.hdrs) m.hdrs = Buffer.from(m.hdrs, "base64").toString().replace(/(Nats-Stream-Source:( \S+){5}) \S+/, "$1");
  return m;
}
export async function describe(nc) {
  const said = {};
  for (const name of ((await api(nc, "STREAM.NAMES")).streams ?? []).sort()) {
    const { config } = await api(nc, `STREAM.INFO.${name}`);
    const all = await contents(nc, name);
    all.msgs.forEach(withoutIdentity);
    if (config.compression === "s2" || config.sources) delete all.state.bytes; // mayflyd counts the stored size
    if (all.state.last_seq === 0) for (const k of ["first_seq", "deleted", "num_deleted"]) delete all.state[k]; // nats-server: 0 is deleted
    said[name] = { config: plain(config), ...all, consumers: await places(nc, name) };
  }
  return said;
}

// --- stores ------------------------------------------------------------------------------------------------

// Names, times and contents of all files.
export function picture(dir) {
  const all = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => path.join(e.parentPath ?? e.path, e.name));
  return all.sort().map((f) => [f, fs.statSync(f).mtimeMs, createHash("sha256").update(fs.readFileSync(f)).digest("hex")]);
}
export const streamDir = (store, name, account = "$G") => path.join(store.dir, "jetstream", account, "streams", name);
// A store that fill(nc) made.  said: what that server said of it before its orderly stop; or, killed, what it says after it was
// started again, on a copy.
export async function made(t, fill, { kill = false, damage, server: nats = program, config = JS.config, user } = {}) {
  assert.ok(fs.existsSync(nats), `${nats} is missing: ./dev deps fetches it`);
  const server = await t.server({ config, program: nats });
  const nc = await t.connect(server, user);
  await fill(nc, server);
  let said = kill ? undefined : await describe(nc);
  await nc.close();
  if (kill) await server.kill();
  else await server.stop("SIGINT");
  if (damage) damage(server);
  if (kill) {
    const copy = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-"));
    t.after(() => fs.rmSync(copy, { recursive: true, force: true }));
    fs.cpSync(server.dir, copy, { recursive: true, preserveTimestamps: true });
    const again = await t.server({ config, program: nats, dir: copy });
    const asked = await t.connect(again, user);
    said = await describe(asked);
    await asked.close();
    await again.stop("SIGINT");
  }
  return { dir: server.dir, said };
}

// --- importing ---------------------------------------------------------------------------------------------

// Runs `mayfly import` on a new mayflyd; the originals must be untouched.
export async function imported(t, store, ...args) {
  const before = picture(store.dir);
  const [server, nc] = await ready(t);
  const r = await mayfly(server, "import", store.dir, "--json", ...args);
  assert.deepEqual(picture(store.dir), before, "the originals are untouched");
  return { ...r, nc, server, doc: r.stdout ? JSON.parse(r.stdout) : undefined };
}
export const outcomes = (doc) => Object.fromEntries(doc.streams.map((s) => [s.name, s.outcome]));
