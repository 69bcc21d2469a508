// tool_data_objects.mjs: `mayfly object`, as scripts run it, and beside @nats-io/obj on the same bucket.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs";
import { Objm } from "@nats-io/obj";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, mayfly } from "./lib/tool.mjs";

const JS = { config: 'jetstream { store_dir: "DIR/js" }\n' };
const digest = (data) => `SHA-256=${createHash("sha256").update(data).digest("base64url")}=`;

async function ready(t) {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  const api = async (subject, body) => (await nc.request(`$JS.API.${subject}`, body ? JSON.stringify(body) : "")).json();
  const run = (code, ...args) => expect(code, s, "object", ...args);
  const state = async (b) => (await api(`STREAM.INFO.OBJ_${b}`)).state;
  return { s, nc, api, run, state, objm: new Objm(jetstream(nc)) };
}

scenario("object create: as the official clients make a bucket; ls, info, rm", async (t) => {
  const { s, api, run, objm } = await ready(t);
  assert.match((await mayfly(s, "object", "ls")).stderr, /no object buckets: `mayfly object create NAME`/);
  assert.equal(await run(0, "create", "tool"), "bucket tool is created\n");
  assert.equal(await run(0, "create", "tool"), "bucket tool exists already\n");
  await objm.create("lib");
  const [a, b] = [(await api("STREAM.INFO.OBJ_tool")).config, (await api("STREAM.INFO.OBJ_lib")).config];
  for (const x of ["name", "subjects", "metadata"]) delete a[x], delete b[x];
  assert.deepEqual(a, b);
  await run(0, "create", "full", "--ttl", "1h", "--storage", "memory", "--max-bytes", "1MB", "--description", "d\u001b[1m", "--metadata", "k=v", "--compression");
  const { config } = await api("STREAM.INFO.OBJ_full");
  assert.deepEqual([config.max_age, config.storage, config.max_bytes, config.description, config.metadata.k, config.compression], [3600e9, "memory", 1 << 20, "d\u001b[1m", "v", "s2"]);
  assert.match(await run(0, "ls"), /^BUCKET +BYTES +STORAGE +DESCRIPTION\nfull +0 B +memory +d\\x1b\[1m\nlib +0 B +file\ntool +0 B +file\n$/);
  assert.equal((await json(s, "object", "ls")).buckets.length, 3);
  assert.match(await run(0, "info", "full"), /^OBJ_full {3}created(.*\n)*max age +1h\n/);
  assert.match(await run(2, "rm", "full"), /Remove the bucket full .*add --force/);
  assert.equal(await run(0, "rm", "full", "--force"), "bucket full is removed\n");
  assert.equal((await json(s, "object", "rm", "obj:lib", "--force")).success, true);
});

scenario("object rm: a meta record with a wildcard for a nuid does not purge the chunks of others", async (t) => {
  const { s, nc, run } = await ready(t);
  await run(0, "create", "b");
  fs.writeFileSync(s.file("good"), "good");
  await run(0, "put", "b", s.file("good"));
  await nc.request(`$O.b.M.${Buffer.from("bad").toString("base64url")}`, JSON.stringify({ name: "bad", nuid: ">", size: 0, chunks: 0, digest: "" }));
  await run(0, "rm", "b", "bad");
  assert.equal(await run(0, "get", "b", "good", "-"), "good");
});

scenario("object put and get: what the tool stores the library reads, and the other way round", async (t) => {
  const { s, run, state, objm } = await ready(t);
  await run(0, "create", "files");
  const os = await objm.open("files");
  const big = randomBytes(400_001);
  fs.writeFileSync(s.file("big.bin"), big);
  assert.equal(await run(0, "put", "files", s.file("big.bin")), `files/big.bin  390.6 KB in 4 chunks  ${digest(big)}\n`);
  const info = await os.info("big.bin");
  assert.deepEqual([info.size, info.chunks, info.digest, info.deleted ?? false, info.options.max_chunk_size], [big.length, 4, digest(big), false, 131072]);
  assert.ok(Buffer.from(await os.getBlob("big.bin")).equals(big));
  // replaced: the chunks of before are gone
  const small = randomBytes(2500);
  const doc = await expect(0, { url: s.url, input: small }, "object", "put", "files", "-", "--name", "big.bin", "--chunk", "1000", "--description", "less", "--metadata", "kind=x", "--json").then(JSON.parse);
  assert.deepEqual([doc.size, doc.chunks, doc.description, doc.options.max_chunk_size], [2500, 3, "less", 1000]);
  assert.deepEqual((await os.info("big.bin")).metadata, { kind: "x" });
  assert.ok(Buffer.from(await os.getBlob("big.bin")).equals(small));
  assert.equal((await state("files")).messages, 4);
  // the other way round: names with slashes and blanks, nothing at all, headers and metadata
  await os.putBlob({ name: "dir/a file+~.bin", description: "of the library", metadata: { a: "b" }, options: { max_chunk_size: 100_000 } }, big);
  await os.putBlob({ name: "empty" }, new Uint8Array());
  assert.equal(await run(0, "get", "files", "dir/a file+~.bin", s.file("out")), `${s.file("out")}  390.6 KB, digest is right\n`);
  assert.ok(fs.readFileSync(s.file("out")).equals(big));
  assert.deepEqual((await mayfly(s, "object", "get", "files", "dir/a file+~.bin")).raw, big); // a pipe
  assert.deepEqual((await mayfly(s, "object", "get", "files", "big.bin", "-")).raw, small);
  await run(0, "get", "files", "empty", "-O", s.file("nothing"));
  assert.equal(fs.statSync(s.file("nothing")).size, 0);
  const meta = await json(s, "object", "info", "files", "dir/a file+~.bin");
  assert.deepEqual([meta.name, meta.size, meta.chunks, meta.description, meta.metadata], ["dir/a file+~.bin", big.length, 5, "of the library", { a: "b" }]);
  const text = await run(0, "info", "files", "dir/a file+~.bin");
  for (const row of [/^name +dir\/a file\+~\.bin$/m, /^size +390\.6 KB \(400001 bytes\)$/m, /^chunks +5$/m, /^digest +SHA-256=/m, /^written +20/m]) assert.match(text, row);
  assert.match(await run(0, "ls", "files"), /^NAME +SIZE +CHUNKS +STORED\nbig\.bin +2\.4 KB +3 +20.*Z\ndir\/a file\+~\.bin +390\.6 KB +5 .*\nempty +0 B +0 .*\n$/);
  assert.deepEqual((await json(s, "object", "ls", "files")).objects.map((o) => [o.name, o.size]), [["big.bin", 2500], ["dir/a file+~.bin", 400001], ["empty", 0]]);
  // links of the library
  await os.link("link", await os.info("big.bin"));
  assert.deepEqual((await mayfly(s, "object", "get", "files", "link")).raw, small);
  // removals
  assert.equal(await run(0, "rm", "files", "big.bin"), "files/big.bin is removed\n");
  assert.equal((await os.info("big.bin")).deleted, true);
  assert.match(await run(3, "get", "files", "big.bin"), /no such object: files\/big\.bin/);
  await os.delete("empty");
  assert.match(await run(3, "info", "files", "empty"), /no such object: files\/empty/);
  assert.equal((await json(s, "object", "rm", "files", "dir/a file+~.bin")).deleted, true);
  assert.deepEqual((await state("files")).messages, 4); // meta records only
  // The library makes Latin-1 of names; the tool, like the Go client, UTF-8.
  await run(0, "put", "files", s.file("big.bin"), "--name", "grüße 🙂");
  assert.deepEqual((await mayfly(s, "object", "get", "files", "grüße 🙂")).raw, big);
  assert.equal((await json(s, "object", "ls", "files")).objects.at(-1).name, "grüße 🙂");
  await run(0, "put", "files", s.file("big.bin")); // a removed one comes back
  assert.ok(Buffer.from(await os.getBlob("big.bin")).equals(big));
});

scenario("object get: files that exist, damage, hostile records", async (t) => {
  const { s, nc, api, run } = await ready(t);
  await run(0, "create", "files");
  fs.writeFileSync(s.file("a"), "hello");
  await run(0, "put", "files", s.file("a"), "--chunk", "2");
  assert.match(await run(2, "get", "files", "a", s.file("a")), /a exists: add --force to overwrite it/);
  await run(0, "get", "files", "a", s.file("a"), "--force");
  assert.match(await run(2, "get", "files", "a", s.file("no/such/dir")), /No such file or directory/);
  assert.match(await run(2, "get", "files", "a", ".."), /"\.\." is no name of a file: give FILE/);
  assert.match(await run(2, "get", "files", "a", "--json"), /--json and the object do not share stdout: give FILE/);
  assert.equal((await json(s, "object", "get", "files", "a", s.file("b"))).name, "a");
  // a chunk is lost
  const { state } = await api("STREAM.INFO.OBJ_files");
  await api("STREAM.MSG.DELETE.OBJ_files", { seq: state.first_seq + 1 });
  assert.match(await run(4, "get", "files", "a", s.file("c")), /the object is damaged: 3 of 5 bytes are there/);
  // another digest
  const subject = `$O.files.M.${Buffer.from("a").toString("base64url")}==`;
  const h = headers();
  h.set("Nats-Rollup", "sub");
  const store = async (change) => {
    const meta = await json(s, "object", "info", "files", "a");
    await nc.request(subject, JSON.stringify({ ...meta, ...change }), { headers: h });
  };
  await store({ size: 3, digest: digest("xyz") });
  assert.match(await run(4, "get", "files", "a", s.file("c")), /the object is damaged: its digest is not SHA-256=/);
  await store({ nuid: "a.>.b", description: "\u001b]0;title\u0007", mtime: "0001-01-01T00:00:00Z" }); // the Go client stores no time
  assert.match(await run(4, "get", "files", "a", s.file("c")), /bad nuid/);
  assert.match(await run(0, "info", "files", "a"), /^description +\\x1b\]0;title\\x07$(.*\n)*^written +20/m);
  await nc.request(subject, "no JSON", { headers: h });
  assert.match(await run(4, "get", "files", "a", s.file("c")), /is no JSON object/);
  assert.ok(!fs.existsSync(s.file("c")) && !fs.existsSync(s.file("c.part")), "nothing is left behind");
});

