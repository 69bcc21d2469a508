// erase.mjs: MSG.DELETE overwrites the message: nothing of it is found in the folder of the server, while it
// runs and after it was stopped or killed.  With no_erase it is only removed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { binary, isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = { config: 'server_name: one\njetstream { store_dir: "DIR/js" }\n' };
const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");

const files = (dir) => fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile());

// The files below the data folder that hold this text.  One that goes meanwhile is looked for no more.
function grep(s, text) {
  return files(s.file("js"))
    .map((f) => path.join(f.parentPath ?? f.path, f.name))
    .filter((f) => {
      try {
        return fs.readFileSync(f).includes(text);
      } catch (e) {
        assert.equal(e.code, "ENOENT");
        return false;
      }
    });
}

const ask = async (nc, subject, body) => (await nc.request(`$JS.API.${subject}`, JSON.stringify(body), { timeout: LIMIT_MS })).json();

async function publish(nc, subject, text, hdr) {
  const h = headers();
  for (const [k, v] of Object.entries(hdr ?? {})) h.set(k, v);
  const ack = (await nc.request(subject, text, { timeout: LIMIT_MS, headers: h })).json();
  assert.equal(ack.error, undefined, JSON.stringify(ack.error));
  return ack.seq;
}

async function remove(nc, seq, more) {
  const r = await ask(nc, "STREAM.MSG.DELETE.E", { seq, ...more });
  assert.equal(r.success, true, JSON.stringify(r));
}

async function ready(t, more) {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  const r = await ask(nc, "STREAM.CREATE.E", { name: "E", subjects: ["e.>"], storage: "file", ...more });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return [s, nc];
}

// `mayfly check` of every store there is, with the server stopped.
function checked(s) {
  if (!isMayfly) return;
  const stores = new Set(files(s.file("js")).filter((f) => f.name.endsWith(".log")).map((f) => f.parentPath ?? f.path));
  assert.ok(stores.size > 0);
  for (const dir of stores) execFileSync(tool, ["check", dir], { stdio: "pipe" }); // throws unless all is well
}

async function stopped(t, s, how) {
  await s[how]();
}
async function back(t, s) {
  await s.startAgain();
  s.killed = false;
  return t.connect(s);
}

for (const how of ["stop", "kill"])
  scenario(`nothing of the message is in any file, before and after a ${how}`, async (t) => {
    const [s, nc] = await ready(t);
    await publish(nc, "e.first", "the first one stays");
    const seq = await publish(nc, "e.two", "swordfish in the body", { Secret: "marlin-in-a-header" });
    await publish(nc, "e.third", "the third one stays");
    await until("it is in a file", () => grep(s, "swordfish").length > 0);
    await remove(nc, seq);
    if (isMayfly) {
      assert.deepEqual(grep(s, "swordfish"), []);
      assert.deepEqual(grep(s, "marlin-in-a-header"), []);
    }
    await nc.close();
    await stopped(t, s, how);
    if (how === "stop" || isMayfly) {
      assert.deepEqual(grep(s, "swordfish"), []);
      assert.deepEqual(grep(s, "marlin-in-a-header"), []);
    }
    if (how === "stop") checked(s);
    const again = await back(t, s);
    const info = await ask(again, "STREAM.INFO.E", { deleted_details: true });
    assert.equal(info.state.messages, 2);
    assert.equal(info.state.last_seq, 3);
    assert.deepEqual(info.state.deleted, [2]);
    for (const [n, text] of [[1, "the first one stays"], [3, "the third one stays"]]) {
      const m = await ask(again, "STREAM.MSG.GET.E", { seq: n });
      assert.equal(Buffer.from(m.message.data, "base64").toString(), text);
    }
    assert.equal((await ask(again, "STREAM.MSG.GET.E", { seq })).error.err_code, 10037);
    assert.equal(await publish(again, "e.four", "and on it goes"), 4);
  });

scenario("with no_erase the bytes stay", async (t) => {
  const [s, nc] = await ready(t);
  const seq = await publish(nc, "e.one", "swordfish stays");
  await publish(nc, "e.one", "another one");
  await until("it is in a file", () => grep(s, "swordfish").length > 0);
  await remove(nc, seq, { no_erase: true });
  if (isMayfly) assert.equal(grep(s, "swordfish").length, 1);
});

scenario("many at once, and the log is whole", async (t) => {
  const [s, nc] = await ready(t);
  const seqs = await Promise.all(Array.from({ length: 500 }, (_, i) => publish(nc, `e.${i % 7}`, `swordfish ${i} ${"x".repeat(i)}`)));
  await Promise.all(seqs.filter((n) => n % 2 === 0).map((n) => remove(nc, n)));
  await nc.close();
  await s.stop();
  const all = grep(s, "swordfish").map((f) => fs.readFileSync(f).toString("latin1")).join("");
  for (const [i, seq] of seqs.entries()) assert.equal(all.includes(`swordfish ${i} `), seq % 2 === 1, `message ${seq}`);
  checked(s);
  const again = await back(t, s);
  assert.equal((await ask(again, "STREAM.INFO.E", {})).state.messages, 250);
});

scenario("a message with a marker in its place", { only: "mayfly" }, async (t) => {
  const [s, nc] = await ready(t, { allow_msg_ttl: true, subject_delete_marker_ttl: 60_000_000_000, allow_rollup_hdrs: true });
  const seq = await publish(nc, "e.one", "swordfish");
  await remove(nc, seq);
  assert.deepEqual(grep(s, "swordfish"), []);
  const m = await ask(nc, "STREAM.MSG.GET.E", { last_by_subj: "e.one" });
  assert.match(Buffer.from(m.message.hdrs, "base64").toString(), /Nats-Marker-Reason: Remove/);
  await nc.close();
  await s.stop();
  checked(s);
});
