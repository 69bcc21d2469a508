// backup.mjs: snapshots that a history takes, and restores, on the server they came from or (cross) on the other one.
//   How a stream is packed is each server's own, so the bytes are not compared: what they hold is, once it is restored.
//   What is told of the bytes (lengths, numbers, the end) must fit them; then it stands for itself.
import { compareMessages } from "./compare.mjs";

const STALLED = 4000; // ms: what comes later is not waited for

// {op:"snapshot", s, as, body}: the answer, then how the chunks came.
export async function snapshot(run, o, index) {
  const n = ++run.lane.next;
  const body = { deliver_subject: `_INBOX.s.${n}`, ...o.body };
  const sid = 100000 + n;
  const got = run.lane.sides.map((side) => receive(side, n, sid));
  const call = run.send({ op: "api", subj: `STREAM.SNAPSHOT.${o.s}`, body }, index);
  await run.answered(call);
  const made = call.lists.map((l) => parse(l[0]));
  await run.lane.until(() => got.every((g, i) => g.end || !made[i] || made[i].error), STALLED);
  run.lane.sides.forEach((side) => side.wire.unsubscribe(sid));
  run.backups ??= new Map();
  const all = made.map((r, i) => ({ config: r?.config, state: r?.state, data: got[i].chunks.map((m) => m.data).join("") }));
  if (made.every((r) => r?.config)) run.backups.set(o.as, { sides: all, stream: o.s });
  run.judge({ ...call, o: { ...call.o, body: o.body, snapshot: true }, more: got.map((g, i) => (made[i]?.config ? [{ data: shape(g, o) }] : [])) });
}

// What came: chunks are acknowledged at once.
function receive(side, n, sid) {
  const got = { chunks: [], end: null };
  side.wire.subscribe(`_INBOX.s.${n}`, sid, (m) => {
    side.seen++;
    if (!m.data) got.end ??= m;
    else got.chunks.push(m);
    if (m.reply) side.wire.publish(m.reply, "", "", "");
  });
  return got;
}

// How the chunks came, without their number: full ones are numbered and ask for an ack, the last is not.
function shape({ chunks, end }, o) {
  const size = Math.min(Math.max(o.body?.chunk_size || 131072, 1024), 1048576);
  const full = chunks.filter((m) => m.data.length === size);
  const wrong = chunks.filter((m, i) => {
    if (m.data.length !== size) return i !== chunks.length - 1 || m.reply || m.hdr;
    const [, len, at] = /^\$JS\.SNAPSHOT\.ACK\.[^.]+\.[0-9A-Za-z]{22}\.(\d+)\.(\d+)$/.exec(m.reply) ?? [];
    return Number(len) !== size || Number(at) !== i + 1 || m.hdr;
  });
  const ended = !end ? "never" : end.hdr === (full.length ? "NATS/1.0 204\r\n\r\n" : "") && !end.reply ? "as it should" : end.hdr + end.reply;
  return { wrong: wrong.map((m) => `${m.data.length} ${m.reply} ${m.hdr}`), ended };
}

// {op:"restore", s, from, cross, config, step}: the answer to the request, then the one to the end.
export async function restore(run, o, index) {
  const backup = run.backups?.get(o.from);
  if (!backup) return;
  const from = (i) => backup.sides[o.cross ? 1 - i : i];
  const { sides } = run.lane;
  const n = ++run.lane.next;
  const lists = sides.map((side, i) => {
    const body = JSON.stringify({ config: { ...from(i).config, ...o.config }, state: from(i).state });
    const list = side.slot(n);
    side.asked?.push({ subject: `$JS.API.STREAM.RESTORE.${o.s}`, body, list, own: true });
    side.wire.publish(`$JS.API.STREAM.RESTORE.${o.s}`, `_INBOX.c.${n}`, "", body);
    return list;
  });
  const call = { o: { ...o, op: "api", subj: `STREAM.RESTORE.${o.s}`, restore: true }, index, n, lists, done: (l) => l.length > 0 };
  await run.answered(call);
  const to = lists.map((l) => parse(l[0])?.deliver_subject);
  const ends = await Promise.all(sides.map((side, i) => (to[i] ? send(run, side, to[i], flawed(from(i).data, o), o.step ?? 4096) : [])));
  await run.lane.quiet(2);
  if (to.every((t) => t) && ends.every((l) => parse(l.at(-1))?.config)) await restored(run, o, backup);
  run.judge({ ...call, more: ends.map((l, i) => compareMessages(l, sides[i].normaliser, call.o)) });
}

// Sends the bytes, each piece when the one before is answered; the answers that say something.
async function send(run, side, to, data, step) {
  const said = [];
  for (let at = 0; ; at += step) {
    const n = ++run.lane.next;
    const list = side.slot(n);
    const piece = data.slice(at, at + step);
    side.wire.publish(to, `_INBOX.c.${n}`, "", piece);
    await run.lane.until(() => list.length > 0, STALLED);
    said.push(...list.filter((m) => m.data || m.hdr));
    side.slots.delete(n);
    if (!piece || !list.length || said.length) break;
  }
  side.sent.add(data.length);
  return said;
}

// flaw: "short" (the end is missing), "noise" (other bytes), "empty"
function flawed(data, o) {
  if (o.flaw === "empty") return "";
  if (o.flaw === "noise") return "x".repeat(300);
  return o.flaw === "short" ? data.slice(0, data.length >> 1) : data;
}

// What the history knows of it now; names that a server made up came along.
async function restored(run, o, backup) {
  const { sides } = run.lane;
  if (o.cross) {
    run.findings.crossed();
    const [a, b] = sides.map((s) => s.names);
    for (const as of a.keys()) {
      const names = [b.get(as), a.get(as)];
      sides.forEach((s, i) => {
        s.names.set(as, names[i]);
        s.normaliser.bind(as, names[i]);
      });
    }
  }
  run.streams.add(o.s);
  if (backup.sides[0].config.mirror || backup.sides[0].config.sources) run.copies.add(o.s);
  if (/^(interest|workqueue)$/.test(backup.sides[0].config.retention)) run.fleeting.add(o.s);
  const [call] = await run.ask([[`CONSUMER.LIST.${o.s}`]]);
  const lists = sides.map((side, i) => compareMessages(call.lists[i], side.normaliser, call.o)[0]?.data?.consumers ?? []);
  for (const c of lists[0]) run.consumers.set(`${o.s} ${c.name}`, [o.s, c.name]);
  run.findings.begun(o.s, lists[1]);
}

function parse(m) {
  try {
    return JSON.parse(m.data);
  } catch {
    return undefined;
  }
}
