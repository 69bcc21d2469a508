// tool_liars.mjs: the tool `mayfly` with servers that lie, fall silent or send sequences for the terminal, and with odd contexts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import { scenario } from "./lib/scenario.mjs";
import { expect, live, mayfly } from "./lib/tool.mjs";
import { until, within } from "./lib/wait.mjs";

const only = { only: "mayfly" };

async function listening(t, server) {
  const held = new Set();
  server.on("connection", (c) => held.add(c.on("error", () => {})));
  t.after(() => (held.forEach((c) => c.destroy()), server.close()));
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  return server.address().port;
}

// A NATS server that answers each request with answer(SUBJECT, BODY): an object, or headers alone; undefined: no answer.
async function liar(t, answer, info = {}, pongs = () => true) {
  const port = await listening(t, net.createServer((c) => {
    const subs = [];
    let buf = "";
    c.write(`INFO ${JSON.stringify({ server_id: "x", version: "2.15.1", proto: 1, headers: true, max_payload: 1048576, ...info })}\r\n`);
    c.on("data", (d) => {
      buf += d.toString("latin1");
      for (let end; (end = buf.indexOf("\r\n")) >= 0; ) {
        const w = buf.slice(0, end).split(" ");
        const size = /^H?PUB$/.test(w[0]) ? Number(w.at(-1)) + 2 : 0;
        if (buf.length < end + 2 + size) return;
        const body = buf.slice(end + 2, end + size);
        buf = buf.slice(end + 2 + size);
        if (w[0] === "PING") pongs() && c.write("PONG\r\n");
        else if (w[0] === "SUB") subs.push([w[1].replace(/[.*>]+$/, ""), w.at(-1)]);
        else if (size > 0) {
          const doc = answer(w[1], body);
          const sub = subs.find(([prefix]) => w[2]?.startsWith(prefix));
          const text = JSON.stringify(doc);
          if (typeof doc === "string" && sub) c.write(`HMSG ${w[2]} ${sub[1]} ${doc.length} ${doc.length}\r\n${doc}\r\n`);
          else if (doc && sub) c.write(`MSG ${w[2]} ${sub[1]} ${Buffer.byteLength(text)}\r\n${text}\r\n`);
        }
      }
    });
  }));
  return { url: `nats://127.0.0.1:${port}` };
}
const page = async (t, answer) => `http://127.0.0.1:${await listening(t, http.createServer(answer))}`;

const config = { name: "KV_b", subjects: ["$KV.b.>"], allow_msg_ttl: true };
const info = { type: "io.nats.jetstream.api.v1.stream_info_response", config, state: { messages: 1, first_seq: 1, last_seq: 1 } };

scenario("a list whose total is a lie ends", only, async (t) => {
  let asked = 0;
  const same = (list) => () => (asked++, { total: 1e9, offset: 0, limit: 1, streams: list, consumers: list });
  for (const [list, ...args] of [[[info], "stream", "ls"], [["A"], "stream", "ls", "--names"], [["no name"], "backup", "--all", t.prepare().file("backup")], [[{ stream: "A" }], "ttl", "policy"], [[], "ttl", "policy"]]) {
    asked = 0;
    const s = await liar(t, same(list));
    await within(`the end of ${args.join(" ")}`, mayfly(s, ...args));
    assert.ok(asked > 0 && asked < 10, `${args.join(" ")}: ${asked} requests`);
  }
  asked = 0;
  const connections = Array.from({ length: 256 }, (_, cid) => ({ cid, ip: "127.0.0.1", port: 1, account: "$G" }));
  const url = await page(t, (q, r) => (asked++, r.end(JSON.stringify({ connections, num_connections: 256, total: 1e9 }))));
  await within("the end of the report", mayfly({}, "server", "report", "connections", url));
  assert.ok(asked > 0 && asked < 10, `${asked} pages`);
});

scenario("ttl persist: an answer that changed nothing", only, async (t) => {
  const s = await liar(t, (subject) => (/STREAM\.INFO/.test(subject) ? info : { subject: "$KV.b.k", seq: 3, count: 0 }));
  assert.equal(await expect(0, s, "ttl", "persist", "kv:b", "k"), "k rev 3 is unchanged\n");
  assert.equal(await expect(0, s, "ttl", "set", "kv:b", "k", "1h"), "k rev 3 is unchanged\n");
  assert.equal(await expect(0, s, "ttl", "set", "kv:b", "k", "1h", "--if", "unset"), "k rev 3 is unchanged: --if unset does not hold\n");
});

