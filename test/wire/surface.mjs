// surface.mjs: walks every configuration key, flag, request, event and page of nats-server 2.15.1 (surface/*.txt) and sorts it:
// works, refused, named in the log, or documented as ignored.  Anything else is a failure.
//
//   node surface.mjs SERVER            checks each row, and that docs/reports/surface.md is what they make
//   node surface.mjs --write SERVER    checks the rows and writes that table
//   node surface.mjs --names SERVER    for nats-server itself: are these its names?
//
// A key is walked by -t with a configuration that holds it: an exit code, warnings and refusals tell its class.  What `works` must
// also name a test that shows the effect; what is ignored must stand in docs/configuration.md.
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "../interop/node_modules/@nats-io/transport-node/lib/mod.js";
import * as nkeys from "../interop/node_modules/@nats-io/nkeys/lib/mod.js";
import { certs } from "../interop/lib/certs.mjs";
import { Server } from "../interop/lib/server.mjs";
import { LIMIT_MS, until } from "../interop/lib/wait.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const top = path.resolve(here, "../..");
const flags = process.argv.slice(2).filter((a) => a.startsWith("--"));
const program = path.resolve(process.argv.slice(2).find((a) => !a.startsWith("--")) ?? process.env.MAYFLYD);
const names = flags.includes("--names"); // the reference itself
const CLASSES = ["works", "refused", "logged", "ignored"];
const report = path.join(top, "docs/reports/surface.md");
const read = (f) => fs.readFileSync(path.join(top, f), "utf8");
let passed = 0;
const failures = [];

function judge(what, problem) {
  if (!problem) passed++;
  else failures.push(`${what}: ${problem}`);
  if (problem) console.log(`not ok ${what}: ${problem}`);
}

// --- the lists ------------------------------------------------------------------------------------

function rows(file) {
  const out = [];
  let block;
  read(`test/wire/surface/${file}`).split("\n").forEach((line, i) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const head = line.match(/^@(?:block (\S+) = (.*)|(\w+))$/);
    if (head) return void (block = { name: head[1] ?? head[3], template: head[2] });
    const f = line.match(/^([^|]+)\|([^|]+)\|([^|]*)\|(.*)$/)?.slice(1).map((s) => s.trim());
    if (!CLASSES.includes(f?.[1])) throw new Error(`${file}:${i + 1}: expected NAMES | CLASS | VALUE | WHY`);
    out.push({ block, names: f[0].split(" "), first: f[0], cls: f[1], value: f[2], why: f[3], line: `${file}:${i + 1}` });
  });
  return out;
}

