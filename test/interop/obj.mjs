// obj.mjs: object stores, as @nats-io/obj makes and reads them.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { Objm } from "@nats-io/obj";
import { group } from "./lib/js.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const store = (c, name = c.id, options = {}) => new Objm(c.js).create(name, options);
const digest = (data) => `SHA-256=${createHash("sha256").update(data).digest("base64url")}=`;
const text = (t) => new TextEncoder().encode(t);

check("a large object comes back as it was, in chunks, with its digest", async (c) => {
  const os = await store(c);
  const data = randomBytes(3_000_000);
  const info = await os.putBlob({ name: "big file/ü.bin", description: "all of it" }, data);
  assert.deepEqual([info.size, info.chunks, info.digest, info.deleted ?? false], [data.length, Math.ceil(data.length / (128 * 1024)), digest(data), false]);
  assert.ok(Buffer.from(await os.getBlob("big file/ü.bin")).equals(data));
  const st = (await c.api(`STREAM.INFO.OBJ_${c.id}`)).state;
  assert.equal(st.messages, info.chunks + 1);
});

check("streams in and out, with chunks of one's own size", async (c) => {
  const os = await store(c);
  const data = randomBytes(100_001);
  const parts = new ReadableStream({
    start(control) {
      for (let i = 0; i < data.length; i += 7777) control.enqueue(data.subarray(i, i + 7777));
      control.close();
    },
  });
  const info = await os.put({ name: "s", options: { max_chunk_size: 1000 } }, parts, { timeout: LIMIT_MS });
  assert.equal(info.chunks, 101);
  const r = await os.get("s");
  const got = [];
  for await (const part of r.data) got.push(part);
  assert.ok(!(await r.error));
  assert.ok(Buffer.concat(got).equals(data));
});

check("empty, missing, deleted", async (c) => {
  const os = await store(c);
  await os.putBlob({ name: "empty" }, new Uint8Array());
  assert.equal((await os.getBlob("empty")).length, 0);
  assert.equal(await os.getBlob("missing"), null);
  assert.equal(await os.info("missing"), null);
  await os.putBlob({ name: "gone" }, randomBytes(300_000));
  const r = await os.delete("gone");
  assert.deepEqual([r.success, r.purged], [true, 3]);
  assert.equal(await os.getBlob("gone"), null);
  const info = await os.info("gone");
  assert.deepEqual([info.deleted, info.size], [true, 0]);
});

check("put again: the old chunks are gone", async (c) => {
  const os = await store(c);
  const one = await os.putBlob({ name: "x" }, randomBytes(400_000));
  const two = await os.putBlob({ name: "x" }, text("short"));
  assert.notEqual(one.nuid, two.nuid);
  assert.equal(Buffer.from(await os.getBlob("x")).toString(), "short");
  await until("old chunks to be purged", async () => (await c.api(`STREAM.INFO.OBJ_${c.id}`)).state.messages === 2);
});

check("previousRevision decides", async (c) => {
  const os = await store(c);
  const one = await os.putBlob({ name: "x" }, text("1"), { previousRevision: 0 });
  await os.putBlob({ name: "x" }, text("2"), { previousRevision: one.revision });
  await assert.rejects(os.putBlob({ name: "x" }, text("3"), { previousRevision: one.revision }), /wrong last sequence/);
  assert.equal(Buffer.from(await os.getBlob("x")).toString(), "2");
});

check("links: to an object here, in another store, and to a store", async (c) => {
  const [here, there] = [await store(c), await store(c, `${c.id}_B`)];
  const a = await here.putBlob({ name: "a" }, text("in a"));
  const b = await there.putBlob({ name: "b" }, text("in b"));
  await here.link("to a", a);
  await here.link("to b", b);
  assert.equal(Buffer.from(await here.getBlob("to a")).toString(), "in a");
  assert.equal(Buffer.from(await here.getBlob("to b")).toString(), "in b");
  const l = await here.linkStore("all of b", there);
  assert.equal(l.options.link.bucket, `${c.id}_B`);
  await assert.rejects(here.link("link of link", await here.info("to a")), /link/);
});

check("metadata, headers, new names", async (c) => {
  const os = await store(c);
  await os.putBlob({ name: "a", metadata: { k: "v" } }, text("data"));
  assert.deepEqual((await os.info("a")).metadata, { k: "v" });
  await os.update("a", { name: "b", description: "renamed" });
  const info = await os.info("b");
  assert.equal(info.description, "renamed");
  assert.equal(Buffer.from(await os.getBlob("b")).toString(), "data");
  assert.equal((await os.info("a"))?.deleted ?? true, true);
});

check("list tells what is there", async (c) => {
  const os = await store(c);
  assert.deepEqual(await os.list(), []);
  for (const name of ["a", "b", "c"]) await os.putBlob({ name }, text(name));
  await os.delete("b");
  assert.deepEqual((await os.list()).map((i) => i.name).sort(), ["a", "c"]);
});

