// violations.mjs: plays the dialogs of violations.txt, byte by byte, against real server processes.
//
//   node violations.mjs [--table FILE] [--only TEXT] [--show] [SERVER...]
//
// Each profile of the table becomes one process of each SERVER (default: $MAYFLYD) on a port of its
// own choice; every row is one raw TCP connection.  Prints "ok" or "not ok" per row (TAP's words)
// and "N passed, N failed"; exits 1 when a row failed, 2 when a server did not start.  That each
// server obeys SIGTERM at the end, without complaint, counts as a row.  --show prints what was
// observed instead of judging it: so a new row is written down from the reference server.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import net from "node:net";
import { Lag, LIMIT_MS, patient } from "./storm/kit.mjs";

const SILENT_MS = 250; // "silent": nothing said and not closed for this long
const PAUSE_MS = 40; // "<pause>": long enough that the server reads twice
const LATE_MS = 50; // we or others were served this late: a row that failed meanwhile is played again

// --- the table ------------------------------------------------------------------------------------
function parseTable(text) {
  const profiles = new Map();
  const macros = new Map();
  const rows = [];
  text.split("\n").forEach((line, i) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const bad = (why) => {
      throw new Error(`line ${i + 1}: ${why}`);
    };
    let m;
    if ((m = /^@profile (\S+)(?: hold=(\d+))? =(.*)$/.exec(line))) {
      profiles.set(m[1], { name: m[1], hold: Number(m[2] ?? 0), conf: m[3].trim() });
    } else if ((m = /^@macro (\S+) = (.*)$/.exec(line))) {
      macros.set(m[1], m[2]);
    } else {
      const f = line.split(" | ").map((s) => s.trim());
      if (f.length !== 5) bad(`expected 5 columns, found ${f.length}`);
      if (!profiles.has(f[0])) bad(`unknown profile ${f[0]}`);
      if (!["open", "closed", "silent"].includes(f[4])) bad(`unknown end ${f[4]}`);
      rows.push({ line: i + 1, profile: f[0], name: f[1], input: f[2], reply: f[3], end: f[4] });
    }
  });
  return { profiles, macros, rows };
}

// "<name>" is a macro, "<TEXT*N>" repeats; everything else between <> stands for itself.
function expand(s, macros) {
  return s.replace(/<([a-z0-9]+)>/g, (all, name) => macros.get(name) ?? all)
    .replace(/<([^<>*]+)\*(\d+)>/g, (_, part, n) => part.repeat(Number(n)));
}

function unescape(s) {
  const simple = { r: 13, n: 10, t: 9, 0: 0, "\\": 92, s: 32 };
  const out = [];
  const raw = Buffer.from(s, "utf8");
  for (let i = 0; i < raw.length; i++) {
    const next = String.fromCharCode(raw[i + 1]);
    if (raw[i] !== 92) {
      out.push(raw[i]);
    } else if (next === "x") {
      out.push(parseInt(raw.toString("latin1", i + 2, i + 4), 16));
      i += 3;
    } else if (next in simple) {
      out.push(simple[next]);
      i++;
    } else {
      throw new Error(`bad escape \\${next}`);
    }
  }
  return Buffer.from(out);
}

function escape(buf) {
  const text = buf.toString("latin1").replace(/\\/g, "\\\\").replace(/\r/g, "\\r")
    .replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\0/g, "\\0")
    .replace(/[^\x20-\x7e]/g, (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
  return text.replace(/INFO \{[^\n]*?\} ?\\r\\n/g, "<INFO>");
}

// The steps of a row: buffers to send, null where a pause was asked for.
function steps(input, macros) {
  const out = [];
  expand(input, macros).split("<pause>").forEach((part, i) => {
    if (i > 0) out.push(null);
    const bytes = unescape(part);
    if (bytes.length > 0) out.push(bytes);
  });
  return out;
}

// --- one server -----------------------------------------------------------------------------------
function makeCertificate(dir) {
  const cert = join(dir, "cert.pem");
  const key = join(dir, "key.pem");
  if (!existsSync(cert))
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
      "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert],
    { stdio: "ignore" });
  return `cert_file: "${cert}", key_file: "${key}"`;
}

