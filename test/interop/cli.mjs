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
  assert.match(r.stderr, /refused \(start the server with -m PORT, or name its address\)/);
});

// The page of another server would be shown as the answer.
scenario("server check, server report and top ask the monitoring port: -s alone is refused", async (t) => {
  const s = await t.server({ monitor: true });
  for (const words of [["server", "check"], ["server", "report", "streams"], ["top", "--count", "1"]]) {
    const r = await mayfly(...words, "-s", s.url);
    assert.deepEqual([r.code, /asks the monitoring port: give its URL/.test(r.stderr)], [2, true], words.join(" ") + r.stderr);
  }
});

scenario("server check: the port for clients, and a name that nobody has", async (t) => {
  const s = await t.server();
  for (const [args, why] of [
    [[`http://127.0.0.1:${s.port}`], /this is the port for clients; the pages have a port of their own, which -m PORT/],
    [["http://nowhere.invalid:8222"], /the name nowhere\.invalid cannot be resolved/],
    [[s.url], /not an http:\/\/ or https:\/\/ address \(the pages/],
  ]) {
    const r = await mayfly("server", "check", ...args);
    assert.equal(r.code, 2);
    assert.match(r.stderr, why);
  }
});

scenario("help and version, and what is neither", async () => {
  assert.match((await mayfly("version")).stdout, /^mayfly \d+\.\d+\.\d+\n$/);
  assert.match((await mayfly("help")).stdout, /server check/);
  assert.equal((await mayfly("nonsense")).code, 2);
  assert.equal((await mayfly()).code, 2);
});
