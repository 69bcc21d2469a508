// websocket.mjs: a remote that dials the hub's WebSocket listener.
import assert from "node:assert/strict";
import { tlsBlock, certs } from "../interop/lib/certs.mjs";
import { crosses, leafz, linked, logged, scenario } from "./lib/setup.mjs";
import { freePort } from "./lib/ports.mjs";

const A = { user: "a", pass: "a" };
const kinds = [
  ["masked frames", "no_tls: true", "ws", ""],
  ["unmasked frames", "no_tls: true", "ws", "ws_no_masking: true"],
  ["compressed frames", "no_tls: true, compression: true", "ws", "ws_compression: true"],
  ["inside TLS", null, "wss", null],
];
for (const [what, block, scheme, remote] of kinds)
  scenario(`a WebSocket remote, ${what}`, { quick: true }, async (t) => {
    const port = await freePort();
    const hub = await t.hub({ more: `websocket { listen: "127.0.0.1:${port}"\n${block ?? tlsBlock()} }` });
    const leaf = await t.leaf({ to: { port, host: scheme === "wss" ? "localhost" : "127.0.0.1" }, scheme, remote: remote ?? `tls { ca_file: "${certs().ca}.pem", timeout: 60 }` });
    await leafz(hub);
    const [h, l] = [await t.connect(hub, A), await t.connect(leaf)];
    await linked(h, l);
    l.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
    await crosses(h, l);
    for (const n of [0, 125, 126, 65535, 65536, 500000]) {
      const bytes = Buffer.alloc(n, "ws ");
      assert.deepEqual(Buffer.from((await h.request("echo", bytes)).data), bytes);
    }
  });

// nats-server wraps the frames in S2; Mayfly leaves the compression of a WebSocket to permessage-deflate.
for (const [what, block, remote] of [
  ["S2 at both ends", "", "ws_no_masking: true"],
  ["S2 at both ends and compressed frames", "compression: true", "ws_compression: true"],
])
  scenario(`a WebSocket remote, ${what}`, { quick: true }, async (t) => {
    const port = await freePort();
    const hub = await t.hub({ leafnodes: "compression: s2_fast", more: `websocket { listen: "127.0.0.1:${port}", no_tls: true, ${block} }` });
    const leaf = await t.leaf({ to: { port }, scheme: "ws", remote, compression: "s2_fast" });
    const mode = block === "" && t.is("hub", "nats") && t.is("leaf", "nats") ? "s2_fast" : "off";
    for (const s of [hub, leaf]) assert.match((await leafz(s)).leafs[0].compression, mode === "off" ? /off|not supported/ : /s2_fast/);
    const [h, l] = [await t.connect(hub, A), await t.connect(leaf)];
    await linked(h, l);
    l.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
    await crosses(h, l);
    for (const n of [0, 97, 65536, 500000]) {
      const bytes = Buffer.alloc(n, "ws and s2 ");
      assert.deepEqual(Buffer.from((await h.request("echo", bytes)).data), bytes);
    }
  });