async function startServer(binary, profile) {
  const dir = mkdtempSync(join(tmpdir(), "violations-"));
  const conf = join(dir, "server.conf");
  const tls = profile.conf.includes("<cert>") ? makeCertificate(dir) : "";
  writeFileSync(conf, `host: "127.0.0.1"\nport: -1\nports_file_dir: "${dir}"\n` +
    patient(profile.conf.replace("<cert>", tls).replace(/;/g, "\n")) + "\n");
  const child = spawn(binary, ["-c", conf], { stdio: ["ignore", "ignore", "pipe"] });
  const server = { child, dir, log: "", exited: false, status: null, port: 0, held: [] };
  running.add(server);
  child.stderr.on("data", (d) => (server.log = (server.log + d).slice(-4000)));
  child.on("exit", (code, signal) => {
    server.exited = true;
    server.status = signal ?? code;
  });
  child.on("error", (e) => ((server.exited = true), (server.log = String(e))));
  const deadline = Date.now() + LIMIT_MS;
  while (server.port === 0) {
    if (server.exited || Date.now() > deadline) {
      stopServer(server);
      throw new Error(`${binary} with profile ${profile.name} did not start:\n${server.log}`);
    }
    await delay(10);
    server.port = readPort(dir);
  }
  for (let i = 0; i < profile.hold; i++) server.held.push(await holdConnection(server.port));
  return server;
}

function readPort(dir) {
  const file = readdirSync(dir).find((f) => f.endsWith(".ports"));
  if (file === undefined) return 0;
  try {
    return Number(new URL(JSON.parse(readFileSync(join(dir, file), "utf8")).nats[0]
      .replace(/^[a-z]+:/, "http:")).port);
  } catch {
    return 0; // half written: look again
  }
}

const running = new Set(); // so that an interrupted run leaves no server behind
process.on("exit", () => running.forEach(stopServer));
["SIGINT", "SIGTERM"].forEach((sig) => process.on(sig, () => process.exit(3)));

function stopServer(server) {
  running.delete(server);
  server.held.forEach((s) => s.destroy());
  server.child.kill("SIGKILL");
  rmSync(server.dir, { recursive: true, force: true });
}

// null, or why the end was not a clean one (a sanitizer's report, for instance).
async function endServer(server) {
  const early = server.exited;
  server.held.forEach((s) => s.destroy());
  server.child.kill("SIGTERM");
  for (const deadline = Date.now() + LIMIT_MS; !server.exited && Date.now() < deadline;)
    await delay(10);
  if (early) return `it was gone already: ${server.status}\n${server.log}`;
  if (!server.exited) return "SIGTERM did not stop it";
  return server.status === 0 ? null : `exit status ${server.status}\n${server.log}`;
}

const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A client that stays for as long as the server does, for limits on how many may be there.
function holdConnection(port) {
  return new Promise((resolve, reject) => {
    const s = net.connect(port, "127.0.0.1");
    let seen = "";
    s.on("error", reject);
    s.on("data", (d) => {
      seen += d;
      if (seen.includes("PONG\r\n")) resolve(s);
    });
    s.write('CONNECT {"verbose":false,"user":"u","pass":"p"}\r\nPING\r\n');
  });
}

// --- one row --------------------------------------------------------------------------------------
// Happy path: connect, wait for INFO, send the steps; then by `end`: a PING proves the connection
// open, the close is awaited, or silence is.  Resolves to { bytes, end }.  `pongs` says how many
// PONGs end an open dialog; 0 (--show): it ends when nothing was said for a while.
function play(port, row, macros, pongs) {
  return new Promise((resolve) => {
    const sock = net.connect({ port, host: "127.0.0.1", noDelay: true });
    let got = Buffer.alloc(0);
    let started = false;
    let settled = false;
    const finish = (end) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      sock.destroy();
      resolve({ bytes: got, end });
    };
    const timer = setTimeout(() => finish("timeout"), LIMIT_MS);
    let quiet;
    let sent = false;
    const judge = () => {
      if (!sent || row.end !== "open") return;
      clearTimeout(quiet);
      if (pongs === 0) quiet = setTimeout(() => finish("open"), SILENT_MS);
      else if (countPongs(got) >= pongs) finish("open");
    };
    const send = async () => {
      started = true;
      for (const step of steps(row.input, macros)) {
        if (settled || sock.destroyed) return;
        if (step === null) await delay(PAUSE_MS);
        else sock.write(step);
      }
      sent = true;
      if (row.end === "open") sock.write("PING\r\n");
      if (row.end === "silent") setTimeout(() => finish("silent"), SILENT_MS);
    };
    sock.on("data", (d) => {
      got = Buffer.concat([got, d]);
      const eol = got.indexOf("\r\n");
      if (!started && got.toString("latin1", 0, 6) === "INFO {" && eol > 0) {
        got = got.subarray(eol + 2);
        send();
      }
      judge();
    });
    sock.on("error", () => {}); // "close" follows
    sock.on("close", () => finish("closed"));
  });
}

