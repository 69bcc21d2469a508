// proxy_protocol.mjs: clients behind a load balancer that names them, with the PROXY protocol.
import assert from "node:assert/strict";
import net from "node:net";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const ON = "proxy_protocol: true\n";
const TEXT = "PROXY TCP4 10.1.2.3 127.0.0.1 4660 4222\r\n";
const BINARY = Buffer.concat([Buffer.from("\r\n\r\n\0\r\nQUIT\n!", "latin1"), Buffer.from("11000c0a0102037f00000112341092", "hex")]);

// A load balancer in front of s; the header goes in pieces of `piece` bytes.
async function balancer(t, s, header, piece = header.length) {
  const server = net.createServer((near) => {
    const far = net.connect({ port: s.port, host: "127.0.0.1", noDelay: true });
    for (const x of [near, far]) x.on("error", () => x.destroy());
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
    far.pipe(near);
    (async () => {
      for (let i = 0; i < header.length; i += piece) await new Promise((ok) => far.write(header.slice(i, i + piece), () => setImmediate(ok)));
      near.pipe(far);
    })();
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  t.after(() => server.close());
  return { port: server.address().port, url: `nats://127.0.0.1:${server.address().port}` };
}

const peers = async (s) => (await s.page("/connz")).json.connections.map((c) => `${c.ip}:${c.port}`);

async function works(nc) {
  const got = collect(nc, "works");
  nc.publish("works", "x".repeat(100000));
  await nc.flush();
  assert.equal(got[0].data.length, 100000);
}

scenario("a header names the client: text, binary, whole and in pieces", async (t) => {
  const s = await t.server({ config: ON, monitor: true });
  for (const [header, piece] of [[Buffer.from(TEXT)], [Buffer.from(TEXT), 5], [BINARY], [BINARY, 3]]) {
    const nc = await t.connect(await balancer(t, s, header, piece));
    await works(nc);
    assert.equal(nc.info.client_ip, "10.1.2.3");
    assert.deepEqual(await peers(s), ["10.1.2.3:4660"]);
    await nc.close();
    await until("it left", async () => (await peers(s)).length === 0);
  }
});

scenario("a check of the balancer itself, and clients without a header, are what they are", async (t) => {
  const s = await t.server({ config: ON, monitor: true });
  for (const header of ["PROXY UNKNOWN\r\n", ""]) {
    const nc = await t.connect(await balancer(t, s, Buffer.from(header)));
    await works(nc);
    assert.match((await peers(s))[0], /^127\.0\.0\.1:\d+$/);
    await nc.close();
    await until("it left", async () => (await peers(s)).length === 0);
  }
  const r = await t.raw(s);
  assert.equal(r.info.client_ip, undefined, "not known yet");
  r.send("PING"); // the same first letter
  await r.expect(/^PONG\r\n/);
});

scenario("behind TLS: the header comes before the handshake", async (t) => {
  for (const more of ["", "handshake_first: true"]) {
    const s = await t.server({ config: ON + tlsBlock(more), monitor: true });
    const tls = { servername: "localhost", ca: certs().read("ca.pem"), handshakeFirst: more !== "" };
    const nc = await t.connect(await balancer(t, s, Buffer.from(TEXT), 7), { tls });
    await works(nc);
    assert.deepEqual(await peers(s), ["10.1.2.3:4660"]);
  }
});

scenario("a bad header, or none in time, ends the connection and is logged", async (t) => {
  const s = await t.server({ config: ON });
  for (const [bytes, why] of [
    ["PROXY TCP4 x 127.0.0.1 1 2\r\n", "invalid PROXY protocol header: invalid address"],
    ["PROXY TCP4 10.1.2.3 127.0.0.1 1\r\n", "invalid PROXY protocol header: invalid v1 format"],
    ["PROXY TCP4 " + "1".repeat(100), "invalid PROXY protocol header: v1 line too long"],
    ["PROXY TCP4 1.2.", "i/o timeout"],
  ]) {
    const r = await t.raw(s);
    r.sendBytes(bytes);
    assert.equal(await r.closed(), "");
    assert.match(s.log(), new RegExp(`Error reading PROXY protocol header from 127\\.0\\.0\\.1:\\d+: .*${why}`));
  }
  const silent = await t.raw(s);
  assert.equal(await silent.closed(), "");
});

scenario("without the option a header is an unknown command", async (t) => {
  const s = await t.server();
  const r = await t.raw(s);
  r.sendBytes(TEXT);
  assert.match(await r.closed(), /^-ERR 'Unknown Protocol Operation'/);
});
