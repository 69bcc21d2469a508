// ttl_api.mjs: requests of the TTL API.
import assert from "node:assert/strict";
import { LIMIT_MS, until } from "./wait.mjs";

export const ms = (time) => Date.parse(time);

// The answer to $MAYFLY.TTL.<op>, error or not.  c: anything with a connection nc.
export async function ask(c, op, body = "", prefix = "$MAYFLY.TTL.") {
  const m = await c.nc.request(`${prefix}${op}`, typeof body === "string" ? body : JSON.stringify(body), { timeout: LIMIT_MS });
  return JSON.parse(m.string());
}
export async function ttl(c, op, body) {
  const r = await ask(c, op, body);
  assert.equal(r.error, undefined, `${op} ${JSON.stringify(body)}: ${JSON.stringify(r.error)}`);
  return r;
}
// A request that must fail, without a description: whatever it says.
export async function refusal(c, op, body, [code, err_code, description]) {
  const r = await ask(c, op, body);
  const what = `${op} ${JSON.stringify(body).slice(0, 200)}: ${JSON.stringify(r)}`;
  assert.deepEqual(Object.keys(r), ["type", "error"], what);
  assert.equal(r.type, `io.mayfly.api.v1.ttl_${op.split(".")[0].toLowerCase()}_response`);
  assert.deepEqual(r.error, { code, err_code, description: description ?? r.error.description }, what);
}

// 10003 with its reason.
export const BAD = (why) => [400, 10003, `bad request: ${why}`];
export const ONE = BAD("give exactly one of subject, seq, filter");
export const LITERAL = BAD("subject must be one subject without wildcards and empty tokens");
export const FILTER = BAD("filter is no valid subject filter");
export const LIMIT = BAD("limit must be 1 to 1000");

// LIST to its end, in pages: the items.
export async function pages(c, body) {
  const items = [];
  for (let from; ; ) {
    const r = await ttl(c, `LIST.${c.id}`, { ...body, ...(from && { from }) });
    assert.equal(r.count, r.items.length);
    assert.ok(r.count <= (body.limit ?? 100), "a page is not longer than asked for");
    items.push(...r.items);
    if (!r.next) return items;
    from = r.next;
  }
}

// BACKFILL: the job after an action; its end.
export const job = async (c, action, more) => (await ttl(c, `BACKFILL.${c.id}`, { action, ...more })).job;
export const done = (c, state = "done") =>
  until(`the backfill to be ${state}`, async () => {
    const j = await job(c, "status");
    return j.state === state && j;
  });
