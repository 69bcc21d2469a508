// ttl_drafts.mjs: what is on disk and what the server says about lifetimes agree; many dead drafts are in nobody's
// way; a full disk stops no expiry.  (On a simulated clock, with counted steps: test/unit/stream/test_drafts.c.)
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Kvm } from "@nats-io/kv";
import { onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";
import { policy } from "./lib/ttl.mjs";
import { done, job, pages, ttl } from "./lib/ttl_api.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");
const PAST = "2020-01-01T00:00:00Z";

// What `mayfly check` finds in the files of a stopped stream, in the words of STATS.
function onDisk(s, name) {
  const r = spawnSync(tool, ["check", s.file(`js/jetstream/$G/streams/${name}`), "--json"], { encoding: "utf8" });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  const { live } = JSON.parse(r.stdout).stores[0];
  return { items_with_ttl: live.with_deadline, items_without_ttl: live.without_both, items_infinite_ttl: live.infinite, pinned: live.pinned };
}
async function told(c) {
  const { items_with_ttl, items_without_ttl, items_infinite_ttl, pinned } = await ttl(c, `STATS.${c.id}`);
  return { items_with_ttl, items_without_ttl, items_infinite_ttl, pinned };
}

scenario("R000_34_each_record_has_a_deadline_or_is_infinite_on_purpose", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create({ allow_msg_ttl: true });
  for (let i = 0; i < 7; i++) await c.pub(`old.${i}`, "x");
  await c.update({ ...policy({ default: "24h", never: "allow" }), allow_msg_ttl: true });
  for (let i = 0; i < 5; i++) await c.pub(`new.${i}`, "x");
  for (let i = 0; i < 3; i++) await c.pub(`ever.${i}`, "x", { "Nats-TTL": "never" });
  await ttl(c, `PERSIST.S.${c.subject("old.0")}`);
  await ttl(c, `SET.S.${c.subject("old.1")}`, { ttl: "1h" });
  const before = { items_with_ttl: 6, items_without_ttl: 5, items_infinite_ttl: 4, pinned: 2 };
  assert.deepEqual(await told(c), before);
  await c.nc.close();
  await s.stop();
  assert.deepEqual(onDisk(s, "S"), before);
  await s.startAgain();
  c = (await onServer(t, s)).stream("S");
  assert.deepEqual(await told(c), before);
  await job(c, "start", {});
  await done(c);
  const after = { items_with_ttl: 11, items_without_ttl: 0, items_infinite_ttl: 4, pinned: 2 };
  assert.deepEqual(await told(c), after);
  await c.nc.close();
  await s.kill(); // the log alone tells it, too
  assert.deepEqual(onDisk(s, "S"), after);
});

scenario("R003_04_lists_show_the_living_only_however_many_have_ended", ours, async (t) => {
  const { stream, nc } = await ownServer(t);
  const c = stream("KV_drafts");
  const kv = await new Kvm(nc).create("drafts", { metadata: policy({ default: "24h" }).metadata });
  const DEAD = 20000;
  for (let i = 0; i < DEAD; i += 1000) await Promise.all(Array.from({ length: 1000 }, (_, n) => c.pub(`$KV.drafts.dead.${i + n}`, "x")));
  const alive = Array.from({ length: 100 }, (_, i) => `alive.${i}`);
  await Promise.all(alive.map((k) => kv.put(k, "x")));
  let ended = 0;
  for (let from_seq, more = true; more; ) {
    const r = await ttl(c, "SET.KV_drafts", { filter: "$KV.drafts.dead.>", expires: PAST, limit: 1000, ...(from_seq && { from_seq }) });
    ended += r.count;
    ({ more = false, from_seq } = r);
  }
  assert.equal(ended, DEAD);
  const keys = [];
  for await (const k of await kv.keys()) keys.push(k);
  assert.deepEqual(keys.sort(), alive.toSorted());
  const listed = await pages(c, { limit: 30 });
  assert.deepEqual(listed.map((x) => x.subject.slice("$KV.drafts.".length)).sort(), alive.toSorted());
  await until("the dead to be removed", async () => (await c.state()).messages === 100);
});

// A file system of 16 MB.  Mounting one takes root; test_drafts.c has the same on files in memory.
function smallDisk(t, dir) {
  fs.mkdirSync(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "mayfly-test", dir], { stdio: "pipe" });
  } catch {
    return false;
  }
  t.after(() => execFileSync("umount", ["-l", dir]));
  return true;
}
// Takes what is left of it, from outside.
function stuff(dir) {
  const fd = fs.openSync(path.join(dir, "ballast"), "w");
  try {
    for (;;) fs.writeSync(fd, Buffer.alloc(4096));
  } catch (e) {
    assert.equal(e.code, "ENOSPC");
  } finally {
    fs.closeSync(fd);
  }
}

scenario("R000_75_on_a_full_disk_messages_still_end", ours, async (t) => {
  const s = t.prepare({ config: 'jetstream { store_dir: "DIR/small/js", max_file_store: 1G }\n' });
  if (!smallDisk(t, s.file("small"))) return console.log("# no tmpfs can be mounted: a full disk was only tried on files in memory");
  t.after(() => s.stop());
  await s.start();
  const c = (await onServer(t, s)).stream("S");
  await c.create(policy({ rules: [{ id: "all", ttl: "until(header(End))" }] }));
  // Messages that all end at once, until one is refused: whether that was before their end.
  const fill = async (end) => {
    for (const size of [100_000, 1000])
      for (let i = 0, error; !error; i++) {
        if (Date.now() >= end) return false;
        ({ error } = await c.ack(`${size}.${i}`, Buffer.alloc(size, "x"), { End: new Date(end).toISOString() }));
        assert.ok(error === undefined || error.code === 503, JSON.stringify(error));
        if (error) stuff(s.file("small"));
      }
    return true;
  };
  for (let seconds = 4; !(await fill(Date.now() + seconds * 1000)); seconds *= 2) await c.empty(); // a slow machine
  await c.empty();
  await until("room for the next", async () => (await c.ack("next", Buffer.alloc(100_000))).error === undefined, LIMIT_MS);
});
