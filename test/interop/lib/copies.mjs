// copies.mjs: streams that follow others, and when they have what is theirs.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { until } from "./wait.mjs";

// The part of a configuration that makes a stream a mirror of C, or one that sources C.
export const mirrorOf = (c, mirror = {}, over = {}) => ({ subjects: undefined, mirror: { name: c.id, ...mirror }, ...over });
export const sourceOf = (c, source = {}, over = {}) => ({ subjects: undefined, sources: [{ name: c.id, ...source }], ...over });

// All that a reader finds, by sequence.
export async function contents(c) {
  const { first_seq, last_seq } = await c.state();
  const got = [];
  for (let from = first_seq; from <= last_seq; from += 200)
    got.push(...(await Promise.all(Array.from({ length: Math.min(200, last_seq - from + 1) }, (_, i) => c.get(from + i)))));
  return got.filter((m) => m !== undefined).map(({ subject, seq, hdr, data, time }) => ({ subject, seq, hdr, data, time }));
}
export const texts = async (c) => (await contents(c)).map((m) => m.data);
export const seqs = async (c) => (await contents(c)).map((m) => m.seq);

// Waits until its state has these values; the state.
export async function reaches(c, expected) {
  let st;
  try {
    await until(`${c.id}`, async () => ((st = await c.state()), Object.entries(expected).every(([k, v]) => st[k] === v)));
  } catch {
    assert.deepEqual(st, { ...st, ...expected }, c.id);
  }
  return st;
}
// Waits until the last message of a copy has this text.
export async function holds(c, text) {
  let m;
  try {
    await until(`${c.id} to hold ${text}`, async () => {
      const { last_seq } = await c.state();
      m = last_seq > 0 ? await c.get(last_seq) : undefined;
      return m?.data === text;
    });
  } catch {
    assert.equal(m?.data, text, `the last message of ${c.id}`);
  }
}
// Its mirror, or its first source, as INFO tells it.
export async function origin(c) {
  const info = await c.info();
  return info.mirror ?? info.sources?.[0];
}

// Eight letters for a name, as nats-server makes them.
const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const hash = (text) => [...createHash("sha256").update(text).digest().subarray(0, 8)].map((b) => LETTERS[b % 62]).join("");