scenario("sequences of a server do not reach the terminal", only, async (t) => {
  const esc = "\u001b[31m";
  const job = { state: `done${esc}`, which: esc, from: esc, spread: esc, filter: esc, decided: { [esc]: 3 }, seen: 1, total: 1 };
  const s = await liar(t, (subject) => (/STREAM\.INFO/.test(subject) ? info : { job }));
  const varz = { server_id: esc, server_name: esc, version: esc, mayfly: esc, uptime: esc };
  const url = await page(t, (q, r) => r.end(JSON.stringify(q.url === "/varz" ? varz : { status: esc, error: esc })));
  for (const r of [await mayfly(s, "ttl", "backfill", "kv:b", "status"), await mayfly({}, "server", "check", url), await mayfly({}, "check", `/nonexistent/${esc}`), await mayfly({}, "check", "a", esc), await mayfly({}, "check", "--repair", `/nonexistent/${esc}`, "--to", "/nonexistent/x"), await mayfly({}, "check", "--repair", "a", `--${esc}`)]) {
    assert.ok(!(r.stdout + r.stderr).includes("\u001b"), JSON.stringify(r.stdout + r.stderr));
    assert.match(r.stdout + r.stderr, /\\x1b\[31m/);
  }
});

scenario("restore: an answer without a subject to send to", only, async (t) => {
  const m = t.prepare({ config: 'jetstream { store_dir: "DIR/js" }\n' });
  await m.start();
  await expect(0, m, "stream", "create", "S", "--subjects", "s.>");
  await expect(0, m, "backup", "S", m.file("b"));
  const s = await liar(t, () => ({ deliver_subject: "" }));
  assert.match(await expect(4, s, "restore", m.file("b")), /names no subject to send to/);
});

scenario("object put: a server that takes no payloads, or claims to take all", only, async (t) => {
  const m = t.prepare();
  fs.mkdirSync(m.file("."), { recursive: true });
  fs.writeFileSync(m.file("in"), "hello");
  for (const most of [-1, 0]) {
    const s = await liar(t, () => ({ error: { code: 404, err_code: 10037, description: "no message found" } }), { max_payload: most });
    assert.match(await within("the end", expect(4, s, "object", "put", "o", m.file("in"))), /takes no payloads/);
  }
  let stored = 0;
  const ok = (subject) => (/API/.test(subject) ? "NATS/1.0 404 Message Not Found\r\n\r\n" : { stream: "OBJ_o", seq: ++stored });
  await expect(0, await liar(t, ok, { max_payload: 2 ** 50 }), "object", "put", "o", m.file("in"), "--chunk", "1000GB");
  assert.equal(stored, 2);
});

scenario("object put: 4 MB of chunks are under way at a time; a refusal or silence purges them", only, async (t) => {
  const m = t.prepare();
  fs.mkdirSync(m.file("."), { recursive: true });
  fs.writeFileSync(m.file("in"), Buffer.alloc(40 * 131072));
  const absent = "NATS/1.0 404 Message Not Found\r\n\r\n";
  const run = async (code, ack, ...flags) => {
    const seen = { chunks: 0, metas: 0, purges: 0 };
    const s = await liar(t, (subject) => {
      if (/^\$O\.o\.C\./.test(subject)) return ack(++seen.chunks);
      if (/^\$O\.o\.M\./.test(subject)) return seen.metas++, { stream: "OBJ_o", seq: 1 };
      if (/STREAM\.PURGE/.test(subject)) return seen.purges++, { success: true, purged: 0 };
      return absent;
    });
    return [await within("the end", expect(code, s, "object", "put", "o", m.file("in"), ...flags)), seen];
  };
  const stored = (seq) => ({ stream: "OBJ_o", seq });
  assert.deepEqual((await run(0, stored))[1], { chunks: 40, metas: 1, purges: 0 });
  const [silent, seen] = await run(2, () => undefined, "--timeout", "300ms");
  assert.match(silent, /no answer to o in time/);
  assert.deepEqual(seen, { chunks: 32, metas: 0, purges: 1 });
  const full = { error: { code: 400, err_code: 10077, description: "maximum bytes exceeded" } };
  const [refused, after] = await run(4, (n) => (n === 3 ? full : stored(n)));
  assert.match(refused, /maximum bytes exceeded/);
  assert.deepEqual([after.metas, after.purges], [0, 1]);
});

scenario("Ctrl-C twice ends a command that waits for a silent server", only, async (t) => {
  let pings = 0;
  const s = await liar(t, () => {}, {}, () => ++pings === 1);
  const p = live(t, s, "sub", "a", "--timeout", "1h");
  await until("the wait", () => pings === 2);
  // Not the second before the first is taken: they would be one.
  const taken = () => p.gone || !(BigInt(`0x${/^ShdPnd:\s*(\w+)/m.exec(fs.readFileSync(`/proc/${p.proc.pid}/status`, "utf8"))[1]}`) & 2n);
  p.proc.kill("SIGINT");
  await until("the first", taken);
  p.proc.kill("SIGINT");
  assert.equal((await within("the end", p.exited)).code, "SIGINT");
});

scenario("--timeout is for a whole page, also if it comes drop by drop", only, async (t) => {
  const url = await page(t, (q, r) => {
    const timer = setInterval(() => r.write(" "), 20);
    r.on("close", () => clearInterval(timer));
  });
  const r = await within("the end", mayfly({}, "server", "check", url, "--timeout", "300ms"));
  assert.equal(r.code, 2);
  assert.match(r.stderr, /no answer in time \(--timeout\)/);
});

scenario("passwords and tokens of URLs are not shown", only, async (t) => {
  const port = await listening(t, net.createServer((c) => c.destroy()));
  const nobody = await page(t, (q, r) => r.end("x"));
  const at = `127.0.0.1:${port}`;
  for (const args of [["stream", "ls", "-s", `nats://bob:SECRET@${at}`], ["stream", "ls", "-s", `nats://SECRET@${at},nats://a:SECRET@${at}`], ["stream", "ls", "-s", `nats://bob:x,SECRET/y@${at}`], ["stream", "ls", "-s", `bob:SECRET@${at}`],
    ["demo", "-s", `nats://bob:SECRET@${at}`], ["server", "check", `http://bob:SECRET@${at}`], ["server", "check", nobody.replace("//", "//SECRET@")], ["top", `http://bob:SECRET@${at}`, "--count", "1"], ["server", "report", "streams", `ftp://bob:SECRET@${at}`]]) {
    const r = await mayfly({}, ...args, "--timeout", "2s");
    assert.equal(r.code, 2, args.join(" "));
    assert.ok(!/SECRET/.test(r.stdout + r.stderr), r.stdout + r.stderr);
    assert.match(r.stderr, /127\.0\.0\.1/);
  }
});

scenario("a context with settings of a wrong type, and one that is no file", only, async (t) => {
  const m = t.prepare();
  fs.mkdirSync(m.file("config/nats/context"), { recursive: true });
  const file = m.file("config/nats/context/odd.json");
  const run = () => within("the end", mayfly({ vars: { XDG_CONFIG_HOME: m.file("config") } }, "stream", "ls", "--context", "odd", "--timeout", "1s"));
  for (const [doc, key, what] of [[{ url: 5 }, "url", "text"], [{ url: {} }, "url", "text"], [{ user: "u", password: [] }, "password", "text"], [{ creds: true }, "creds", "text"], [{ tls_first: "yes" }, "tls_first", "boolean"]]) {
    fs.writeFileSync(file, JSON.stringify(doc));
    const r = await run();
    assert.equal(r.code, 2);
    assert.ok(r.stderr.includes(`odd.json: "${key}" is no ${what}`), r.stderr);
  }
  fs.writeFileSync(file, JSON.stringify({ url: null, description: 5 }));
  assert.match((await run()).stderr, /no server at nats:\/\/127\.0\.0\.1:4222/);
  fs.rmSync(file);
  execFileSync("mkfifo", [file]);
  assert.match((await run()).stderr, /odd\.json is no plain file/);
  execFileSync("mkfifo", [m.file("config/nats/context.txt")]);
  assert.match((await within("the end", mayfly({ vars: { XDG_CONFIG_HOME: m.file("config") } }, "stream", "ls", "--timeout", "1s"))).stderr, /no server at/);
});
