// tracing.mjs: messages with Nats-Trace-Dest and Nats-Trace-Only: a dry run is never delivered and never stored.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { api, ready } from "./lib/backup.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS } from "./lib/wait.mjs";

function traced(dest, only) {
  const h = headers();
  h.set("Nats-Trace-Dest", dest);
  if (only !== undefined) h.set("Nats-Trace-Only", only);
  return { headers: h };
}

scenario("a trace-only message is neither delivered nor stored", async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.KV_b", { name: "KV_b", subjects: ["$KV.b.>"], max_msgs_per_subject: 1, allow_rollup_hdrs: true });
  await nc.request("$KV.b.key", "value", { timeout: LIMIT_MS });
  const got = collect(nc, "plain");
  const ofGroup = collect(nc, "plain", { queue: "q" });
  for (const only of ["true", "TRUE", "1", "on"]) {
    nc.publish("plain", `no ${only}`, traced("dest", only));
    nc.publish("$KV.b.key", "no", traced("dest", only));
    // without a valid destination, too
    nc.publish("plain", `no ${only}`, traced("a.*", only));
    nc.publish("$KV.b.key", "no", traced("a.*", only));
  }
  // the whole bucket
  const rollup = traced("dest", "true");
  rollup.headers.set("Nats-Rollup", "all");
  nc.publish("$KV.b.other", "no", rollup);
  nc.publish("plain", "end");
  await nc.flush();
  const { message } = await api(nc, "STREAM.MSG.GET.KV_b", { last_by_subj: "$KV.b.key" });
  assert.equal(message.seq, 1);
  assert.equal(Buffer.from(message.data, "base64").toString(), "value");
  assert.equal((await api(nc, "STREAM.INFO.KV_b")).state.last_seq, 1);
  assert.deepEqual(got.texts(), ["end"]);
  assert.deepEqual(ofGroup.texts(), ["end"]);
});

scenario("a message that is not a dry run is delivered and stored", async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s"] });
  const got = collect(nc, "s");
  const plain = headers();
  plain.set("Nats-Trace-Only", "true"); // without a destination nothing is traced
  const sent = [traced("dest"), traced("dest", "false"), traced("dest", "yes"), { headers: plain },
    traced("", "true"), traced("a.*"), traced("trace disabled", "true")];
  for (const [i, options] of sent.entries()) {
    const ack = (await nc.request("s", `${i}`, { timeout: LIMIT_MS, ...options })).json();
    assert.equal(ack.seq, i + 1, JSON.stringify(ack));
  }
  await nc.flush();
  assert.equal(got.length, sent.length);
});

scenario("a trace-only request that nobody would take is answered at once", async (t) => {
  const [, nc] = await ready(t);
  await assert.rejects(nc.request("nobody", "", { timeout: LIMIT_MS, ...traced("dest", "true") }), /no responders/);
});
