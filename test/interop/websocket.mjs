// websocket.mjs: NATS inside WebSocket frames, with nats.js on the ws package and with bare sockets.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { headers, wsconnect } from "@nats-io/transport-node";
import WebSocket from "ws";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { Raw } from "./lib/raw.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const plain = (more = "") => ({ config: `websocket { listen: "127.0.0.1:-1", no_tls: true\n${more}\n}`, monitor: true });

// nats.js over ws, as in a browser; options.ws are the socket's.
async function open(t, server, { ws = {}, url = server.ws, ...options } = {}) {
  const nc = await wsconnect({
    servers: url,
    reconnect: false,
    timeout: LIMIT_MS,
    wsFactory: async () => ({ socket: new WebSocket(url, ws), encrypted: url.startsWith("wss") }),
    ...options,
  });
  t.after(() => nc.close());
  return nc;
}

scenario("a WebSocket client and a TCP client talk", async (t) => {
  const s = await t.server(plain());
  const web = await open(t, s, { name: "web" });
  const tcp = await t.connect(s, { name: "tcp" });
  const atWeb = collect(web, "to.web");
  const atTcp = collect(tcp, "to.tcp");
  await web.flush();
  await tcp.flush();
  const h = headers();
  h.set("Via", "ws");
  web.publish("to.tcp", "hello tcp", { headers: h });
  tcp.publish("to.web", "hello web");
  await until("both", () => atWeb.length === 1 && atTcp.length === 1);
  assert.equal(atTcp[0].headers.get("Via"), "ws");
  assert.deepEqual(atWeb.texts(), ["hello web"]);
  tcp.subscribe("ask", { callback: (_, m) => m.respond("answer") });
  await tcp.flush();
  assert.equal((await web.request("ask", "", { timeout: 60000 })).string(), "answer");
  const { connections } = (await s.page("/connz")).json;
  assert.deepEqual(connections.map((c) => c.type).sort(), ["nats", "websocket"]);
});

scenario("INFO of a WebSocket client names the WebSocket port", async (t) => {
  const s = await t.server(plain());
  const web = await open(t, s);
  assert.equal(web.info.port, Number(new URL(s.ws).port));
  assert.equal(web.info.client_ip, "127.0.0.1");
});

for (const compression of [false, true])
  scenario(`big and many messages, compression ${compression ? "on" : "off"}`, async (t) => {
    const s = await t.server(plain(`compression: ${compression}`));
    const a = await open(t, s, { ws: { perMessageDeflate: compression } });
    const b = await t.connect(s);
    const got = collect(a, "data");
    const back = collect(b, "back");
    await a.flush();
    await b.flush();
    const sizes = [0, 1, 125, 126, 4095, 4096, 4097, 65535, 65536, 200000, 1000000];
    const body = (n) => (n % 2 ? crypto.randomBytes(n) : Buffer.alloc(n, "abc"));
    const sent = sizes.map(body);
    for (const d of sent) {
      b.publish("data", d);
      a.publish("back", d);
    }
    for (let i = 0; i < 2000; i++) b.publish("data", `small ${i}`);
    await until("all of them", () => got.length === sizes.length + 2000 && back.length === sizes.length);
    sent.forEach((d, i) => {
      assert.ok(d.equals(Buffer.from(got[i].data)), `to ws, ${sizes[i]} bytes`);
      assert.ok(d.equals(Buffer.from(back[i].data)), `from ws, ${sizes[i]} bytes`);
    });
    assert.equal(got.at(-1).string(), "small 1999");
  });

scenario("credentials over WebSocket, and users bound to it", async (t) => {
  const s = await t.server({
    config: `websocket { listen: "127.0.0.1:-1", no_tls: true }
      authorization { users: [ {user: any, password: p},
        {user: web, password: p, allowed_connection_types: [WEBSOCKET]},
        {user: tcp, password: p, allowed_connection_types: [STANDARD]} ] }`,
  });
  await (await open(t, s, { user: "any", pass: "p" })).flush();
  await (await open(t, s, { user: "web", pass: "p" })).flush();
  await assert.rejects(open(t, s, { user: "tcp", pass: "p" }), /authorization violation/i);
  await assert.rejects(open(t, s, { user: "any", pass: "x" }), /authorization violation/i);
  await assert.rejects(open(t, s), /authorization violation/i);
  await t.refused(s, { user: "web", pass: "p" });
});

scenario("wss with a certificate", async (t) => {
  const s = await t.server({ config: `websocket { listen: "127.0.0.1:-1"\n${tlsBlock()}\n}`, monitor: true });
  assert.match(s.ws, /^wss:/);
  const nc = await open(t, s, { ws: { ca: certs().read("ca.pem") } });
  const got = collect(nc, "x");
  nc.publish("x", "secret");
  await nc.flush();
  assert.deepEqual(got.texts(), ["secret"]);
  await assert.rejects(open(t, s, { ws: { ca: certs().read("strangerCa.pem") } }));
});

