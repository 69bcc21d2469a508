// tls.mjs: encrypted connections: whom the client trusts, whom the server trusts, and when.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import https from "node:https";
import net from "node:net";
import { Duplex } from "node:stream";
import tls from "node:tls";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { steadily, until } from "./lib/wait.mjs";

async function works(nc) {
  const got = collect(nc, "works");
  nc.publish("works", "x".repeat(100000));
  await nc.flush();
  assert.equal(got[0].data.length, 100000);
}

// The certificates name localhost; the tests dial 127.0.0.1, so that they need no name service.
const named = (tls) => ({ tls: { servername: "localhost", ...tls } });

scenario("the server proves itself; a client with another CA walks away", async (t) => {
  const s = await t.server({ config: tlsBlock() });
  assert.match(s.url, /^tls:/);
  const nc = await t.connect(s, named({ ca: certs().read("ca.pem") }));
  assert.equal(nc.info.tls_required, true);
  await works(nc);
  await t.refused(s, named({ ca: certs().read("strangerCa.pem") }), /certificate|verify/i);
});

scenario("a client that stays plain gets nothing", async (t) => {
  const s = await t.server({ config: tlsBlock() });
  const r = await t.raw(s);
  assert.equal(r.info.tls_required, true);
  r.send('CONNECT {"verbose":true}', "PING");
  assert.doesNotMatch(await r.closed(), /PONG|\+OK/);
});

scenario("verify: a client certificate is demanded and checked", async (t) => {
  const c = certs();
  const s = await t.server({ config: tlsBlock("verify: true") });
  const nc = await t.connect(s, named(c.trust("client")));
  assert.equal(nc.info.tls_verify, true);
  await works(nc);
  const refusal = /certificate|handshake|alert|closed|reset|timeout|ended/i;
  await t.refused(s, named(c.trust()), refusal);
  await t.refused(s, named({ ...c.trust("stranger") }), refusal);
});

scenario("verify_and_map: the certificate's e-mail is the user", async (t) => {
  const c = certs();
  const s = await t.server({
    config: `${tlsBlock("verify_and_map: true")}
      authorization { users: [ { user: "derek@example.test", permissions: { publish: "only.this" } } ] }`,
  });
  const nc = await t.connect(s, named(c.trust("mapped")));
  const info = JSON.parse((await request(nc, "$SYS.REQ.USER.INFO")) ?? "{}");
  assert.equal(info.data, undefined); // the permission is already at work
  nc.publish("other", "x");
  await until("the violation", () => nc.errors.length > 0);
  assert.match(nc.errors[0].message, /Publish to "/);
  await t.refused(s, named(c.trust("client")));
});

async function request(nc, subject) {
  try {
    return (await nc.request(subject, "", { timeout: 300 })).string();
  } catch {
    return undefined;
  }
}

scenario("handshake_first: TLS from the first byte", async (t) => {
  const c = certs();
  const s = await t.server({ config: tlsBlock("handshake_first: true") });
  await works(await t.connect(s, named({ ca: c.read("ca.pem"), handshakeFirst: true })));
  // No INFO in clear: whoever waits for it gets nothing until the server gives up.
  const r = await t.raw(await t.server({ config: tlsBlock("handshake_first: true", 1) }), { silent: true });
  assert.doesNotMatch(await r.closed(), /INFO/);
});

// What "auto" waits for a handshake, 50 ms, is little on a busy machine.
scenario("handshake_first auto: both kinds of client", (t) => steadily(async () => {
  const c = certs();
  const s = await t.server({ config: tlsBlock('handshake_first: "auto"') });
  await works(await t.connect(s, named({ ca: c.read("ca.pem") })));
  await works(await t.connect(s, named({ ca: c.read("ca.pem"), handshakeFirst: true })));
}, 20));

// A socket that sends its first packet at once and every later one 500 ms after it was written: a
// handshake over a long way.
function farAway(port) {
  const near = net.connect(port, "127.0.0.1");
  let first = true;
  const far = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      const delay = first ? 0 : 500;
      first = false;
      setTimeout(() => near.write(chunk, () => done()), delay);
    },
  });
  near.on("data", (d) => far.push(d));
  near.on("close", () => far.push(null));
  near.on("error", () => {});
  far.on("close", () => near.destroy());
  return far;
}

scenario("handshake_first: a slow handshake is no reason to give up", (t) => steadily(async () => {
  const s = await t.server({ config: tlsBlock('handshake_first: "300ms"') });
  const c = tls.connect({ socket: farAway(s.port), ca: certs().read("ca.pem"), servername: "localhost" });
  let text = "";
  let ended = null;
  c.on("data", (d) => (text += d));
  c.on("error", (e) => (ended = e));
  c.on("end", () => (ended ??= "closed"));
  await until("INFO over TLS", () => text.startsWith("INFO ") || (ended && assert.fail(String(ended))));
  c.destroy();
}));

