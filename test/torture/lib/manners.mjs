// manners.mjs: what a client can count on, asked exactly: who gets a message and who does not, what is refused, and that
// whoever left has left nothing behind.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, awake } from "./awake.mjs";
import { Server, pause } from "./server.mjs";
import { Wire } from "./wire.mjs";

const LATE_MS = 10000;
let round = 0;

// A raw connection: sends `pieces` one by one; did the server close it?
function closes(port, pieces, ms = LATE_MS) {
  return new Promise((ok) => {
    const s = net.connect({ host: "127.0.0.1", port });
    const done = after(ms, () => {
      ok(false);
      s.destroy();
    });
    s.on("error", () => {});
    s.on("data", () => {});
    s.on("close", () => {
      done();
      ok(true);
    });
    const next = (i) => !s.destroyed && i < pieces.length && s.write(pieces[i], "latin1", () => next(i + 1));
    next(0);
  });
}
const connectLine = (more = {}) => `CONNECT ${JSON.stringify({ verbose: false, headers: true, no_responders: true, protocol: 1, ...more })}\r\n`;

// Lines that contradict themselves, all with the same bytes behind them: a header of 12, 20 in all.  Each ends its
// connection, and nothing of it is delivered; only the true one is.
const TRUE = "HPUB % 12 20\r\n";
const FRAME = "NATS/1.0\r\n\r\nabcdefgh\r\n";
const LIES = ["HPUB % 40 20\r\n", "HPUB % 21 20\r\n", "HPUB % 1000000 20\r\n", "HPUB % -1 20\r\n", "HPUB % 12 -1\r\n", "HPUB % 20\r\n",
  "HPUB % 12 99999999999999999999\r\n", "PUB % -1\r\n", "PUB % 99999999999999999999\r\n", "PUB % 1x\r\n"];

// Each: async (port, roll, subject): what is wrong, or undefined.  The subject is used by nobody else.
export const MANNERS = {
  // One member of a group gets a message, whatever the patterns of its members, and each plain subscriber.
  async groups(port, roll, subject) {
    const w = [await Wire.open(port, `${subject}-a`), await Wire.open(port, `${subject}-b`)];
    const times = { one: new Map(), two: new Map(), "": new Map() };
    const take = (group) => (m) => times[group].set(m.text(), (times[group].get(m.text()) ?? 0) + 1);
    const patterns = [`${subject}.*`, `${subject}.>`, `${subject}.x`, `*.${subject.split(".")[1]}.x`];
    for (const group of ["one", "two"]) for (const p of patterns) w[roll(2)].subscribe(p, take(group), group);
    w[1].subscribe(`${subject}.>`, take(""));
    for (const x of w) await x.flush();
    for (let i = 0; i < 60; i++) w[0].publish(`${subject}.x`, `n${i}`);
    for (const x of w) await x.flush();
    w.forEach((x) => x.close());
    for (const [group, got] of Object.entries(times))
      for (let i = 0; i < 60; i++) if (got.get(`n${i}`) !== 1) return `a message came ${got.get(`n${i}`) ?? 0} times to ${group ? "a queue group with overlapping patterns" : "a subscriber"}`;
  },
  // Nobody wanted it; then somebody does, and then nobody again.
  async latecomers(port, roll, subject) {
    const a = await Wire.open(port, `${subject}-a`), b = await Wire.open(port, `${subject}-b`);
    const subjects = Array.from({ length: 20 }, (_, i) => `${subject}.x${i}`);
    let wrong;
    for (const pattern of [(s) => s, (s) => s.replace(/[^.]+$/, "*"), (s) => s.replace(/[^.]+$/, ">")]) {
      for (let i = 0; i < 3; i++) for (const s of subjects) a.publish(s, "nobody");
      await a.flush();
      for (const s of subjects) {
        let got = 0;
        const sid = b.subscribe(pattern(s), () => got++);
        await b.flush();
        a.publish(s, "you");
        await a.flush();
        await b.flush();
        if (got !== 1) wrong ??= `a subscriber of ${pattern(s)} who came after messages that nobody wanted got ${got} of 1`;
        b.unsubscribe(sid);
        await b.flush();
        const m = await a.request(s, "", null, LATE_MS);
        if (m?.status !== 503) wrong ??= `a request to nobody, after an unsubscribe, got ${m === null ? "no answer" : m.head}`;
      }
    }
    a.close();
    b.close();
    return wrong;
  },
  async lies(port, roll, subject) {
    const w = await Wire.open(port, `${subject}-a`);
    let got = 0;
    w.subscribe(subject, () => got++);
    await w.flush();
    w.write(TRUE.replace("%", subject) + FRAME);
    const closed = await Promise.all(LIES.map((l) => closes(port, [connectLine(), l.replace("%", subject), FRAME])));
    await w.flush();
    w.close();
    const at = closed.indexOf(false);
    if (got !== 1) return `one message was sent, and others whose lengths contradict themselves: ${got} came`;
    if (at >= 0) return `${JSON.stringify(LIES[at])} is taken, the connection is still there`;
  },
  // A line without end is not collected.
  async endless(port) {
    const piece = "x".repeat(1 << 20);
    const closed = await Promise.all(["PUB ", "SUB ", "CONNECT {", "x"].map((first) => closes(port, [first, ...Array(32).fill(piece)])));
    if (closed.includes(false)) return "a line of 32 MB without end was taken, and the connection is still there";
  },
  // Who left is asked nothing any more.
  async gone(port, roll, subject) {
    const leaving = await Promise.all(Array.from({ length: 20 }, (_, i) => Wire.open(port, `${subject}-${i}`)));
    leaving.forEach((w, i) => {
      for (let j = 0; j < 6; j++) w.subscribe([`${subject}.${j}`, `${subject}.*`, `${subject}.>`][j % 3], () => {}, i % 2 ? "g" : "");
    });
    for (const w of leaving) await w.flush();
    leaving.forEach((w) => (roll(2) ? w.socket.resetAndDestroy() : w.close()));
    const w = await Wire.open(port, `${subject}-w`);
    let m;
    for (const end = awake() + LATE_MS; awake() < end; await pause(5)) {
      m = await w.request(`${subject}.0`, "", null, 200);
      if (w.closed || m?.status === 503) break;
    }
    w.close();
    if (m?.status !== 503) return `a request to clients who left got ${m === null ? "no answer" : m?.head}`;
  },
};