scenario("same_origin and allowed_origins", async (t) => {
  const same = await t.server(plain("same_origin: true"));
  const own = same.ws.replace("ws:", "http:");
  await (await open(t, same, { ws: { origin: own } })).flush();
  await (await open(t, same)).flush(); // no Origin: not a browser
  await assert.rejects(open(t, same, { ws: { origin: "http://evil.example.test" } }));
  const some = await t.server(plain('allowed_origins: ["http://good.example.test"]'));
  await (await open(t, some, { ws: { origin: "http://good.example.test" } })).flush();
  await assert.rejects(open(t, some, { ws: { origin: "http://bad.example.test" } }));
});

// The status of a hand-written upgrade request.
async function upgrade(t, s, lines) {
  const h = await Raw.open(Number(new URL(s.ws).port), { silent: true });
  t.after(() => h.close());
  h.sendBytes(lines.join("\r\n") + "\r\n\r\n");
  const m = await h.expect(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n/);
  return { status: Number(m[1]), head: m[0], socket: h };
}
const key = "dGhlIHNhbXBsZSBub25jZQ==";
const good = ["GET / HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13"];

scenario("the upgrade: right answer, wrong requests refused", async (t) => {
  const s = await t.server(plain());
  const ok = await upgrade(t, s, good);
  assert.equal(ok.status, 101);
  // The key of RFC 6455 and its accept value.
  assert.match(ok.head, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
  assert.match(ok.head, /upgrade: websocket/i);
  const without = (name) => good.filter((l) => !l.startsWith(name));
  const table = [
    [["POST / HTTP/1.1", ...good.slice(1)], 405],
    [without("Upgrade"), 400], [without("Connection"), 400], [without("Sec-WebSocket-Key"), 400],
    [[...without("Sec-WebSocket-Version"), "Sec-WebSocket-Version: 12"], 400],
  ];
  for (const [lines, status] of table) assert.equal((await upgrade(t, s, lines)).status, status, lines.join(" | "));
});

// One client frame, masked.
function frame(opcode, payload, { fin = true, masked = true } = {}) {
  const body = Buffer.from(payload, "latin1");
  const mask = Buffer.from([1, 2, 3, 4]);
  const head = [(fin ? 0x80 : 0) | opcode];
  if (body.length < 126) head.push((masked ? 0x80 : 0) | body.length);
  else head.push((masked ? 0x80 : 0) | 126, body.length >> 8, body.length & 255);
  const data = masked ? Buffer.from(body.map((b, i) => b ^ mask[i % 4])) : body;
  return Buffer.concat([Buffer.from(head), masked ? mask : Buffer.alloc(0), data]);
}

scenario("frames: split anywhere, with pings and continuations between", async (t) => {
  const s = await t.server(plain());
  const { socket } = await upgrade(t, s, good);
  await socket.expect(/INFO {/);
  const text = 'CONNECT {"verbose":false}\r\nSUB a 1\r\nPUB a 5\r\nhello\r\nPING\r\n';
  const bytes = Buffer.concat([
    frame(2, text.slice(0, 3), { fin: false }), frame(9, "are you there"), frame(0, text.slice(3, 40), { fin: false }),
    frame(0, text.slice(40, 41)), frame(2, text.slice(41)),
  ]);
  for (const b of bytes) {
    socket.socket.write(Buffer.of(b));
    await new Promise((ok) => setImmediate(ok));
  }
  await socket.expect(/\x8a\x0dare you there/);
  await socket.expect(/MSG a 1 5\r\nhello\r\n/);
  await socket.expect(/PONG\r\n/);
});

scenario("frames: a close is answered, broken frames end the connection", async (t) => {
  const s = await t.server(plain());
  const begin = async () => {
    const { socket } = await upgrade(t, s, good);
    await socket.expect(/INFO {.*} ?\r\n/);
    return socket;
  };
  const polite = await begin();
  polite.socket.write(frame(8, "\x03\xe8"));
  assert.match(await polite.closed(), /\x88\x02\x03\xe8/);
  for (const bad of [
    frame(2, "PING\r\n", { masked: false }), // a client must mask
    frame(3, "x"), // reserved opcode
    frame(9, "x", { fin: false }), // control frames are never split
    frame(0, "x"), // continues nothing
    Buffer.concat([Buffer.from([0xf2, 0x86, 1, 2, 3, 4]), Buffer.alloc(6)]), // reserved bits
  ]) {
    const c = await begin();
    c.socket.write(bad);
    await c.closed();
  }
  await (await open(t, s)).flush();
});

scenario("a lame duck warns WebSocket clients too; restart on the same ports", async (t) => {
  const s = await t.server({ ...plain(), config: plain().config + '\nlame_duck_duration: "30s", lame_duck_grace_period: "500ms"' });
  const web = await open(t, s);
  const seen = [];
  (async () => {
    for await (const e of web.status()) seen.push(e.type);
  })();
  s.signal("SIGUSR2");
  await until("the warning", () => seen.includes("ldm"));
  await web.close();
  await s.waitExit();
});
