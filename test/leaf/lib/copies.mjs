// copies.mjs: streams on both sides of a link that copy each other, and whether they are equal.
import assert from "node:assert/strict";
import { until } from "../../interop/lib/wait.mjs";
import { ask, jetstreamOf } from "./setup.mjs";

export const SIDES = { leaf: { other: "hub", domain: "lf" }, hub: { other: "leaf", domain: "hub" } };
export const ncOf = (w, side) => (side === "leaf" ? w.leafNc : w.hubNc);

// One side's own JetStream, without a domain.
export const own = (w, side) => jetstreamOf(ncOf(w, side));

// external for a copy on `side` of a stream of the other side.
export const externalOf = (side) => ({ api: `$JS.${SIDES[SIDES[side].other].domain}.API`, deliver: "" });
export const mirrorOn = (side, name, more = {}) => ({ mirror: { name, external: externalOf(side), ...more } });
export const sourceOn = (side, name, more = {}) => ({ sources: [{ name, external: externalOf(side), ...more }] });

// All messages of a stream in their order: [seq, subject, text].
export async function read(jsm, name) {
  const got = [];
  const state = await stateOf(jsm, name);
  for (let from = state.first_seq; from <= state.last_seq; from += 100) {
    const seqs = Array.from({ length: Math.min(100, state.last_seq - from + 1) }, (_, i) => from + i);
    const found = await Promise.all(seqs.map((seq) => jsm.streams.getMessage(name, { seq }).catch(() => null)));
    got.push(...found.filter((m) => m).map((m) => [m.seq, m.subject, m.string()]));
  }
  return got;
}
export const texts = async (jsm, name) => (await read(jsm, name)).map((m) => m[2]);

// INFO, also while a cluster elects a leader: nobody answers then.
export const infoOf = (jsm, name) =>
  until(`INFO of ${name}`, async () => {
    const info = await ask(jsm.nc, `$JS.API.STREAM.INFO.${name}`, "", { timeout: 4000 }).catch(() => undefined);
    return info?.state && info;
  });
export const stateOf = async (jsm, name) => (await infoOf(jsm, name)).state;

// Waits until the copy has these values of its state.
export async function reaches(jsm, name, expected, ms) {
  let st;
  await until(`${name} to have ${JSON.stringify(expected)}`, async () => ((st = await stateOf(jsm, name)), Object.entries(expected).every(([k, v]) => st[k] === v)), ms)
    .catch((e) => {
      throw new Error(`${e.message}; it has ${JSON.stringify({ ...st, consumer_count: undefined })}`);
    });
  return st;
}

// Publishes `count` messages and waits for each ack: the texts that were acknowledged.
export async function publishAll(js, subject, texts) {
  const acked = [];
  await Promise.all(texts.map(async (x) => {
    const a = await js.publish(subject, x);
    acked[a.seq] = x;
  }));
  return acked.filter((x) => x !== undefined);
}
export const numbered = (prefix, count, from = 0) => Array.from({ length: count }, (_, i) => `${prefix}${from + i}`);

// A mirror is its origin, message for message.
export async function equalMirror(origin, copy) {
  const [a, b] = [await read(...origin), await read(...copy)];
  assert.deepEqual(b, a);
}
export const originInfo = async (jsm, name) => {
  const i = await infoOf(jsm, name);
  return i.mirror ?? i.sources[0];
};
