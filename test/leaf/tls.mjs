// tls.mjs: TLS on the link: who trusts whom, client certificates, the handshake first, and what goes wrong.
import assert from "node:assert/strict";
import { certs, tlsBlock } from "../interop/lib/certs.mjs";
import { crosses, leafz, logged, scenario } from "./lib/setup.mjs";

const A = { user: "a", pass: "a" };
const cert = (who) => `cert_file: "${certs()[who]}.pem", key_file: "${certs()[who]}.key"`;
const ca = (who = "ca") => `ca_file: "${certs()[who]}.pem"`;

// [what it shows, the hub's tls block, the remote's]
const good = [
  ["the remote trusts the hub's authority", () => tlsBlock(), () => `tls { ${ca()}, timeout: 60 }`],
  ["the hub verifies the leaf's certificate", () => tlsBlock("verify: true"), () => `tls { ${ca()}, ${cert("client")}, timeout: 60 }`],
  ["TLS before INFO, at both ends", () => tlsBlock("handshake_first: true"), () => `tls { ${ca()}, handshake_first: true, timeout: 60 }`],
  ["a hub that waits a moment for TLS, and a leaf that speaks it first", () => tlsBlock(`handshake_first: "10s"`), () => `tls { ${ca()}, handshake_first: true, timeout: 60 }`],
  ["a hub that waits a moment for TLS, and a leaf that waits for INFO", () => tlsBlock("handshake_first: auto"), () => `tls { ${ca()}, timeout: 60 }`],
];
for (const [what, hubTls, leafTls] of good)
  scenario(what, { quick: true }, async (t) => {
    const hub = await t.hub({ leafnodes: hubTls() });
    const proxy = await t.proxy(hub, { opaque: true });
    const leaf = await t.leaf({ to: { port: proxy.port, host: "localhost" }, scheme: "tls", remote: leafTls() });
    await leafz(hub);
    const [h, l] = [await t.connect(hub, A), await t.connect(leaf)];
    await crosses(h, l);
    await crosses(l, h);
    // The same after a reconnect.
    proxy.drop();
    await crosses(l, h);
  });

const bad = [
  ["a remote without an authority: the certificate is not trusted", () => tlsBlock(), () => "", /TLS leafnode handshake error.*(unknown authority|self.signed|verify)/i, "leaf"],
  ["a remote that trusts another authority", () => tlsBlock(), () => `tls { ${ca("strangerCa")}, timeout: 60 }`, /TLS leafnode handshake error.*(unknown authority|unable to get|verify)/i, "leaf"],
  ["no certificate, and the hub asks for one", () => tlsBlock("verify: true"), () => `tls { ${ca()}, timeout: 60 }`, /certificate/i, "hub"],
  ["a certificate of a stranger", () => tlsBlock("verify: true"), () => `tls { ${ca()}, ${cert("stranger")}, timeout: 60 }`, /TLS leafnode handshake error|certificate/i, "hub"],
  ["a remote with TLS, and a plain hub", () => "", () => `tls { ${ca()}, timeout: 60 }`, /handshake|tls/i, "leaf"],
  ["the leaf alone speaks TLS first", () => tlsBlock(), () => `tls { ${ca()}, handshake_first: true, timeout: 60 }`, /first record does not look like a TLS handshake|handshake/i, "leaf"],
];
for (const [what, hubTls, leafTls, pattern, place] of bad)
  scenario(`${what}: refused, and named`, { quick: true }, async (t) => {
    const hub = await t.hub({ leafnodes: hubTls() });
    const leaf = await t.leaf({ to: { port: hub.leafPort, host: "localhost" }, scheme: "nats-leaf", remote: leafTls() });
    await logged({ leaf, hub }[place], pattern);
    const z = (await hub.page("/leafz")).json;
    assert.equal(z.leafnodes, 0);
    // Both go on.
    await (await t.connect(hub, A)).flush();
    await (await t.connect(leaf)).flush();
  });

scenario("a certificate for another name: refused, and named", { quick: true }, async (t) => {
  const hub = await t.hub({ leafnodes: tlsBlock() });
  // The certificate is for localhost and 127.0.0.1.
  const leaf = await t.leaf({ to: { port: hub.leafPort, host: "127.0.0.2" }, scheme: "tls", remote: `tls { ${ca()}, timeout: 60 }` });
  await logged(leaf, /TLS|connect/i);
  await logged(leaf, /Error trying to connect|not 127\.0\.0\.2|mismatch|handshake/i);
  assert.equal((await hub.page("/leafz")).json.leafnodes, 0);
});

scenario("large messages and copies inside TLS", {}, async (t) => {
  const hub = await t.hub({ leafnodes: tlsBlock() });
  const leaf = await t.leaf({ to: { port: hub.leafPort, host: "localhost" }, scheme: "tls", remote: `tls { ${ca()}, timeout: 60 }` });
  const [h, l] = [await t.connect(hub, A), await t.connect(leaf)];
  await crosses(h, l);
  await crosses(l, h);
  l.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
  await crosses(h, l);
  for (const n of [1, 16000, 16384, 70000, 1000000]) {
    const bytes = Buffer.alloc(n, "x");
    assert.deepEqual(Buffer.from((await h.request("echo", bytes)).data), bytes);
  }
});