scenario("https pages ask for no client certificate, though clients are asked", async (t) => {
  const s = await t.server({ config: `${tlsBlock("verify: true")}\nhttps: "127.0.0.1:-1"` });
  const status = await new Promise((resolve, reject) => {
    https.get(`${s.http}/healthz`, { rejectUnauthorized: false }, (r) => resolve(r.resume().statusCode)).on("error", reject);
  });
  assert.equal(status, 200);
});

scenario("allow_non_tls: plain and TLS on one port", async (t) => {
  const c = certs();
  const s = await t.server({ config: `${tlsBlock()}\nallow_non_tls: true` });
  const plain = await (await t.raw(s)).connect();
  assert.equal(plain.info.tls_available, true);
  assert.equal(plain.info.tls_required, undefined);
  const nc = await t.connect(s, named({ ca: c.read("ca.pem") }));
  await works(nc);
  plain.send("SUB mixed 1");
  await plain.ping();
  nc.publish("mixed", "hi");
  await plain.expect(/MSG mixed 1 2\r\nhi\r\n/);
});

scenario("min_version 1.3 refuses 1.2", async (t) => {
  const s = await t.server({ config: tlsBlock('min_version: "1.3"'), monitor: true });
  const ca = certs().read("ca.pem");
  await t.refused(s, named({ ca, maxVersion: "TLSv1.2" }), /version|alert|closed|reset|ended/i);
  await works(await t.connect(s, named({ ca })));
  const { connections } = (await s.page("/connz")).json;
  assert.equal(connections[0].tls_version, "1.3");
  assert.match(connections[0].tls_cipher_suite, /^TLS_/);
});

scenario("TLS 1.2 works, 1.1 does not", async (t) => {
  const s = await t.server({ config: tlsBlock() });
  const ca = certs().read("ca.pem");
  await works(await t.connect(s, named({ ca, maxVersion: "TLSv1.2" })));
  await t.refused(
    s,
    named({ ca, minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
    /version|alert|protocol|closed|reset|ended/i,
  );
});

scenario("pinned_certs: only the pinned key may enter", async (t) => {
  const c = certs();
  const spki = new crypto.X509Certificate(c.read("client.pem")).publicKey.export({ type: "spki", format: "der" });
  const pin = crypto.createHash("sha256").update(spki).digest("hex");
  const s = await t.server({ config: tlsBlock(`verify: true, pinned_certs: ["${pin}"]`) });
  await works(await t.connect(s, named(c.trust("client"))));
  await t.refused(s, named(c.trust("mapped")), /./);
});

scenario("the handshake may come in single bytes", async (t) => {
  const s = await t.server({ config: tlsBlock() });
  const r = await t.raw(s);
  const secure = await secureInPieces(r);
  secure.write('CONNECT {"verbose":false}\r\nPING\r\n');
  let text = "";
  secure.on("data", (d) => (text += d));
  await until("PONG through TLS", () => text.includes("PONG"));
});

// A TLS client whose bytes reach the socket one write each.
async function secureInPieces(raw) {
  const { Duplex } = await import("node:stream");
  raw.socket.removeAllListeners("data");
  raw.socket.setNoDelay(true);
  const pipe = new Duplex({
    read() {},
    write(chunk, _, done) {
      for (const b of chunk) raw.socket.write(Buffer.of(b));
      done();
    },
  });
  raw.socket.on("data", (d) => pipe.push(d));
  const secure = tls.connect({ socket: pipe, ca: certs().read("ca.pem"), servername: "localhost" });
  await new Promise((ok, bad) => {
    secure.once("secureConnect", ok);
    secure.once("error", bad);
  });
  return secure;
}

scenario("garbage instead of a handshake closes the connection, the server lives on", async (t) => {
  const s = await t.server({ config: tlsBlock() });
  for (const bytes of ["GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff" + "A".repeat(500), "\x16\x03", ""]) {
    const r = await t.raw(s);
    r.sendBytes(bytes);
    r.socket.end();
    await r.closed();
  }
  await works(await t.connect(s, named({ ca: certs().read("ca.pem") })));
});

scenario("a handshake that never comes times out", async (t) => {
  const c = certs();
  const s = await t.server({
    config: `tls { cert_file: "${c.server}.pem", key_file: "${c.server}.key", timeout: 0.3 }`,
  });
  const r = await t.raw(s);
  await r.closed();
});

// Two seconds for a handshake: no flag says otherwise.
scenario("TLS flags on the command line", (t) => steadily(async () => {
  const c = certs();
  const s = await t.server({
    args: ["--tls", "--tlscert", `${c.server}.pem`, "--tlskey", `${c.server}.key`, "--tlsverify", "--tlscacert", `${c.ca}.pem`],
  });
  await works(await t.connect(s, named(c.trust("client"))));
  await t.refused(s, named(c.trust()), /./);
}, 500));
