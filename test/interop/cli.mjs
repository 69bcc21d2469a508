// cli.mjs: the operator's tool `mayfly` against a running server; MAYFLY names the binary.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";

const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");
const mayfly = (...args) =>
  new Promise((resolve) => {
    execFile(tool, args, (error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr }));
  });

scenario("server check: a table, and the pages for scripts", async (t) => {
  const s = await t.server({ monitor: true, config: "server_name: wren" });
  const table = await mayfly("server", "check", s.http);
  assert.equal(table.code, 0, table.stderr);
  assert.match(table.stdout, /^server +wren$/m);
  assert.match(table.stdout, /^health +ok$/m);
  const json = JSON.parse((await mayfly("server", "check", s.http, "--json")).stdout);
  assert.equal(json.healthy, true);
  assert.equal(json.varz.server_name, "wren");
});

scenario("server check: below a base path", async (t) => {
  const s = await t.server({ monitor: true, config: 'http_base_path: "/nats"' });
  assert.equal((await mayfly("server", "check", `${s.http}/nats/`)).code, 0);
  assert.equal((await mayfly("server", "check", s.http)).code, 2);
});

scenario("server check: nobody there", async (t) => {
  const s = await t.server({ monitor: true });
  await s.stop();
  const r = await mayfly("server", "check", s.http);
  assert.equal(r.code, 2);
  assert.match(r.stderr, /refused/);
});

scenario("help and version, and what is neither", async () => {
  assert.match((await mayfly("version")).stdout, /^mayfly \d+\.\d+\.\d+\n$/);
  assert.match((await mayfly("help")).stdout, /server check/);
  assert.equal((await mayfly("nonsense")).code, 2);
  assert.equal((await mayfly()).code, 2);
});