check("watch: what is there, then each change in order", async (c) => {
  const os = await store(c);
  await os.putBlob({ name: "a" }, text("1"));
  const seen = [];
  const iter = await os.watch({ includeHistory: true });
  const done = (async () => {
    for await (const i of iter) {
      if (i) seen.push(`${i.name} ${i.deleted ? "deleted" : i.size}`);
      if (seen.length === 5) return;
    }
  })();
  await until("the first", () => seen.length === 1);
  await os.putBlob({ name: "b" }, text("22"));
  await os.putBlob({ name: "a" }, text("333"));
  await os.delete("b");
  await os.putBlob({ name: "b" }, text("4444"));
  await done;
  assert.deepEqual(seen, ["a 1", "b 2", "a 3", "b deleted", "b 4"]);
});

check("watch: with and without what is there and what is deleted", async (c) => {
  const os = await store(c);
  for (const name of ["a", "b"]) await os.putBlob({ name }, text(name));
  await os.delete("a");
  const watch = async (options) => {
    const seen = [];
    const iter = await os.watch(options);
    (async () => {
      for await (const i of iter) if (i) seen.push(`${i.name} ${i.deleted ? "deleted" : i.size}`);
    })();
    return seen;
  };
  const [all, alive, news] = await Promise.all([{ includeHistory: true }, { includeHistory: true, ignoreDeletes: true }, {}].map(watch));
  await until("what is there", () => all.length === 2 && alive.length === 1);
  await os.putBlob({ name: "c" }, text("ccc"));
  await os.delete("b");
  await os.putBlob({ name: "end" }, text("1"));
  await until("the last", () => [all, alive, news].every((s) => s.at(-1) === "end 1"));
  assert.deepEqual(all, ["b 1", "a deleted", "c 3", "b deleted", "end 1"]);
  assert.deepEqual(alive, ["b 1", "c 3", "end 1"]);
  assert.deepEqual(news.slice(-3), ["c 3", "b deleted", "end 1"]);
});

check("links: follow what they name; what it names may go", async (c) => {
  const [here, there] = [await store(c), await store(c, `${c.id}_B`)];
  await here.link("l", await there.putBlob({ name: "b" }, text("one")));
  await there.putBlob({ name: "b" }, text("two"));
  assert.equal(Buffer.from(await here.getBlob("l")).toString(), "two");
  await there.delete("b");
  assert.equal(await here.getBlob("l"), null);
  await here.putBlob({ name: "l" }, text("an object now"));
  assert.equal(Buffer.from(await here.getBlob("l")).toString(), "an object now");
  assert.equal(await there.destroy(), true);
});

check("sealed: nothing is put, deleted, renamed, linked or purged, for good; what is there is read", async (c) => {
  const os = await store(c);
  await os.putBlob({ name: "a" }, text("1"));
  await os.seal();
  const info = await os.info("a");
  for (const tried of [() => os.putBlob({ name: "a" }, text("2")), () => os.delete("a"), () => os.update("a", { name: "z" }), () => os.link("l", info)]) await assert.rejects(tried);
  for (const op of ["PURGE", "UPDATE"])
    assert.ok((await c.api(`STREAM.${op}.OBJ_${c.id}`, op === "UPDATE" ? { name: `OBJ_${c.id}`, subjects: [`$O.${c.id}.C.>`, `$O.${c.id}.M.>`], sealed: false } : "")).error, op);
  assert.ok((await c.api(`STREAM.MSG.DELETE.OBJ_${c.id}`, { seq: 1 })).error);
  assert.deepEqual([(await os.list()).length, Buffer.from(await os.getBlob("a")).toString()], [1, "1"]);
});

check("status, seal and destroy", async (c) => {
  const os = await store(c, c.id, { description: "things", metadata: { k: "v" }, compression: true });
  await os.putBlob({ name: "a" }, text("1"));
  const st = await os.status();
  assert.deepEqual([st.bucket, st.description, st.sealed, st.backingStore, st.storage, st.replicas, st.compression], [c.id, "things", false, "JetStream", "file", 1, true]);
  assert.equal(st.metadata.k, "v");
  assert.equal((await os.seal()).sealed, true);
  await assert.rejects(os.putBlob({ name: "b" }, text("2")));
  assert.equal(Buffer.from(await os.getBlob("a")).toString(), "1");
  const names = [];
  for await (const s of new Objm(c.js).list()) names.push(s.bucket);
  assert.ok(names.includes(c.id));
  assert.equal(await os.destroy(), true);
  assert.equal((await c.api(`STREAM.INFO.OBJ_${c.id}`)).error.err_code, 10059);
});

check("several readers and writers at once", async (c) => {
  const os = await store(c);
  const files = Array.from({ length: 8 }, (_, i) => [`f${i}`, randomBytes(200_000 + i)]);
  await Promise.all(files.map(([name, data]) => os.putBlob({ name }, data)));
  await Promise.all(files.map(async ([name, data]) => assert.ok(Buffer.from(await os.getBlob(name)).equals(data), name)));
});
