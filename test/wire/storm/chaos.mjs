// chaos.mjs: everything at once: accounts that come and go, imports, permissions, WebSocket, TLS,
// system requests, pages, reloads and resets.  What counts is that the server survives it, keeps its
// books right and ends in good order.
import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import tls from "node:tls";
import { check, Client, connected, connectLine, delay, each, until } from "./kit.mjs";
import { dice } from "./lies.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// --- accounts -----------------------------------------------------------------------------------------
// A configuration out of many: which accounts there are, what they give each other, who may what.
function configuration(roll) {
  const some = (list) => list.filter(() => roll(3) > 0);
  const perms = () => roll(2) ? "" : `, permissions: { publish: { allow: ["req.>", "news.>", "_INBOX.>"], deny: "news.secret" },
      subscribe: { allow: [">"], deny: ["news.hidden", "req.* q"] }, allow_responses: { max: ${roll(4) - 1 || 1}, expires: "${1 + roll(3)}s" } }`;
  const maps = roll(2) ? `mappings { "old.*": "news.$1", "split": [ {destination: req.a, weight: 50%}, {destination: req.b, weight: 30%} ] }` : "";
  const a = `A { users: [ {user: a, password: p${perms()}} ]
      exports: [ ${some(['{service: "req.>"}', '{stream: "news.>"}', '{service: "slow", response: stream}']).join(", ")} ]\n${maps} }`;
  const has = (text) => a.includes(text);
  const imports = [
    has('service: "req.>"') && '{service: {account: A, subject: "req.>"}, to: "ask.>"}',
    has('stream: "news.>"') && '{stream: {account: A, subject: "news.>"}, prefix: "from"}',
    has('service: "slow"') && '{service: {account: A, subject: "slow"}}',
  ].filter((x) => x && roll(4));
  const b = `B { users: [ {user: b, password: p${perms()}} ]\nimports: [ ${imports.join(", ")} ]
      limits { max_connections: ${roll(3) ? -1 : 3}, max_subscriptions: ${roll(3) ? -1 : 40}, max_payload: ${roll(2) ? -1 : 2000} } }`;
  const c = roll(2) ? `C { users: [ {user: c, password: p} ] }` : "";
  return `accounts { $SYS { users: [ {user: sys, password: p} ] }\n${a}\n${b}\n${c} }
    max_payload: ${4000 + roll(2) * 4000}\nwrite_deadline: "${1 + roll(3)}s"
    websocket { listen: "127.0.0.1:-1", no_tls: true }\nmax_pending: 4MB\nping_interval: "${1 + roll(3)}s"`;
}

const SUBJECTS = ["req.a", "req.*", "news.>", "news.hidden", "ask.>", "ask.a", "from.news.>", ">", "*", "old.x", "split", "slow", "_INBOX.x.*",
  "$SYS.>", "$SYS.REQ.USER.INFO", "_R_.>"];
const TARGETS = ["req.a", "req.b", "news.x", "news.secret", "news.hidden", "ask.a", "ask.none", "old.x", "split", "slow", "_INBOX.x.1", "_R_.x.y",
  "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING.STATSZ", "$SYS.REQ.SERVER.PING", "a..b", ">"];

// One of a client's acts; answers to what it was asked included.
function act(roll, c, n) {
  const what = roll(40) ? roll(11) : 11;
  if (what === 8 && roll(3)) return "PING\r\n";
  if (what < 4) return `PUB ${roll.pick(TARGETS)} ${roll(2) ? `_INBOX.x.${roll(5)} ` : ""}3\r\nabc\r\n`;
  if (what < 6) return `SUB ${roll.pick(SUBJECTS)} ${roll(3) ? "" : roll.pick(["q ", "w "])}${n}\r\n`;
  if (what < 7) return `UNSUB ${roll(n + 1)}${roll(2) ? "" : ` ${1 + roll(5)}`}\r\n`;
  if (what < 8) return `HPUB ${roll.pick(TARGETS)} _INBOX.x.1 19 22\r\nNATS/1.0\r\nA: b\r\n\r\nabc\r\n`;
  if (what < 9) return connectLine({ user: roll.pick(["a", "b", "c", "sys", "nobody"]), pass: roll(20) ? "p" : "wrong", echo: roll(2) === 0 });
  if (what < 11) {
    const asked = /MSG \S+ \S+ (\S+) \d+/.exec(c.text);
    return asked ? `PUB ${asked[1]} 2\r\nhi\r\n` : "PING\r\n";
  }
  return `PUB news.big ${3000 + roll(6000)}\r\n`; // the payload may not come
}

