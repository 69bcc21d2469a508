// docs.mjs: the pages for users.  Each page is run block by block, as it stands there, on a fresh server (lib/doc_page.mjs).
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { handling, pageBlocks } from "./lib/doc_page.mjs";
import { toolCommands, toolDifferences } from "./lib/doc_tool.mjs";
import { jetstreamBlock, onServer } from "./lib/js.mjs";
import { Raw } from "./lib/raw.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";

const ours = { only: "mayfly" };
const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const runner = path.join(here, "lib/doc_page.mjs");

// Pages whose blocks other tests run, or that speak to maintainers.
const ELSEWHERE = {
  "docs/embedding.md": "tools/examples_test.sh builds its programs and runs them",
  "docs/ttl.md": "test/interop/ttl_examples.mjs runs it",
  "docs/page.md": "one block, of a proxy; test/interop/status_page*.mjs look at the page, also below a prefix",
  "docs/architecture.md": "for maintainers", "docs/checks.md": "for maintainers", "docs/disk-format.md": "for maintainers", "docs/glossary.md": "for maintainers",
  "docs/coverage.md": "./dev coverage, for maintainers", "docs/compatibility.md": "./dev compare, half an hour", "docs/reliability.md": "./dev torture, an hour",
  "docs/performance.md": "./dev bench, half an hour",
};
// Blocks that no test here can run.  A new one needs its reason, and this number.
const NOT_RUN = 6;

const pages = ["README.md", ...fs.readdirSync(path.join(root, "docs"), { recursive: true }).filter((f) => f.endsWith(".md") && !f.startsWith("reports/")).map((f) => `docs/${f}`)].sort();
const read = (p) => fs.readFileSync(path.join(root, p), "utf8");
const mine = pages.filter((p) => !(p in ELSEWHERE));

// Namespaces of its own for a page: its ports are free, and its processes end with it.  Without them its ports are moved.
const APART = ["unshare", "-r", "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
const apart = spawnSync(APART[0], [...APART.slice(1), "true"]).status === 0;

function runPage(t, page, alone = apart) {
  const command = [...(alone ? APART : []), process.execPath, runner, path.join(root, page), ...(alone ? [] : ["--move"])];
  return new Promise((ok, bad) => {
    const p = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, MAYFLYD: binary } });
    t.after(() => p.exitCode === null && p.kill("SIGKILL"));
    let said = "";
    for (const s of [p.stdout, p.stderr]) s.setEncoding("utf8").on("data", (d) => (said += d));
    p.on("close", (code) => (code === 0 ? ok(said) : bad(new Error(said))));
  });
}

for (const page of mine.filter((p) => pageBlocks(read(p)).length > 0))
  scenario(page, ours, async (t) => {
    const said = await runPage(t, page);
    if (said) process.stdout.write(said);
  });

// As on a machine of a developer who runs a server, and has no right to make namespaces.
scenario("a page needs none of the ports that it names", ours, async (t) => {
  const taken = await Promise.all([4222, 8222].map((port) => new Promise((ok) => {
    const s = net.createServer((c) => c.destroy()).on("error", () => ok()).listen(port, "127.0.0.1", () => ok(s));
  })));
  t.after(() => taken.forEach((s) => s?.close()));
  await runPage(t, "docs/howto/sliding-ttl.md", false);
});

scenario("every block is run, compared or listed with the reason", ours, async () => {
  const listed = [];
  for (const p of mine)
    for (const b of pageBlocks(read(p))) {
      assert.ok(handling(b), `${p}:${b.line}: the test does not know what to do with this block`);
      if (b.skip) listed.push(`${p}:${b.line}: ${b.skip}`);
    }
  assert.equal(listed.length, NOT_RUN, `blocks that are not run:\n${listed.join("\n")}`);
});

scenario("pages that are not run here exist and have a reason", ours, async () => {
  for (const [p, why] of Object.entries(ELSEWHERE)) assert.ok(pages.includes(p) && why, p);
});

