// settings.mjs: keys of the configuration that no other scenario turns.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { certs, tlsBlock } from "../interop/lib/certs.mjs";
import { until } from "../interop/lib/wait.mjs";
import { freePort } from "./lib/ports.mjs";
import { crosses, leafz, logged, scenario } from "./lib/setup.mjs";

const A = { user: "a", pass: "a" };

// A TCP server for one scenario; fn(socket) for each connection.
async function listen(t, fn) {
  const port = await freePort();
  const sockets = [];
  const s = net.createServer((c) => {
    sockets.push(c);
    c.on("error", () => {});
    fn(c);
  });
  await new Promise((ok, bad) => s.once("error", bad).listen(port, "127.0.0.1", ok));
  t.after(() => {
    s.close();
    for (const c of sockets) c.destroy();
  });
  return { port, sockets };
}

scenario("advertise: the address that others are told", { quick: true }, async (t) => {
  const hub = await t.hub({ leafnodes: `advertise: "hub.example:7422"` });
  const raw = await t.rawLeaf(hub);
  assert.deepEqual(raw.info.leafnode_urls, ["hub.example:7422"]);
});

scenario("first_info_timeout: a silent hub is left, and dialled again", { quick: true, alone: "leaf" }, async (t) => {
  const silent = await listen(t, () => {});
  await t.leaf({ to: { port: silent.port }, remote: `first_info_timeout: "50ms"` });
  await until("a third attempt", () => silent.sockets.length >= 3);
});

scenario("disabled: no attempt, until a reload enables the remote", { quick: true }, async (t) => {
  const hub = await t.hub();
  const leaf = await t.leaf({ to: hub, remote: "disabled: true" });
  await (await t.connect(leaf)).flush();
  assert.equal((await hub.page("/leafz")).json.leafnodes, 0);
  const off = leaf.config;
  leaf.reload(off.replace("disabled: true", ""));
  await leafz(hub);
  leaf.reload(off);
  await until("no link", async () => (await hub.page("/leafz")).json.leafnodes === 0);
});

// An HTTP proxy as small as can be: a tunnel for those who know the password.
scenario("proxy: a WebSocket remote through an HTTP proxy", { quick: true }, async (t) => {
  const port = await freePort();
  const hub = await t.hub({ more: `websocket { listen: "127.0.0.1:${port}", no_tls: true }` });
  const asked = [];
  const p = await listen(t, (c) => {
    c.once("data", (d) => {
      asked.push(d.toString());
      const ok = asked.at(-1).includes(`Proxy-Authorization: Basic ${Buffer.from("ann:secret").toString("base64")}\r\n`);
      if (!ok) return c.end("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
      const on = net.connect(port, "127.0.0.1", () => {
        c.write("HTTP/1.1 200 OK\r\n\r\n");
        c.pipe(on).pipe(c);
      });
      on.on("error", () => c.destroy());
    });
  });
  const config = (password) => `proxy { url: "http://127.0.0.1:${p.port}", username: ann, password: ${password}, timeout: "60s" }`;
  const refused = await t.leaf({ name: "L1", domain: "l1", to: { port }, scheme: "ws", remote: config("wrong") });
  await logged(refused, /Error trying to connect.*(407|proxy)/i);
  assert.doesNotMatch(refused.log(), /secret|wrong/);
  const leaf = await t.leaf({ to: { port }, scheme: "ws", remote: config("secret") });
  await leafz(hub);
  assert.match(asked.at(-1), new RegExp(`^CONNECT 127\\.0\\.0\\.1:${port} HTTP/1\\.1\r\nHost: 127\\.0\\.0\\.1:${port}\r\n`));
  await crosses(await t.connect(leaf), await t.connect(hub, A));
});

const spki = (file) => crypto.createHash("sha256").update(new crypto.X509Certificate(fs.readFileSync(file)).publicKey.export({ type: "spki", format: "der" })).digest("hex");

scenario("pinned_certs: only this certificate, of all that the authority signed", { quick: true }, async (t) => {
  const block = (who) => tlsBlock(`verify: true, pinned_certs: ["${spki(`${certs()[who]}.pem`)}"]`);
  const own = `tls { ca_file: "${certs().ca}.pem", cert_file: "${certs().client}.pem", key_file: "${certs().client}.key", timeout: 60 }`;
  const strict = await t.hub({ leafnodes: block("server") });
  const hub = await t.hub({ name: "N2", leafnodes: block("client") });
  await t.leaf({ to: { port: strict.leafPort, host: "localhost" }, scheme: "tls", remote: own });
  await logged(strict, /certificate not pinned|Pinned|pinned/i);
  assert.equal((await strict.page("/leafz")).json.leafnodes, 0);
  const leaf = await t.leaf({ name: "L2", domain: "l2", to: { port: hub.leafPort, host: "localhost" }, scheme: "tls", remote: own });
  await leafz(hub);
  await crosses(await t.connect(leaf), await t.connect(hub, A));
});

scenario("a tls:// URL alone demands TLS: no credentials in clear", { quick: true, leaf: "mayfly" }, async (t) => {
  const hub = await t.hub();
  const proxy = await t.proxy(hub, { opaque: true });
  const leaf = await t.leaf({ to: proxy, scheme: "tls" });
  await logged(leaf, /TLS leafnode handshake error/);
  assert.equal((await hub.page("/leafz")).json.leafnodes, 0);
});