async function citizen(roll, s, deadline) {
  while (Date.now() < deadline && s.status === undefined) {
    const c = new Client(s.port, { connect: { user: roll.pick(["a", "a", "b", "b", "c", "sys"]), pass: "p", protocol: roll(2), verbose: roll(5) === 0 } });
    for (let n = 1; n < 40 && !c.ended; n++) {
      c.send(act(roll, c, n));
      if (c.text.length > 20000) c.text = c.text.slice(-2000);
      if (roll(4) === 0) await delay(roll(4));
    }
    await delay(roll(20));
    if (roll(3)) c.close();
    else c.reset();
  }
}

const PAGES = ["/varz", "/connz?subs=1", "/connz?subs=detail&sort=subs&limit=5", "/connz?state=closed&sort=stop", "/connz?state=all&sort=bytes_to&auth=1",
  "/subsz?subs=1&limit=20", "/subsz?test=req.a", "/accountz", "/accountz?acc=A", "/accstatz?unused=1", "/metrics", "/healthz", "/", "/jsz", "/leafz",
  "/connz?cid=1", "/connz?user=a&auth=true", "/connz?acc=B&filter_subject=news.>&subs=1", "/routez?subs=1", "/gatewayz"];

async function reader(roll, s, deadline) {
  while (Date.now() < deadline && s.status === undefined) {
    const page = roll.pick(PAGES);
    const r = await s.get(page).catch((e) => ({ status: 0, text: e.message }));
    check(r.status === 200 || s.status !== undefined, `${page}: ${r.status} ${r.text.slice(0, 200)}`);
    await delay(10);
  }
}

// An operator who asks, kicks and reloads through the system account.
async function operator(roll, s, deadline) {
  while (Date.now() < deadline && s.status === undefined) {
    const c = new Client(s.port, { connect: { user: "sys", pass: "p" } });
    await c.ready().catch(() => {});
    const id = /"server_id":"(\w+)"/.exec((await s.get("/varz").catch(() => ({ text: "" }))).text)?.[1];
    c.send("SUB $SYS.> 1\r\nSUB _INBOX.> 2\r\n");
    for (let n = 0; n < 20 && !c.ended; n++) {
      const cid = JSON.stringify({ cid: roll(400) });
      const [what, body] = roll.pick([["VARZ", ""], ["CONNZ", '{"subscriptions":true}'], ["SUBSZ", '{"subscriptions":true}'], ["KICK", cid],
        ["LDM", cid], ["RELOAD", ""], ["STATSZ", ""], ["ACCOUNTZ", ""], ["HEALTHZ", ""], ["CONNZ", "{nonsense"]]);
      c.send(`PUB $SYS.REQ.SERVER.${id}.${what} _INBOX.s ${body.length}\r\n${body}\r\n`);
      await delay(roll(15));
      if (c.text.length > 50000) c.text = "";
    }
    c.close();
  }
}

scenario("accounts, imports and permissions change under everybody's feet", async (t) => {
  const seed = (t.seed ?? Date.now()) & 0xffffff;
  const roll = dice(seed);
  t.onFailure(`seed ${seed}`);
  const s = await t.server(configuration(roll));
  const idle = (await s.json("/varz")).subscriptions;
  const deadline = Date.now() + 5000;
  const crowd = [...Array.from({ length: 12 }, () => citizen(roll, s, deadline)), reader(roll, s, deadline), reader(roll, s, deadline),
    operator(roll, s, deadline)];
  let reloads = 0;
  while (Date.now() < deadline) {
    s.configure(configuration(roll));
    s.signal("SIGHUP");
    reloads++;
    await delay(20 + roll(60));
    check(s.status === undefined, `it died: ${s.status}`);
  }
  await Promise.all(crowd);
  await s.clientsLeft(0);
  s.configure(configuration(roll));
  s.signal("SIGHUP");
  await delay(100);
  const v = await s.json("/varz");
  const refused = s.log.split("Failed to reload").length - 1;
  check(refused < reloads / 4, `${refused} reloads were refused:\n${s.log.slice(-2000)}`);
  t.note(`${reloads} reloads, ${v.total_connections} connections, ${v.in_msgs} in, ${v.out_msgs} out, seed ${seed}`);
  check(v.subscriptions < idle + 40, `${v.subscriptions} subscriptions are left, ${idle} at first`);
  for (const a of (await s.json("/accstatz?unused=1")).account_statz ?? [])
    check(a.conns === 0 && (a.acc === "$SYS" || a.num_subscriptions < 20), `${a.acc}: ${a.conns} connections, ${a.num_subscriptions} subscriptions`);
  await s.stop();
}, { ours: true });

// --- TLS ------------------------------------------------------------------------------------------------
function certificate(s) {
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", "/CN=localhost", "-keyout", s.file("key.pem"), "-out", s.file("cert.pem")], { stdio: "ignore" });
}

