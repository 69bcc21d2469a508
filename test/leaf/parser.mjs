// parser.mjs: what a raw peer says to the accepting end, and what becomes of it.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, scenario } from "./lib/setup.mjs";

const hello = (more = {}) => `CONNECT ${JSON.stringify({ name: "RAW", cluster: "RAW", headers: true, user: "a", pass: "a", ...more })}`;

async function rawLink(t, options, more) {
  const hub = options?.hub ?? (await t.hub(options));
  const r = await t.rawLeaf(hub);
  r.send(hello(more));
  await r.expect(/INFO [^\r]*"connect_info":true[^\r]*\r\n/);
  return { hub, r, nc: await t.connect(hub, { user: "a", pass: "a" }) };
}

// [what, bytes before CONNECT or instead of it, what is answered before the end]
const refused = [
  ["a client's CONNECT", `CONNECT {"lang":"go","user":"a","pass":"a"}\r\n`, /attempted to connect to leaf node port/],
  ["a gateway", `CONNECT {"gateway":"GW","user":"a","pass":"a"}\r\n`, /Rejecting connection from gateway "GW" on the leafnode port/],
  ["a cluster name with a space", `CONNECT {"name":"R","cluster":"a b","user":"a","pass":"a"}\r\n`, /cluster name cannot contain spaces/],
  ["interest before CONNECT", "LS+ foo\r\n", /Authorization Violation/],
  ["a wrong password", `CONNECT {"name":"R","cluster":"R","user":"a","pass":"b"}\r\n`, /Authorization Violation/],
  ["CONNECT that is no JSON", "CONNECT {nonsense\r\n", /./],
];
for (const [what, bytes, pattern] of refused)
  scenario(`${what} is refused`, { quick: true, alone: "hub" }, async (t) => {
    const hub = await t.hub();
    const r = await t.rawLeaf(hub);
    r.sendBytes(bytes);
    const said = await r.closed();
    if (pattern.source !== ".") assert.match(said, pattern);
  });

// [what, bytes after the handshake, answer before the end]
const ends = [
  ["a line of more than 64 KiB", `LS+ ${"x".repeat(70000)}\r\n`, /maximum control line exceeded/],
  ["a payload beyond max_payload", "LMSG x 2000000\r\n", /Maximum Payload Violation/],
  ["an unknown verb", "NONSENSE x\r\n", /Unknown Protocol Operation/],
  ["a payload that is not followed by a line end", "LMSG x 2\r\nabcd\r\n", /Unknown Protocol Operation/],
  ["LS+ of a queue without weight", "LS+ foo q\r\n", null],
  ["LS+ of nothing", "LS+\r\n", null],
  ["LMSG without a size", "LMSG x\r\n", null],
  ["SUB", "SUB foo 1\r\n", null],
  ["HMSG whose headers are longer than the whole", "HMSG x 20 10\r\n0123456789\r\n", null],
];
for (const [what, bytes, pattern] of ends)
  scenario(`${what} ends the link, and no other`, { quick: true, alone: "hub" }, async (t) => {
    const { hub, r, nc } = await rawLink(t);
    const other = await rawLink(t, { hub }, { name: "OTHER", cluster: "OTHER" });
    r.sendBytes(bytes);
    const said = await r.closed();
    if (pattern) assert.match(said, pattern);
    other.r.send("PING");
    await other.r.expect(/PONG/);
    await nc.flush();
  });

// Lines after which the link lives.
const borne = [
  ["withdrawal of what was never announced", "LS- nosuch\r\n"],
  ["the same interest again", "LS+ twice\r\nLS+ twice\r\nLS- twice\r\n"],
  ["a weight of 0", "LS+ s q 0\r\n"],
  ["INFO after the handshake", "INFO {}\r\n"],
  ["+OK", "+OK\r\n"],
  ["verbs in small letters", "ls+ small\r\nls- small\r\nping\r\n"],
  ["a subject of 5000 bytes", `LS+ ${"y".repeat(5000)}\r\n`],
];
for (const [what, bytes] of borne)
  scenario(`${what} is borne`, { quick: true, alone: "hub" }, async (t) => {
    const { r } = await rawLink(t);
    r.sendBytes(bytes);
    r.send("LS+ still.here", "PING");
    await r.expect(/PONG/);
    assert.equal(r.ended, false);
  });

scenario("a bad subject is named, and the link lives", { quick: true, alone: "hub" }, async (t) => {
  const { r } = await rawLink(t);
  for (const s of ["foo..bar", ">.a"]) {
    r.send(`LS+ ${s}`);
    await r.expect(/-ERR 'Invalid Subscription'/);
  }
  r.send("PING");
  await r.expect(/PONG/);
});

scenario("a peer without headers: they are cut off", { quick: true, alone: "hub" }, async (t) => {
  const { r, nc } = await rawLink(t, {}, { headers: false });
  r.send("LS+ h", "PING");
  await r.expect(/PONG/);
  const { headers } = await import("../interop/lib/clients.mjs");
  const h = headers();
  h.set("K", "V");
  nc.publish("h", "body", { headers: h });
  await r.expect(/LMSG h 4\r\nbody\r\n/);
});

scenario("messages of a raw leaf: each form of the line", { quick: true, alone: "hub" }, async (t) => {
  const { r, nc } = await rawLink(t);
  const [plain, q1, q2] = [collect(nc, "m"), collect(nc, "m", { queue: "g1" }), collect(nc, "m", { queue: "g2" })];
  await nc.flush();
  r.send("LMSG m 1", "a", "LMSG m re 1", "b", "LMSG m | g1 1", "c", "LMSG m + re g1 g2 1", "d", "HMSG m | g2 18 19", "NATS/1.0\r\nK: V\r\n\r\ne", "HMSG m + re g1 18 18", "NATS/1.0\r\nK: V\r\n\r\n", "HMSG m 18 19", "NATS/1.0\r\nK: V\r\n\r\nf", "PING");
  await until("all of them", () => plain.length === 7);
  assert.deepEqual(plain.texts(), ["a", "b", "c", "d", "e", "", "f"]);
  assert.deepEqual(q1.texts(), ["c", "d", ""]);
  assert.deepEqual(q2.texts(), ["d", "e"]);
  assert.equal(plain[3].reply, "re");
});

scenario("a stored subject behind the ack reply is the subject that a client sees", { quick: true, alone: "hub" }, async (t) => {
  const { r, nc } = await rawLink(t);
  const got = collect(nc, "deliver");
  await nc.flush();
  r.send("LMSG deliver $JS.ACK.L.D.1.1.1.1794923014658822374.1@l.1 2", "hi", "LMSG deliver $JS.ACK.mf.szMpdrwD.L.D.1.1.1.1794923014658822374.1@l.2 2", "ho", "LMSG deliver not@this 2", "he", "PING");
  await until("all of them", () => got.length === 3);
  assert.deepEqual(got.map((m) => [m.subject, m.reply]), [["l.1", "$JS.ACK.L.D.1.1.1.1794923014658822374.1"], ["l.2", "$JS.ACK.mf.szMpdrwD.L.D.1.1.1.1794923014658822374.1"], ["deliver", "not@this"]]);
});

scenario("interest comes in pieces, byte by byte", { quick: true, alone: "hub" }, async (t) => {
  const { r, nc } = await rawLink(t);
  for (const b of "LS+ slow\r\nLMSG x 2\r\nhi\r\nPING\r\n") {
    r.sendBytes(b);
    await new Promise(setImmediate);
  }
  await r.expect(/PONG/);
  nc.publish("slow", "yes");
  await r.expect(/LMSG slow 3\r\nyes\r\n/);
});