const firstColumn = (text) => [...text.matchAll(/^\| (`[^|]+`)(?: |,)*\|/gm)].flatMap((m) => [...m[1].matchAll(/`([^`]+)`/g)].map((n) => n[1]));

scenario("metrics.md lists the metrics of a server, all of them and no others", ours, async (t) => {
  // A remote that does not answer, and a link of somebody who dialled.
  const leaf = `leafnodes { listen: "127.0.0.1:-1", remotes: [ { url: "nats-leaf://127.0.0.1:9" } ] }\n`;
  const s = await t.server({ config: jetstreamBlock() + leaf, monitor: true });
  const { jsm } = await onServer(t, s);
  await jsm.streams.add({ name: "S", subjects: ["s.>"], metadata: { "mayfly.ttl.default": "24h" } });
  await jsm.streams.add({ name: "M", mirror: { name: "S" } });
  await jsm.consumers.add("S", { durable_name: "c", ack_policy: "explicit" });
  const peer = await Raw.open((await s.varz()).leaf.port);
  t.after(() => peer.close());
  peer.send(`CONNECT ${JSON.stringify({ name: "peer", cluster: "peer", headers: true })}`);
  await peer.expect(/"connect_info":true/);
  const real = [...(await s.page("/metrics")).text.matchAll(/^# HELP (\S+)/gm)].map((m) => m[1]);
  assert.deepEqual(firstColumn(read("docs/metrics.md")).sort(), real.sort());
});

const tool = path.join(path.dirname(binary), "mayfly");

scenario("tool.md lists each command and flag of the tool, and no others", ours, async () => {
  assert.deepEqual(toolDifferences(tool), [], "node test/interop/lib/doc_tool.mjs --write fills in the flags");
});

// In sentences and tables too: `mayfly ttl ls STREAM --within 1h`.
function unknownWords(span, { commands, common }) {
  const [words] = /^[a-z-]+(?: [a-z-]+)?/.exec(span) ?? [""];
  const name = [...commands.keys()].filter((k) => `${words} `.startsWith(`${k} `)).sort((a, b) => b.length - a.length)[0];
  if (name === undefined) return [...commands.keys()].some((k) => k.startsWith(`${words} `)) ? [] : [words]; // `mayfly kv` alone
  if (name === "check") return [];
  return [...span.matchAll(/(?<=\s)--[a-z-]+/g)].map((m) => m[0]).filter((f) => !commands.get(name).includes(f) && !common.includes(f));
}

scenario("commands and flags of the tool that the pages name exist", ours, async () => {
  const list = toolCommands(tool);
  const bad = [];
  for (const p of pages)
    for (const [, span] of read(p).matchAll(/(?:`|^)(?:build\/)?mayfly ([a-z][^`\n|]*)/gm))
      for (const w of unknownWords(span, list)) bad.push(`${p}: mayfly ${span}: ${w}`);
  assert.deepEqual(bad, []);
  assert.deepEqual(unknownWords("ttl ls S --withn 1h", list), ["--withn"]);
});

// --- links --------------------------------------------------------------------------------------------

// Markdown without its code.
const prose = (text) => text.replace(/^```[^]*?^```$/gm, "").replace(/^ {4}.*$/gm, "").replace(/`[^`\n]*`/g, "x");

// The anchors that GitHub gives to the headings of a page.
function anchors(text) {
  const seen = new Map();
  return [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/^#{1,6} +(.*?) *#*$/gm)].map(([, h]) => {
    const slug = h.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const n = seen.get(slug) ?? 0;
    seen.set(slug, n + 1);
    return n === 0 ? slug : `${slug}-${n}`;
  });
}

function brokenLinks(file, text) {
  const bad = [];
  for (const [, target, anchor] of prose(text).matchAll(/(?:\]\(|\ssrc=")(?![a-z]+:)([^)#\s"]*)(?:#([^)\s"]*))?[)"]/g)) {
    const to = target === "" ? file : path.join(path.dirname(file), decodeURI(target));
    if (!fs.existsSync(path.join(root, to))) bad.push(`${file}: no file ${target}`);
    else if (anchor !== undefined && to.endsWith(".md") && !anchors(read(to)).includes(anchor)) bad.push(`${file}: no heading ${target}#${anchor}`);
  }
  return bad;
}

scenario("every link and anchor of the pages leads somewhere", ours, async () => {
  const everywhere = ["docs", "src", "test", "bench", "conf"].flatMap((d) => fs.readdirSync(path.join(root, d), { recursive: true }).map((f) => `${d}/${f}`));
  const files = [...fs.readdirSync(root), ...everywhere].filter((f) => f.endsWith(".md") && !f.includes("node_modules/"));
  assert.ok(files.length > pages.length);
  assert.deepEqual(files.flatMap((f) => brokenLinks(f, read(f))), []);
  assert.deepEqual(brokenLinks("README.md", "[a](nowhere.md) [b](README.md#nowhere) [c](#what-it-is-not) `[d](x)`"), ["README.md: no file nowhere.md", "README.md: no heading README.md#nowhere"]);
});
