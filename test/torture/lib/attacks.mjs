// attacks.mjs: clients that nobody wants, run in a thread of their own so that the well-behaved one is not disturbed here.
import net from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { awake } from "./awake.mjs";
import { pause } from "./server.mjs";
import { dice } from "./trial.mjs";
import { Wire } from "./wire.mjs";

const CONNECT = 'CONNECT {"verbose":false,"headers":true,"protocol":1}\r\n';
let made = 0;

// A socket that never throws; text, if any, is sent at once.
function socket(port, text, { read = true } = {}) {
  const s = net.connect({ host: "127.0.0.1", port });
  s.on("error", () => {});
  if (read) s.on("data", () => {});
  else s.pause();
  if (text) s.write(text, "latin1");
  return s;
}
const together = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const end = (sockets) => sockets.forEach((s) => s.destroy());

const nested = (open, close, n) => open.repeat(n) + close.repeat(n);
const FRAMES = ["PUB a 5\r\nhello\r\n", "HPUB a 12 17\r\nNATS/1.0\r\n\r\nhello\r\n", "SUB a.> 7\r\n", "UNSUB 7 3\r\n", "PING\r\n", CONNECT, "PUB $JS.API.INFO r 0\r\n\r\n", "+OK\r\n", "PUB hostile.x r 3\r\nabc\r\n"];

// Each: async (port, roll, until): ends soon after `until`.
export const ATTACKS = {
  // Many come at once and go at once, in good order or not.
  async crowds(port, roll, until) {
    while (awake() < until) {
      const all = together(150, (i) => socket(port, i % 3 === 0 ? "" : i % 3 === 1 ? CONNECT + "PING\r\n" : "GET / HTTP/1.1\r\n\r\n"));
      await pause(20 + roll(100));
      all.forEach((s) => (roll(2) ? s.resetAndDestroy() : s.end()));
      await pause(5);
      end(all);
      made += all.length;
    }
  },
  // Subscribers that never read what a publisher floods.
  async slow(port, roll, until) {
    const readers = together(20, () => socket(port, `${CONNECT}SUB flood.> 1\r\nPING\r\n`, { read: false }));
    const p = socket(port, CONNECT);
    const piece = `PUB flood.x 8000\r\n${"x".repeat(8000)}\r\n`.repeat(20);
    while (awake() < until) {
      p.write(piece);
      made++;
      await pause(2);
      while (p.writableLength > 4e6 && awake() < until) await pause(5);
    }
    end([...readers, p]);
  },
  // Half a command, and then nothing.
  async halves(port, roll, until) {
    const halves = ["", "CON", "CONNECT {", CONNECT + "PUB a 100000\r\nabc", CONNECT + "HPUB a 10", CONNECT + "SUB " + "x".repeat(3000), "\x16\x03\x01\x02\x00\x01"];
    const all = together(400, (i) => socket(port, halves[i % halves.length]));
    made += all.length;
    while (awake() < until) await pause(50);
    end(all);
  },
  // Frames with bytes changed, cut out, or repeated.
  async garbage(port, roll, until) {
    while (awake() < until) {
      const all = together(30, () => {
        let text = CONNECT + together(1 + roll(8), () => FRAMES[roll(FRAMES.length)]).join("");
        for (let i = roll(5); i >= 0; i--) {
          const at = roll(text.length);
          text = [text.slice(0, at) + String.fromCharCode(roll(256)) + text.slice(at + 1), text.slice(0, at) + text.slice(at + roll(9)), text.slice(0, at) + text.slice(at, at + 20).repeat(roll(50))][roll(3)];
        }
        return socket(port, text);
      });
      made += all.length;
      await pause(15);
      end(all);
    }
  },
  // API documents that are huge, deep, or nonsense.
  async documents(port, roll, until) {
    const texts = ["[".repeat(900_000), nested("[", "]", 450_000), '{"a":'.repeat(150_000), `{"name":"X","max_msgs":${"1".repeat(900_000)}}`,
      `{"name":"X","subjects":[${together(60_000, (i) => `"s${i}"`).join(",")}]}`, '{"name":"X","description":"' + "\\u0000".repeat(150_000) + '"}', "\xff".repeat(1000), ""];
    const ops = ["STREAM.CREATE.X", "STREAM.UPDATE.K", "CONSUMER.CREATE.K", "STREAM.PURGE.X", "STREAM.MSG.GET.K", "STREAM.LIST", "CONSUMER.MSG.NEXT.K.none", "STREAM.RESTORE.X", "META.LEADER.STEPDOWN"];
    const w = await Wire.open(port, `doc${made}`).catch(() => null);
    while (w && !w.closed && awake() < until) {
      await w.request(`$JS.API.${ops[roll(ops.length)]}`, texts[roll(texts.length)], null, 500); // some have no answer
      made++;
    }
    await w?.api("STREAM.DELETE.X");
    w?.close();
  },
  // Consumers and streams by the thousand.
  async consumers(port, roll, until) {
    const w = await Wire.open(port, `con${made}`).catch(() => null);
    if (!w) return;
    await w.api("STREAM.CREATE.MANY", { name: "MANY", subjects: ["many.>"] });
    for (let i = 0; awake() < until && i < 5000 && !w.closed; i += 50) {
      await Promise.all(together(50, (j) => w.api(`CONSUMER.CREATE.MANY`, { stream_name: "MANY", config: { ack_policy: "explicit", filter_subject: `many.${(i + j) % 100}`, mem_storage: roll(2) === 0, ...(roll(2) ? { durable_name: `D${i + j}` } : {}) } })));
      w.publish(`many.${i % 100}`, "x");
      made += 50;
    }
    await w.api("STREAM.DELETE.MANY", "", 20000);
    w.close();
  },
  // Subscriptions by the ten thousand, with wildcards.
  async subscriptions(port, roll, until) {
    const w = await Wire.open(port, `sub${made}`).catch(() => null);
    if (!w) return;
    const sids = [];
    while (awake() < until && !w.closed) {
      for (let i = 0; i < 500; i++) sids.push(w.subscribe([`a.${roll(1000)}.>`, `*.${roll(1000)}.b`, `x.${roll(1e9)}`, `k.*.${roll(100)}`][roll(4)], () => {}));
      made += 500;
      if (sids.length > 20000) sids.splice(0, 15000).forEach((s) => w.unsubscribe(s));
      await pause(10);
    }
    w.close();
  },
};

if (parentPort) {
  const { name, port, seed, ms } = workerData;
  // A socket that ends where nobody looks any more is not the trial's failure.
  process.on("uncaughtException", () => {});
  ATTACKS[name](port, dice(seed), awake() + ms).then(() => parentPort.postMessage(made), (e) => parentPort.postMessage(`${e.stack}`));
}
