// instructions.mjs: how many instructions the whole server takes for one publish, counted by valgrind's callgrind.
//
//     node bench/instructions.mjs [BINARY...]
//
// Counts do not depend on what else the machine does, so builds can be compared to half a percent.  Each case is run with N
// (COUNT, 20,000) and with 2N publishes to a memory stream, 64 at a time; the difference is free of start and stop.  The median of
// ROUNDS (3) is shown, because the seeds of hash tables differ from run to run.  Of several binaries the first one is compared with.
// KEEP=FOLDER keeps callgrind's files, <binary>.<case>.<1 or 2>, for callgrind_annotate.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const WINDOW = 64;
const BODY = "x".repeat(128);
const TTL = "NATS/1.0\r\nNats-TTL: 3600\r\n\r\n";
const count = Math.ceil(Number(process.env.COUNT ?? 20000) / WINDOW) * WINDOW;
const rounds = Number(process.env.ROUNDS ?? 3);

const plain = (subject) => `PUB ${subject} _R ${BODY.length}\r\n${BODY}\r\n`;
const withTtl = (subject) => `HPUB ${subject} _R ${TTL.length} ${TTL.length + BODY.length}\r\n${TTL}${BODY}\r\n`;
const cases = [
  { name: "without a header", publish: plain, stream: {} },
  { name: "with Nats-TTL", publish: withTtl, stream: { allow_msg_ttl: true } },
  { name: "one message per subject", publish: plain, stream: { max_msgs_per_subject: 1 } },
];

// One connection.  until(): what was received since the last call, once it passes the test.
class Wire {
  constructor(port) {
    this.text = "";
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.ended = new Promise((_, lost) => {
      this.socket.on("error", lost);
      this.socket.on("close", () => lost(new Error("the server closed the connection")));
    });
    this.ended.catch(() => {});
    this.socket.on("data", (data) => {
      this.text += data.toString("latin1");
      this.check?.();
    });
  }
  until(test) {
    const passed = new Promise((ok) => {
      this.check = () => {
        if (!test(this.text)) return;
        const text = this.text;
        this.text = "";
        this.check = undefined;
        ok(text);
      };
      this.check();
    });
    return Promise.race([passed, this.ended]);
  }
}

async function dial(port, server) {
  for (const end = Date.now() + 60000; ; ) {
    const wire = new Wire(port);
    try {
      await wire.until((text) => text.includes("INFO "));
      return wire;
    } catch (error) {
      if (Date.now() > end || server.exitCode !== null) throw error;
      await new Promise((ok) => setTimeout(ok, 50));
    }
  }
}

const sure = (text) => {
  if (/"error"|-ERR/.test(text)) throw new Error(text);
};

async function load(wire, one, publishes) {
  const config = JSON.stringify({ name: "S", subjects: ["s.>"], storage: "memory", ...one.stream });
  wire.socket.write('CONNECT {"verbose":false,"headers":true}\r\nSUB _R 1\r\n');
  wire.socket.write(`PUB $JS.API.STREAM.CREATE.S _R ${config.length}\r\n${config}\r\n`);
  sure(await wire.until((text) => text.includes("}\r\n")));
  for (let i = 0; i < publishes; i += WINDOW) {
    let batch = "";
    for (let k = i; k < i + WINDOW; k++) batch += one.publish(`s.${String((k * 7919) % 1000).padStart(7, "0")}`);
    wire.socket.write(batch);
    sure(await wire.until((text) => text.split('"seq":').length > WINDOW || /"error"|-ERR/.test(text)));
  }
}

const freePort = () =>
  new Promise((ok) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => ok(port));
    });
  });

// The instructions of a whole run.  busy_poll would count how long the server waits.
async function run(binary, one, publishes, keep) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "instructions."));
  const out = path.join(dir, "callgrind");
  const port = await freePort();
  fs.writeFileSync(
    path.join(dir, "conf"),
    `listen: "127.0.0.1:${port}"\nbusy_poll: "0s"\njetstream { store_dir: "${dir}/data" }\n`,
  );
  const server = spawn("valgrind", ["--tool=callgrind", `--callgrind-out-file=${out}`, binary, "-c", path.join(dir, "conf")], {
    stdio: ["ignore", "ignore", fs.openSync(path.join(dir, "log"), "w")],
  });
  const exited = new Promise((ok) => server.once("exit", ok));
  try {
    await load(await dial(port, server), one, publishes);
    server.kill("SIGTERM");
    await exited;
    if (keep) fs.copyFileSync(out, keep);
    return Number(/^(?:summary|totals): (\d+)/m.exec(fs.readFileSync(out, "latin1"))[1]);
  } catch (error) {
    process.stderr.write(fs.readFileSync(path.join(dir, "log"), "latin1").slice(-2000));
    throw error;
  } finally {
    server.kill("SIGKILL");
    await exited;
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(binary, one, keep) {
  const each = [];
  for (let round = 0; round < rounds; round++) {
    const once = await run(binary, one, count, keep && `${keep}.1`);
    each.push(((await run(binary, one, 2 * count, keep && `${keep}.2`)) - once) / count);
  }
  return each.sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

const binaries = process.argv.length > 2 ? process.argv.slice(2) : [process.env.MAYFLYD ?? "build/mayflyd"];
console.log(`instructions per publish of 128 B: ${binaries.join("  ")}`);
for (const [c, one] of cases.entries()) {
  let line = one.name.padEnd(24);
  let first;
  for (const [b, binary] of binaries.entries()) {
    const n = await measure(binary, one, process.env.KEEP && path.join(process.env.KEEP, `${b}.${c}`));
    const change = first === undefined ? "" : ` (${n < first ? "" : "+"}${(100 * (n / first - 1)).toFixed(2)} %)`;
    first ??= n;
    line += `${n.toFixed(0).padStart(8)}${change}`;
  }
  console.log(line);
}
