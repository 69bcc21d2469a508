// backup.mjs: STREAM.SNAPSHOT and STREAM.RESTORE as clients use them, and archives made by hand.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createInbox } from "@nats-io/transport-node";
import { framed, varint } from "./archive.mjs";
import { collect } from "./scenario.mjs";
import { isMayfly } from "./server.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

export const JS = { config: 'server_name: one\njetstream { store_dir: "DIR" }\n' };
export const other = isMayfly && fs.existsSync(process.env.NATS_SERVER ?? "") ? process.env.NATS_SERVER : undefined;
const encode = (body) => (typeof body === "string" ? body : JSON.stringify(body));

export async function ask(nc, subject, body = "") {
  return (await nc.request(`$JS.API.${subject}`, encode(body), { timeout: LIMIT_MS })).json();
}
export async function api(nc, subject, body) {
  const r = await ask(nc, subject, body);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return r;
}
export async function ready(t, options = JS) {
  const s = await t.server(options);
  return [s, await t.connect(s)];
}

// Takes a snapshot: its answer, its bytes, what the chunks looked like, and the header of the end.
export async function snapshot(nc, name, more = {}, ack = () => true) {
  const inbox = createInbox();
  const got = collect(nc, inbox);
  const answer = await api(nc, `STREAM.SNAPSHOT.${name}`, { deliver_subject: inbox, ...more });
  let seen = 0;
  await until("the end of the snapshot", () => {
    for (; seen < got.length; seen++) {
      if (got[seen].reply && ack(got[seen])) nc.publish(got[seen].reply);
      if (got[seen].data.length === 0) return true;
    }
    return false;
  });
  got.sub.unsubscribe();
  const end = got.pop();
  return { answer, bytes: Buffer.concat(got.map((m) => m.data)), chunks: got, end };
}

// Sends an archive; the answer to the end.
export async function restore(nc, config, bytes, { step = 4096, name = config.name } = {}) {
  const { deliver_subject } = await api(nc, `STREAM.RESTORE.${name}`, { config, state: {} });
  assert.match(deliver_subject, new RegExp(`^\\$JS\\.SNAPSHOT\\.RESTORE\\.${name}\\.\\w{22}$`));
  for (let at = 0; at < bytes.length; at += step) {
    const r = await nc.request(deliver_subject, bytes.subarray(at, at + step), { timeout: LIMIT_MS });
    assert.equal(r.data.length, 0, r.string());
  }
  return (await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json();
}

// Everything a reader can see of it.
export async function contents(nc, name = "S") {
  const { state } = await api(nc, `STREAM.INFO.${name}`, { deleted_details: true });
  const msgs = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const r = await ask(nc, `STREAM.MSG.GET.${name}`, { seq });
    if (!r.error) msgs.push(r.message);
  }
  delete state.last_ts; // nats-server forgets it when the last message was deleted
  return { state, msgs };
}
export const configOf = async (nc, name = "S") => {
  const { config } = await api(nc, `STREAM.INFO.${name}`);
  delete config.metadata;
  return config;
};

// --- archives made by hand ---------------------------------------------------------------------------------

export function entry(name, seq, ts, hdr = "", payload = "") {
  const fields = [name.length, BigInt(ts) * 2n, seq, hdr.length, payload.length].map((n) => varint(BigInt(n)));
  return Buffer.concat([...fields, Buffer.from(name + hdr + payload, "latin1")]);
}
// messages: [subject, seq, age in seconds, headers, payload]; consumers: [name, document]
export function archive(state, messages, { end = true, consumers = [] } = {}) {
  const now = BigInt(Date.now()) * 1000000n;
  const json = JSON.stringify({ messages: messages.length, bytes: 0, consumer_count: consumers.length, ...state });
  return framed(Buffer.concat([
    Buffer.from("NATSARC1"),
    entry("state.json", 0, now, "", json),
    ...consumers.map(([name, doc]) => entry(`consumers/${name}`, 0, now, "", encode(doc))),
    ...messages.map(([subject, seq, age, hdr, payload]) => entry(subject, seq, now - BigInt(age) * 1000000000n, hdr, payload)),
    ...(end ? [entry("", 0, 0)] : []),
  ]));
}