// INFO in clear, then TLS on the same socket; what is sent is answered up to PONG.  Rejects when the
// server ends it before that.
async function talk(port, bytes) {
  const plain = new Client(port, { connect: null });
  await plain.expect("} \r\n");
  plain.sock.removeAllListeners("data");
  const sock = tls.connect({ socket: plain.sock, rejectUnauthorized: false });
  let text = "", why = null;
  sock.on("data", (d) => (text += d));
  sock.on("error", (e) => (why ??= e.message));
  sock.on("close", () => (why ??= "closed"));
  sock.write(bytes);
  await until("an answer over TLS", () => {
    check(why === null || text.includes("PONG\r\n"), `over TLS, after ${sock.getProtocol() ?? "no handshake"}: ${why}`);
    return text.includes("PONG\r\n");
  });
  return { sock, text };
}

// Peers that are about to speak TLS: some say nothing, some garbage, some stop halfway, some leave.
async function troublemakers(s, n, roll) {
  const hello = Buffer.from("16030100f8010000f40303", "hex");
  const all = [];
  await each(n, 50, async (i) => {
    const c = new Client(s.port, { connect: null });
    await c.expect("INFO ");
    all.push(c);
    if (i % 5 === 1) c.send(roll.bytes(1 + roll(300)));
    if (i % 5 === 2) c.send(hello.subarray(0, 1 + roll(hello.length))); // and then nothing
    if (i % 5 === 3) c.send(Buffer.concat([hello, roll.bytes(237)]));
    if (i % 5 === 4) (c.send(hello), c.reset());
  });
  return all;
}

scenario("TLS: handshakes that hang, lie or break off do not disturb the others", async (t) => {
  const conf = (timeout) => `tls { cert_file: "DIR/cert.pem", key_file: "DIR/key.pem", timeout: ${timeout} }`;
  const s = t.prepare();
  certificate(s);
  s.configure(conf(60)); // the honest may be slow: on a busy machine all are
  await s.start();
  const roll = dice(11);
  const bad = await troublemakers(s, 150, roll);
  await each(100, 25, async (i) => {
    const { sock, text } = await talk(s.port,
      connectLine() + `SUB tls.${i} 1\r\nPUB tls.${i} 20000\r\n${"x".repeat(20000)}\r\nPING\r\n`);
    check(text.includes(`MSG tls.${i} 1 20000\r\n`), text.slice(0, 100));
    if (i % 3) sock.destroy();
    else sock.write("PUB cut 100000\r\nabc", () => sock.destroy());
  });
  check(bad.some((c) => !c.ended), "nobody hung meanwhile");
  bad.forEach((c) => c.close());
  check(/Reloaded server/.test(await s.reload(conf(1))), "the reload was refused");
  await Promise.all((await troublemakers(s, 50, roll)).map((c) => c.closed())); // by the timeout
  await s.clientsLeft(0);
  await s.healthy();
  await s.stop();
});

// --- pinned certificates ----------------------------------------------------------------------------------
// Connects with the certificate, and resolves to what the server says first, "" if it ends.
function firstWords(port, s, ask) {
  return new Promise((resolve) => {
    const pem = (name) => readFileSync(s.file(name), "utf8");
    const sock = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false, key: pem("key.pem"), cert: pem("cert.pem") });
    let text = "";
    sock.on("data", (d) => /INFO [^]*\n/.test((text += d)) && (resolve(text), sock.destroy()));
    sock.on("error", () => {});
    sock.on("close", () => resolve(""));
    sock.write(ask);
  });
}

scenario("a valid certificate that is not pinned is refused, on WebSocket as on TCP", async (t) => {
  const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  for (const pinned of [true, false]) {
    const s = t.prepare();
    certificate(s);
    const key = new X509Certificate(readFileSync(s.file("cert.pem"))).publicKey.export({ type: "spki", format: "der" });
    const pin = createHash("sha256").update(pinned ? key : "another").digest("hex");
    const block = `tls { cert_file: "DIR/cert.pem", key_file: "DIR/key.pem", ca_file: "DIR/cert.pem", verify: true, timeout: 60
      pinned_certs: ["${pin}"]`;
    s.configure(`${block}\nhandshake_first: true }\nwebsocket { listen: "127.0.0.1:-1"\n${block} } }`);
    await s.start();
    for (const [port, ask] of [[s.port, ""], [s.ws, upgrade]]) {
      const said = await firstWords(port, s, ask);
      check(pinned === said.includes("INFO {"), `${port === s.ws ? "WebSocket" : "TCP"}, ${pinned ? "" : "not "}pinned: ${said.slice(0, 99)}`);
    }
    await s.stop();
  }
}, { ours: true }); // nats-server does not look at the pins of websocket {}