scenario("object: what is wrong, too large or absent changes nothing and says what to do", async (t) => {
  const { s, run, state } = await ready(t);
  await run(0, "create", "files", "--max-bytes", "300K");
  fs.writeFileSync(s.file("large"), randomBytes(500_000));
  for (const [args, why] of [[["create", "a.b"], /no name of a bucket/], [["create", "c", "--storage", "disk"], /file or memory/], [["put", "files", s.file("none")], /No such file or directory/], [["put", "files", s.dir], /Is a directory/],
    [["put", "files", "-"], /needs a name: --name NAME/], [["put", "files", s.file("large"), "--chunk", "0"], /at least 1 byte/], [["put", "files"], /needs BUCKET FILE/], [["get", "files"], /needs BUCKET NAME/], [["put", "files", s.file("large"), "--name", ""], /needs a name/]])
    assert.match(await run(2, ...args), why, args.join(" "));
  assert.match(await run(4, "put", "files", s.file("large")), /refused: maximum bytes exceeded/);
  assert.equal((await state("files")).messages, 0, "the chunks that were stored are purged");
  for (const args of [["put", "none", s.file("large")], ["get", "none", "x"], ["info", "none", "x"], ["ls", "none"], ["rm", "none", "x"], ["info", "none"]])
    assert.match(await run(3, ...args), /^mayfly: .*\nhint: `mayfly object create none` makes the bucket, `mayfly object ls` lists buckets\n$/, args.join(" "));
  assert.match(await run(3, "get", "files", "x"), /^mayfly: no such object: files\/x \(10037\)\nhint: `mayfly object ls files` lists the objects\n$/);
  assert.match(await run(3, "rm", "files", "x"), /files\/x/);
  assert.match((await mayfly(s, "object", "ls", "files")).stderr, /no objects: `mayfly object put BUCKET FILE`/);
});