// What the row expects, with the proof of life appended.
function expected(row, macros) {
  const text = unescape(expand(row.reply === "-" ? "" : row.reply, macros));
  return row.end === "open" ? Buffer.concat([text, Buffer.from("PONG\r\n")]) : text;
}

const countPongs = (bytes) => bytes.toString("latin1").split("PONG\r\n").length - 1;

function compare(row, seen, macros) {
  // The first PING of a protocol 1 client is answered by PONG and INFO: both are fine at the end.
  let text = row.end === "open" ? escape(seen.bytes).replace(/PONG\\r\\n<INFO>$/, "PONG\\r\\n")
    : escape(seen.bytes);
  const want = escape(expected(row, macros));
  // The server's own first PING comes after two seconds; no row about something else takes so long.
  if (!want.includes("PING")) text = text.replaceAll("PING\\r\\n", "");
  if (seen.end !== row.end) return `expected ${row.end}, was ${seen.end} after: ${text}`;
  if (text !== want) return `expected: ${want}\n     was: ${text}`;
  return null;
}

// --- all of it ------------------------------------------------------------------------------------
function report(tally, label, why) {
  tally.total++;
  if (why !== null) tally.failed++;
  console.log(why === null ? `ok - ${label}`
    : `not ok - ${label}\n# ${why.trimEnd().replaceAll("\n", "\n# ")}`);
}

// Plays a row and says null or why it failed.  Profiles have timers of a few hundred milliseconds:
// where the machine kept us longer than that, the row has not been played as it is written.
async function judge(server, row, table) {
  for (let left = 10; ; left--) {
    const lag = new Lag();
    const seen = await play(server.port, row, table.macros, countPongs(expected(row, table.macros)));
    const why = compare(row, seen, table.macros);
    const busy = lag.busy(LATE_MS);
    lag.stop();
    if (why === null || !busy || left === 0 || server.exited) return why;
  }
}

async function runProfile(binary, profile, rows, table, opts, tally) {
  const server = await startServer(binary, profile);
  const label = (text) => `${basename(binary)}: ${profile.name}: ${text}`;
  try {
    for (const row of rows) { // one after the other: they share subjects
      if (opts.show) {
        const seen = await play(server.port, row, table.macros, 0);
        console.log([row.profile, row.name, row.input, escape(seen.bytes) || "-", seen.end]
          .join(" | "));
      } else {
        report(tally, label(`${row.name} (line ${row.line})`), await judge(server, row, table));
      }
    }
    const why = await endServer(server);
    if (!opts.show) report(tally, label("SIGTERM ends the server"), why);
  } finally {
    stopServer(server);
  }
}

async function main(argv) {
  const opts = { show: false, only: null, binaries: [],
    table: join(dirname(fileURLToPath(import.meta.url)), "violations.txt") };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === "--show") opts.show = true;
    else if (argv[i] === "--only") opts.only = argv[++i];
    else if (argv[i] === "--table") opts.table = argv[++i];
    else opts.binaries.push(argv[i]);
  }
  if (opts.binaries.length === 0 && process.env.MAYFLYD) opts.binaries.push(process.env.MAYFLYD);
  if (opts.binaries.length === 0) {
    console.error("usage: node violations.mjs [--table FILE] [--only TEXT] [--show] [SERVER...]");
    return 2;
  }
  const table = parseTable(readFileSync(opts.table, "utf8"));
  const tally = { total: 0, failed: 0 };
  for (const binary of opts.binaries) {
    const runs = [];
    for (const profile of table.profiles.values()) {
      const rows = table.rows.filter((r) => r.profile === profile.name &&
        (opts.only === null || `${r.profile}: ${r.name}`.includes(opts.only)));
      if (rows.length > 0) runs.push(runProfile(binary, profile, rows, table, opts, tally));
    }
    const failed = (await Promise.allSettled(runs)).find((r) => r.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
  if (!opts.show)
    console.log(`${tally.total - tally.failed} passed, ${tally.failed} failed`);
  return tally.failed > 0 || (tally.total === 0 && !opts.show) ? 1 : 0;
}

main(process.argv.slice(2)).then((code) => process.exit(code), (e) => {
  console.error(`violations: ${e.message}`);
  process.exit(2);
});