// --- running the server ---------------------------------------------------------------------------

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-surface-"));
process.on("exit", () => fs.rmSync(dir, { recursive: true, force: true }));
const c = certs();
const operator = nkeys.createOperator();
const words = {
  DIR: dir, CERT: `"${c.server}.pem"`, KEY: `"${c.server}.key"`, CA: `"${c.ca}.pem"`,
  TLSMAP: `{cert_file: "${c.server}.pem", key_file: "${c.server}.key", ca_file: "${c.ca}.pem"}`,
  PAIR: `cert_file: "${c.server}.pem", key_file: "${c.server}.key", ca_file: "${c.ca}.pem",`,
  NKEY_A: nkeys.createAccount().getPublicKey(), NKEY_O: operator.getPublicKey(), NKEY_U: nkeys.createUser().getPublicKey(),
  NKEY_X: nkeys.createCurve().getPublicKey(), SEED_U: new TextDecoder().decode(nkeys.createUser().getSeed()), OPERATOR: operatorJwt(), SENTINEL: sentinelJwt(), OPERATOR_LINE: `operator: ${operatorJwt()},`,
};
function jwt(signer, sub, nats) {
  const part = (o) => Buffer.from(JSON.stringify(o)).toString("base64url");
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ jti: "x", iat: 1700000000, iss: signer.getPublicKey(), name: "O", sub: sub.getPublicKey(), nats: { ...nats, version: 2 } })}`;
  return `${text}.${Buffer.from(signer.sign(Buffer.from(text))).toString("base64url")}`;
}
function operatorJwt() {
  return jwt(operator, operator, { type: "operator" });
}
function sentinelJwt() {
  return jwt(nkeys.createAccount(), nkeys.createUser(), { type: "user", bearer_token: true });
}
const fill = (text) => text.replace(/\b(OPERATOR_LINE|OPERATOR|SENTINEL|DIR|CERT|KEY|CA|TLSMAP|PAIR|NKEY_[AOUX]|SEED_U)\b/g, (w) => words[w]);
fs.writeFileSync(path.join(dir, "x.creds"), `-----BEGIN NATS USER JWT-----\n${operatorJwt()}\n------END NATS USER JWT------\n`);
for (const d of ["jwt", "ocsp"]) fs.mkdirSync(path.join(dir, d));

function run(args) {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 60000, env: { ...process.env, HOME: dir } }, (e, out, err) => resolve({ code: e ? (e.code ?? -1) : 0, text: out + err }));
  });
}
let files = 0;
function conf(text) {
  const file = path.join(dir, `${files++}.conf`);
  fs.writeFileSync(file, text);
  return file;
}
async function many(list, fn, width = 3) {
  const queue = [...list];
  await Promise.all(Array.from({ length: width }, async () => {
    for (let x; (x = queue.shift()); ) await fn(x);
  }));
}

// --- classes --------------------------------------------------------------------------------------

const inactive = (text) => [...text.matchAll(/(?:warning|:\d+:\d+): (\w+): [^\n]*not active in this version/g)].map((m) => m[1]);

// What the server makes of it, as an error text; null: as the row says.
function differs(row, r) {
  const logged = inactive(r.text);
  if (/Sanitizer|runtime error/.test(r.text)) return r.text;
  if (row.cls === "refused") {
    if (r.code === 0) return "accepted, not refused";
    return row.why.split("|").some((w) => r.text.includes(w)) ? null : `refused with other words: ${r.text}`;
  }
  if (r.code !== 0) return `refused: ${r.text}`;
  if (row.cls === "logged") return [...row.why.split("|"), ...row.names].some((w) => logged.includes(w)) ? null : `not named in the log: ${r.text}`;
  return logged.length === 0 ? null : `named in the log: ${logged}`;
}

// What a row that works or is ignored rests on.
function unfounded(row, plain = row.names) {
  if (row.cls === "works") {
    const [file, loose] = row.why.startsWith("~") ? [row.why.slice(1), true] : [row.why, false];
    if (!fs.existsSync(path.join(top, file))) return `no test ${file}`;
    const text = read(file);
    return loose || plain.some((n) => text.includes(n)) ? null : `${file} does not mention it`;
  }
  if (row.cls === "ignored" && row.block.template !== undefined) {
    const name = row.block.name === "(top)" ? row.names[0] : `${row.block.name}.${row.names[0]}`;
    return read("docs/configuration.md").includes(`\`${name}\``) ? null : `docs/configuration.md does not name \`${name}\``;
  }
  return row.cls === "ignored" && row.why === "" ? "no reason" : null;
}

// --- configuration --------------------------------------------------------------------------------

const OWN = ["log_format", "busy_poll", "ttl", "compat", "scrub", "unix_socket"]; // Mayfly's; so is all in ttl { } and unix_socket { }

async function walkKeys(list) {
  await many(list.flatMap((row) => row.names.map((name) => ({ row, name }))), async ({ row, name }) => {
    const value = fill(row.value.replace(" NOPAIR", ""));
    const template = row.value.includes("NOPAIR") ? row.block.template.replace("PAIR ", "") : row.block.template;
    const body = fill(template).replace("{}", () => `${name}: ${value}`);
    const head = /\bport: -1|listen/.test(body.split("\n")[0]) && row.block.name === "(top)" ? "" : "port: -1\n";
    const file = conf(`${head}${body}\n`);
    const r = await run(["-t", "-c", file]);
    if (names) return judge(`${row.block.name} ${name}`, /unknown field|unknown/i.test(r.text) ? r.text : null);
    judge(`${row.block.name} ${name} (${row.line})`, differs(row, r) ?? unfounded(row));
  });
  if (names) return;
  await walkLog(list);
  walkBack(list);
}

// -t prints what the log says: once, the log itself.
async function walkLog(list) {
  const together = list.filter((r) => r.block.name === "(top)" && r.cls === "logged" && !/^(operator|trusted|resolver|mqtt)/.test(r.first));
  const s = new Server({ config: together.map((r) => `${r.names[0]}: ${fill(r.value)}\n`).join(""), program });
  await s.start();
  for (const r of together) judge(`${r.names[0]} at the start`, new RegExp(`\\[WRN\\] .*: ${r.names[0]}: accepted, not active in this version`).test(s.log()) ? null : "not in the log");
  await s.stop();
  s.remove();
}