// All of them on the server at `port`; find(kind, text).
export async function manners(port, roll, find) {
  let asked = 0;
  for (const [name, f] of Object.entries(MANNERS)) {
    const wrong = await f(port, roll, `manners.${name}${++round}`).catch((e) => `${e.message}`);
    if (wrong) find("manners", `${name}: ${wrong}`);
    asked++;
  }
  return asked;
}

const rssKB = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]);

// Connections by the thousand come and go on a server of their own: no memory stays.  With a sanitizer the server itself
// tells at its end; its memory says nothing then.
export async function leftovers(trial, find, { crowd = 100, times = 10, bytes = 3000 } = {}) {
  const server = await new Server(trial, { dir: path.join(trial.dir, "leftovers"), config: "max_closed_clients: 8" }).start();
  const text = "n".repeat(bytes / 3);
  const hello = connectLine({ name: text, lang: text, version: text }) + "SUB left.> 1\r\nSUB left.* g 2\r\nPING\r\n";
  const wave = async () => {
    for (let i = 0; i < times; i++)
      await Promise.all(Array.from({ length: crowd }, () => new Promise((ok) => {
        const s = net.connect({ host: "127.0.0.1", port: server.port }, () => s.write(hello));
        s.on("error", () => {});
        s.on("data", (d) => d.includes("PONG") && s.end());
        s.on("close", ok);
      })));
  };
  await wave();
  const before = rssKB(server.proc.pid);
  await wave();
  await wave();
  const grown = rssKB(server.proc.pid) - before;
  const sanitized = fs.readFileSync(trial.mayflyd).includes("__asan_init");
  const end = await server.stop();
  const report = server.report() ?? (end.code === 0 ? null : `exit ${end.code ?? end.signal}: ${server.said()}`);
  if (report) find("leftovers", report);
  // A third of what they sent would be 2 MB for 2000 connections; what malloc keeps differs by some hundred KB.
  if (!sanitized && grown * 1024 > (2 * times * crowd * bytes) / 3) find("leftovers", `${2 * times * crowd} connections came and went and the server is ${grown} KB larger`);
  return 3 * times * crowd;
}
