// import_lifetimes.mjs: deadlines, markers and schedules of an imported store are those that nats-server gave.
import assert from "node:assert/strict";
import { api, ask } from "./lib/backup.mjs";
import { HOUR, check, create, imported, made, publish, streamDir } from "./lib/nats_files.mjs";
import { mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const TTL = { allow_msg_ttl: true, allow_direct: true };
const last = async (nc, stream, subject) => {
  const { message } = await ask(nc, `STREAM.MSG.GET.${stream}`, { last_by_subj: subject });
  return message && { ...message, hdr: Buffer.from(message.hdrs ?? "", "base64").toString() };
};
const deadline = async (nc, stream, subject) => (await nc.request(`$MAYFLY.TTL.GET.${stream}`, JSON.stringify({ subject }), { timeout: 60000 })).json();
const ms = (time) => Date.parse(time);

for (const kill of [false, true])
  check(`of a ${kill ? "killed" : "stopped"} server, messages expire at the deadlines they had, in its absence too`, async (t) => {
    const sent = {};
    const store = await made(t, async (nc) => {
      await create(nc, { name: "L", subjects: ["l.>"], ...TTL });
      await create(nc, { name: "M", subjects: ["m.>"], max_msgs_per_subject: 1, ...TTL, subject_delete_marker_ttl: HOUR });
      for (const [subject, ttl] of [["l.short", "8s"], ["m.short", "8s"], ["l.long", "1h"], ["m.long", "1h"], ["l.never", "never"]]) {
        const { seq } = await publish(nc, subject, "x", { "Nats-TTL": ttl });
        sent[subject] = ms((await api(nc, `STREAM.MSG.GET.${subject[0].toUpperCase()}`, { seq })).message.time);
      }
      await publish(nc, "l.plain", "x");
      await publish(nc, "m.marked", "x", { "Nats-TTL": "1s" });
      await until("a marker of nats-server", async () => (await last(nc, "M", "m.marked"))?.hdr.includes("Nats-Marker-Reason: MaxAge"));
      sent.marker = ms((await last(nc, "M", "m.marked")).time);
    }, { kill });
    await until("the short ones' end", () => Date.now() > Math.max(sent["l.short"], sent["m.short"]) + 8000);
    const { code, doc, nc, stdout, stderr } = await imported(t, store);
    assert.equal(code, 0, stdout + stderr);
    if (!kill) assert.deepEqual(doc.streams.map((s) => [s.name, s.with_ttl]), [["L", 3], ["M", 3]]);
    for (const [stream, subject] of [["L", "l.short"], ["M", "m.short"]]) assert.equal(await last(nc, stream, subject), undefined, subject);
    for (const [stream, subject] of [["L", "l.long"], ["M", "m.long"]]) assert.equal(ms((await deadline(nc, stream, subject)).expires), sent[subject] + 3600e3, subject);
    assert.equal(ms((await deadline(nc, "M", "m.marked")).expires), sent.marker + 3600e3);
    for (const [subject, state] of [["l.never", "infinite"], ["l.plain", "none"]]) assert.equal((await deadline(nc, "L", subject)).state, state, subject);
  });

check("a deadline ahead is kept, and the marker comes then", async (t) => {
  let sent;
  const store = await made(t, async (nc) => {
    await create(nc, { name: "KV_s", subjects: ["$KV.s.>"], max_msgs_per_subject: 1, ...TTL, subject_delete_marker_ttl: HOUR });
    const { seq } = await publish(nc, "$KV.s.k", "x", { "Nats-TTL": "6s" });
    sent = ms((await api(nc, "STREAM.MSG.GET.KV_s", { seq })).message.time);
  });
  const { nc } = await imported(t, store);
  assert.equal((await last(nc, "KV_s", "$KV.s.k"))?.hdr.includes("Marker") ?? "gone", Date.now() < sent + 6000 ? false : true);
  await until("the marker", async () => (await last(nc, "KV_s", "$KV.s.k"))?.hdr.includes("Nats-Marker-Reason: MaxAge"));
  const at = ms((await last(nc, "KV_s", "$KV.s.k")).time);
  assert.ok(at >= sent + 6000, `${at - sent} ms`);
});

check("max_age and limits hold after the import", async (t) => {
  const store = await made(t, async (nc) => {
    await create(nc, { name: "AGED", subjects: ["a"], max_age: 8e9, duplicate_window: 1e9 });
    for (let i = 0; i < 3; i++) await publish(nc, "a", "x", { "Nats-Msg-Id": `${i}` });
    await create(nc, { name: "PLAN", subjects: ["p.>"], allow_msg_schedules: true, ...TTL });
    await publish(nc, "p.s", "later", { "Nats-Schedule": `@at ${new Date(Date.now() + 9000).toISOString()}`, "Nats-Schedule-Target": "p.t" });
  });
  await until("the age", () => Date.now() > ms(store.said.AGED.msgs.at(-1).time) + 8000);
  const { nc, server, doc } = await imported(t, store);
  assert.deepEqual([doc.streams[0].messages, doc.streams[0].last_seq], [3, 3]);
  await until("the old ones' end", async () => (await api(nc, "STREAM.INFO.AGED")).state.messages === 0);
  assert.equal((await publish(nc, "a", "y", { "Nats-Msg-Id": "1" })).duplicate, undefined, "the window is over");
  await until("the scheduled message", () => last(nc, "PLAN", "p.t"));
  assert.equal((await last(nc, "PLAN", "p.s")), undefined);
  const r = await mayfly(server, "import", streamDir(store, "AGED"), "--skip-existing");
  assert.match(r.stdout, /AGED +3 .*skipped/);
});
