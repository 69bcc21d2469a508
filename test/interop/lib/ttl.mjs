// ttl.mjs: policies of streams as metadata, and what the server says about a message's life.
import assert from "node:assert/strict";
import { LIMIT_MS } from "./wait.mjs";

// policy({ default: "24h" }): the stream's configuration with these keys.
export const policy = (keys, more = {}) => ({
  ...more,
  metadata: Object.fromEntries(Object.entries(keys).map(([k, v]) => [`mayfly.ttl.${k}`, typeof v === "string" ? v : JSON.stringify(v)])),
});

// The answer of $MAYFLY.TTL.GET for the last message of a subject.
export async function life(c, name, stream = c.id) {
  const m = await c.nc.request(`$MAYFLY.TTL.GET.${stream}.${c.subject(name)}`, "", { timeout: LIMIT_MS });
  const r = JSON.parse(m.string());
  assert.equal(r.error, undefined, `${name}: ${JSON.stringify(r.error)}`);
  return r;
}

// Seconds from a message's own time to its end; undefined: it has none.  Both times have the same
// fraction below a millisecond, so whole seconds are exact.
export const span = (r) => (r.expires === undefined ? undefined : (Date.parse(r.expires) - Date.parse(r.time)) / 1000);

// The last message of a subject lives so long: seconds, "infinite" or "none"; and by whose word.
export async function lives(c, name, want, by, stream) {
  const r = await life(c, name, stream);
  assert.equal(span(r) ?? r.state, want, `${name}: ${JSON.stringify(r)}`);
  if (by !== undefined) assert.equal(r.decided_by, by, `${name}: ${JSON.stringify(r)}`);
  return r;
}

// Publishes what ends so soon that a question might come too late: the ack itself tells ttl and end.
export async function told(c, name, data, ttl, by, hdr = {}) {
  const a = await c.ack(name, data, { ...hdr, "Mayfly-TTL": "show" });
  assert.equal(a.error, undefined, `${name}: ${JSON.stringify(a.error)}`);
  assert.deepEqual([a.ttl, a.decided_by], [ttl, by], `${name}: ${JSON.stringify(a)}`);
  return { seq: a.seq, end: Date.parse(a.expires) };
}

export const NEVER_DENIED = [400, 10165, "invalid per-message TTL: never is not allowed here"];
export const BAD_POLICY = (text) => [500, 10052, text];
