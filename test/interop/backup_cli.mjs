// backup_cli.mjs: backup and restore as the nats CLI does them, by a client with a wildcard inbox, from each of the two
// servers into each, and with kill -9 in the middle of everything.  BACKUP_MB is the size of the stream.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { createInbox } from "@nats-io/transport-node";
import { JS, api, ask, other } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary, isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, awake, until, within } from "./lib/wait.mjs";

const MB = Number(process.env.BACKUP_MB ?? 8);
const BODY = 4096;
const COUNT = Math.ceil((MB << 20) / BODY);
const noise = crypto.randomBytes(1 << 20); // nothing in it can be compressed

// A server, and a client like nats.go's: all its inboxes are one wildcard.
class Site {
  static async open(t, program) {
    const site = new Site();
    site.t = t;
    site.s = await t.server({ ...JS, program });
    await site.connect();
    return site;
  }
  async connect() {
    this.nc = await this.t.connect(this.s, { inboxPrefix: "_INBOX.cli" });
    this.prefix = createInbox("_INBOX.cli");
    this.nc.subscribe(`${this.prefix}.*`, { callback: () => {} });
    await this.nc.flush();
  }
  async killed() {
    this.s.signal("SIGKILL");
    await this.s.exited;
    await this.nc.close();
    await this.s.startAgain();
    await this.connect();
  }
}

async function fill({ nc }) {
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], allow_direct: true });
  for (let i = 0; i < COUNT; i++) {
    const from = (i * 7919) % (noise.length - BODY);
    nc.publish(`s.${i % 97}`, noise.subarray(from, from + BODY));
    if (i % 500 === 499) await nc.flush();
  }
  await until("all of it", async () => (await api(nc, "STREAM.INFO.S")).state.messages === COUNT);
}

// A digest of all messages, by direct gets of many.
async function digest({ nc }) {
  const hash = crypto.createHash("sha256");
  let [seq, n] = [1, 0];
  for (let left = 1; left > 0; ) {
    const inbox = createInbox();
    const ended = new Promise((ok, bad) => {
      const sub = nc.subscribe(inbox, {
        callback: (e, m) => {
          if (e) return bad(e);
          const h = m.headers;
          if (h.code) {
            sub.unsubscribe();
            return h.code === 204 ? ok(Number(h.get("Nats-Num-Pending"))) : bad(new Error(`${h.code} ${h.description}`));
          }
          seq = Number(h.get("Nats-Sequence")) + 1;
          hash.update(`${seq} ${h.get("Nats-Subject")} ${h.get("Nats-Time-Stamp")} `).update(m.data);
          n++;
        },
      });
    });
    nc.publish("$JS.API.DIRECT.GET.S", JSON.stringify({ seq, next_by_subj: ">", batch: 500 }), { reply: inbox });
    left = await within("a batch", ended);
  }
  return `${n} ${hash.digest("hex")}`;
}

// As jsm.go does it: the request comes before the subscription to the deliver subject, which the wildcard matches.
// stop(CHUNKS): true: that is enough.
async function backup(site, stop = () => false) {
  const { nc } = site;
  const inbox = `${site.prefix}.backup`;
  const chunks = [];
  const { config, state } = await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: inbox, chunk_size: 65536 });
  let [end, seen] = [undefined, awake()];
  const sub = nc.subscribe(inbox, {
    callback: (_, m) => {
      seen = awake();
      if (m.data.length === 0) end = m.headers?.code ?? 204;
      else chunks.push(m.data);
      if (m.reply && !stop(chunks)) m.respond();
    },
  });
  await until("the next chunk", () => {
    if (awake() - seen > LIMIT_MS) throw new Error(`no chunk after the ${chunks.length}th`);
    return end !== undefined || stop(chunks);
  }, 20 * LIMIT_MS);
  sub.unsubscribe();
  return { config, state, chunks, end };
}

async function restore({ nc }, { config, state, chunks }, upto = chunks.length) {
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config, state });
  for (let i = 0; i < upto; i++) {
    const r = await nc.request(deliver_subject, chunks[i], { timeout: LIMIT_MS });
    assert.equal(r.data.length, 0, r.string());
  }
  if (upto < chunks.length) return undefined;
  return (await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json();
}

// For runs by hand, with BACKUP_MB.
async function timed(what, fn) {
  const from = Date.now();
  const result = await fn();
  if (process.env.BACKUP_MB) console.log(`# ${what} of ${COUNT} messages, ${MB} MB: ${((Date.now() - from) / 1000).toFixed(1)} s`);
  return result;
}

async function carried(t, from, to) {
  const source = await Site.open(t, from);
  await fill(source);
  const before = await digest(source);
  assert.match(before, new RegExp(`^${COUNT} `));

  const part = await backup(source, (chunks) => chunks.length >= 10);
  assert.equal(part.end, undefined);
  await source.killed();
  assert.equal(await digest(source), before);
  const whole = await timed("backup", () => backup(source));
  assert.equal(whole.end, 204);
  assert.equal(whole.state.messages, COUNT);

  const target = await Site.open(t, to);
  await restore(target, whole, Math.floor(whole.chunks.length / 2));
  await target.killed();
  const half = await ask(target.nc, "STREAM.INFO.S");
  if (half.error === undefined) { // nats-server keeps what it took
    assert.ok(to === other || !isMayfly, "half a stream came back");
    await api(target.nc, "STREAM.DELETE.S");
  }
  const made = await timed("restore", () => restore(target, whole));
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  await target.killed(); // right after the answer
  assert.equal(await digest(target), before);
  const ack = (await target.nc.request("s.new", "", { timeout: LIMIT_MS })).json();
  assert.deepEqual(ack, { stream: "S", seq: COUNT + 1 });
}

scenario("a stream is carried to another server, with kills in the middle", (t) => carried(t, binary, binary));
if (other) {
  scenario("a stream is carried to nats-server, with kills in the middle", (t) => carried(t, binary, other));
  scenario("a stream is carried from nats-server, with kills in the middle", (t) => carried(t, other, binary));
}