// The other way round: what the tables of the source know must be in the list.
function walkBack(list) {
  const known = new Set(list.flatMap((r) => r.names));
  for (const f of fs.readdirSync(path.join(top, "src/config")).filter((f) => /^options.*\.c$/.test(f) && !["options_ttl.c", "options_unix.c"].includes(f)))
    for (const [, table] of read(`src/config/${f}`).matchAll(/static const struct opt_field \w+\[\] = \{([^]*?)\n\};/g))
      for (const [, text] of table.matchAll(/\{"([^"]*)"/g))
        for (const n of text.split(" ")) if (!OWN.includes(n)) judge(`key ${n} of src/config/${f}`, known.has(n) ? null : "not in keys.txt");
}

// --- flags ----------------------------------------------------------------------------------------

async function walkFlags(list) {
  const empty = conf("server_name: x\n");
  await many(list.flatMap((row) => row.names.map((name) => ({ row, name }))), async ({ row, name }) => {
    const m = row.value.match(/^\((alone|wrong)\) ?(.*)$/);
    const more = fill((m ? m[2] : row.value).replace("CONF", empty)).replace(/"/g, "").split(" ").filter(Boolean);
    const glued = more[0]?.startsWith("=") ? [name + more.shift(), ...more] : [name, ...more];
    const args = m?.[1] === "wrong" || (m && name !== "-t") ? glued : [...glued, "-t", ...(name === "-c" || name === "--config" ? [] : ["-c", empty])];
    const r = await run(args);
    if (names) return judge(`flag ${name}`, /flag provided but not defined/.test(r.text) ? r.text : null);
    const code = m?.[1] === "wrong" ? 1 : 0;
    judge(`flag ${name} (${row.line})`, row.cls === "works" && r.code === code ? unfounded(row, row.names) : differs(row, r));
  });
  if (names) return;
  const known = new Set(list.flatMap((r) => r.names.map((n) => n.replace(/^-+/, ""))));
  for (const [, text] of read("src/config/options_flags.c").matchAll(/^    \{"([\w ]+)", FLAG_/gm))
    for (const n of text.split(" ")) judge(`flag ${n} of the source`, known.has(n) ? null : "not in others.txt");
}

// --- requests and pages ---------------------------------------------------------------------------

const world = `server_name: owl
  jetstream { store_dir: "DIR/js" }
  accounts { A { jetstream: enabled, users: [ {user: a, password: p} ] }, SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;

async function open() {
  const s = new Server({ monitor: true, config: world, program });
  await s.start();
  const dial = (user) => connect({ servers: s.url.replace(/^\w+:\/\//, ""), user, pass: "p", reconnect: false, timeout: 60000 });
  const by = { a: await dial("a"), sys: await dial("sys") };
  const ask = async (subject, body) => JSON.parse((await by.a.request(subject, JSON.stringify(body), { timeout: 60000 })).string());
  await ask("$JS.API.STREAM.CREATE.S", { name: "S", subjects: ["s.>"], allow_direct: true });
  for (let i = 1; i < 4; i++) await ask(`s.${i}`, {});
  await ask("$JS.API.CONSUMER.CREATE.S.c", { stream_name: "S", config: { name: "c", durable_name: "c", ack_policy: "explicit" } });
  return { s, by, close: async () => (await Promise.all(Object.values(by).map((nc) => nc.close())), await s.stop(), s.remove()) };
}

// The first answer, in a word or two.  Silence is told from slowness by a request that comes later and is answered; who expects an
// answer waits long for it.
async function answer(nc, subject, body, ms) {
  const inbox = `walk.${Math.random().toString(36).slice(2)}`;
  const got = [];
  const sub = nc.subscribe(inbox, { callback: (e, m) => got.push(m) });
  nc.publish(subject, body, { reply: inbox });
  await nc.request("$SYS.REQ.USER.INFO", "", { timeout: 60000 });
  if (got.length === 0) await until("an answer", () => got.length > 0, ms).catch(() => {});
  sub.unsubscribe();
  if (got.length === 0) return "silence";
  if (got[0].headers?.code === 503) return "nobody";
  const text = got[0].string();
  if (/^\d+$/.test(text)) return "number";
  const o = text.startsWith("{") ? JSON.parse(text) : {};
  const type = o.type?.match(/^io\.nats\.jetstream\.api\.v1\.(\w+)$/)?.[1];
  if (type) return o.error ? `${type} ${o.error.err_code}` : type;
  if (got[0].headers || !o.server) return o.id && o.name ? "id" : o.type ? "type" : "message";
  return ["error", "statsz", "data"].find((k) => o[k]) ?? "server";
}

async function walkRequests(list) {
  const w = await open();
  const id = (await w.s.varz()).server_id;
  for (const row of list) {
    const [who, subject] = row.names;
    const [wanted] = row.why.split(" [");
    const any = names && row.cls === "ignored";
    const got = await answer(w.by[who], subject.replace(".ID.", `.${id}.`), row.value, any || wanted === "silence" ? 400 : LIMIT_MS);
    const fine = got === wanted || any;
    judge(`${who} ${subject} (${row.line})`, fine ? null : `answered with ${got}, not ${wanted}`);
  }
  await w.close();
}

async function walkPages(list) {
  const w = await open();
  for (const row of list) {
    const r = await w.s.page(row.first);
    judge(`${row.first} (${row.line})`, r.status !== Number(row.value) ? `status ${r.status}` : names ? null : unfounded(row, [row.first.split("?")[0]]));
  }
  await w.close();
}

function walkEvents(list) {
  for (const row of list) judge(`event ${row.first} (${row.line})`, unfounded(row, [row.first, row.first.split(".*")[0], row.first.replace("*", "A"), row.first.split(".").slice(-2).join(".")]));
}

// --- the table ------------------------------------------------------------------------------------

const TEXT = { works: "works", refused: "refused", logged: "named in the log", ignored: "ignored on purpose" };
const code = (s) => s.split(" ").map((n) => `\`${n}\``).join(" ");

function table(keys, others) {
  const all = [...keys, ...others];
  const count = (list, cls) => list.filter((r) => r.cls === cls).reduce((n, r) => n + (r.block.name === "requests" ? 1 : r.names.length), 0);
  const kinds = [["configuration keys", keys], ...["flags", "requests", "events", "pages"].map((k) => [k, others.filter((r) => r.block.name === k)])];
  const lines = ["# What mayflyd makes of every name of nats-server 2.15.1", "",
    "Made by `node test/wire/surface.mjs --write build-test/mayflyd` from `test/wire/surface/keys.txt` and `test/wire/surface/others.txt`. `./dev test` walks",
    "each row on the server and fails when a row or this page is not so. Other names of a key are counted.", "",
    `| | ${CLASSES.map((x) => TEXT[x]).join(" | ")} |`, "|---|---|---|---|---|",
    ...kinds.map(([k, list]) => `| ${k} | ${CLASSES.map((x) => count(list, x)).join(" | ")} |`)];
  const part = (title) => lines.push("", `## ${title}`, "", "| name | | test, words or reason |", "|---|---|---|");
  let last;
  for (const r of all) {
    if (r.block.name !== last) part((last = r.block.name));
    const why = r.cls === "works" && r.why.startsWith("~") ? r.why.slice(1) : r.why;
    const shown = r.block.name === "requests" ? `\`${r.names[1]}\`${r.names[0] === "sys" ? " (system account)" : ""}` : code(r.first);
    lines.push(`| ${shown} | ${TEXT[r.cls]} | ${/^test\//.test(why) ? code(why) : why.replace(/\|/g, " or ")} |`);
  }
  return `${lines.join("\n")}\n`;
}

const keys = rows("keys.txt");
const others = rows("others.txt");
const kind = (k) => others.filter((r) => r.block.name === k);
await walkKeys(keys);
await walkFlags(kind("flags"));
await walkRequests(kind("requests"));
await walkPages(kind("pages"));
if (!names) {
  walkEvents(kind("events"));
  if (flags.includes("--write")) {
    fs.mkdirSync(path.dirname(report), { recursive: true });
    fs.writeFileSync(report, table(keys, others));
  }
  const now = fs.existsSync(report) ? fs.readFileSync(report, "utf8") : "";
  judge("docs/reports/surface.md", now === table(keys, others) ? null : "stale: node test/wire/surface.mjs --write build-test/mayflyd");
}
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length ? 1 : 0);
