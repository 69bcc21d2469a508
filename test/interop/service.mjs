// service.mjs: mayflyd under a service manager: what it says to $NOTIFY_SOCKET, over real sockets.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { jetstreamBlock } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const sockets = path.join(path.dirname(fileURLToPath(import.meta.url)), "c/listen_exec.c");
const source = path.join(path.dirname(fileURLToPath(import.meta.url)), "c/notify_listen.c");

// A manager that listens: { address, said }, where said has one line for each datagram.
async function manager(t, abstract) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-notify-"));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  execFileSync(process.env.CC ?? "cc", ["-o", `${dir}/listen`, source]);
  const m = { address: `${abstract ? "@" : ""}${dir}/socket`, said: [] };
  const proc = spawn(`${dir}/listen`, [m.address], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => proc.kill());
  let rest = "";
  proc.stdout.setEncoding("utf8").on("data", (d) => {
    const lines = (rest + d).split("\n");
    rest = lines.pop();
    m.said.push(...lines);
  });
  await until("the manager to listen", () => m.said.shift() === "listening");
  return m;
}

const pings = (m) => m.said.filter((l) => l === "WATCHDOG=1").length;
const words = (m) => m.said.filter((l) => l !== "WATCHDOG=1");

scenario("the manager hears ready after recovery, pings, reloads and the stop", { only: "mayfly" }, async (t) => {
  const m = await manager(t, false);
  const env = { NOTIFY_SOCKET: m.address, WATCHDOG_USEC: "100000" };
  const s = t.prepare({ config: jetstreamBlock(), env });
  await s.start();
  let nc = await t.connect(s);
  await (await jetstreamManager(nc)).streams.add({ name: "S", subjects: ["s.>"] });
  for (let i = 0; i < 100; i++) await jetstream(nc).publish(`s.${i}`, "x");
  await s.stop();
  m.said.length = 0;
  s.writeConfig();
  s.spawn(["-c", s.confFile]);
  await until("READY=1", () => m.said.includes("READY=1"));
  // Whoever waited for it finds everything, at once: ports, streams, messages.
  const ports = JSON.parse(fs.readFileSync(s.portsFile(), "utf8"));
  nc = await t.connect({ url: ports.nats[0] });
  assert.equal((await (await jetstreamManager(nc)).streams.info("S")).state.messages, 100);
  await until("the port in words", () => words(m).length >= 3);
  assert.deepEqual(words(m).slice(0, 2), ["STATUS=Starting: recovering streams", "READY=1"]);
  assert.equal(words(m)[2], `STATUS=Ready: clients on 127.0.0.1:${new URL(ports.nats[0].replace("nats", "http")).port}`);
  await until("three pings", () => pings(m) >= 3);

  m.said.length = 0;
  s.reload(`${jetstreamBlock()}\nping_max: 5`);
  await until("the reload", () => words(m).length >= 3);
  assert.match(words(m)[0], /^RELOADING=1 MONOTONIC_USEC=\d+$/);
  const usec = Number(words(m)[0].split("USEC=")[1]);
  assert.ok(Math.abs(usec / 1e6 - Number(process.hrtime.bigint()) / 1e9) < 60, `${usec}: the monotonic clock`);
  assert.deepEqual([words(m)[1], words(m)[2].slice(0, 12)], ["READY=1", "STATUS=Ready"]);

  m.said.length = 0;
  s.reload("no such option");
  await until("the refused reload", () => words(m).length >= 3);
  assert.equal(words(m)[1], "READY=1"); // the old configuration still serves
  assert.match(words(m)[2], /^STATUS=Ready; the last reload was refused: .*server\.conf:\d+/);

  m.said.length = 0;
  await s.stop();
  await until("STOPPING=1", () => m.said.includes("STOPPING=1"));
});

scenario("abstract socket; the watchdog of another process is not pinged; lame duck mode has its words", { only: "mayfly" }, async (t) => {
  const m = await manager(t, true);
  const s = t.prepare({ env: { NOTIFY_SOCKET: m.address, WATCHDOG_USEC: "20000", WATCHDOG_PID: "1" } });
  await s.start();
  await t.raw(s);
  await until("READY=1", () => m.said.includes("READY=1"));
  s.signal("SIGUSR2");
  await until("lame duck mode", () => m.said.some((l) => /^STATUS=Lame duck mode/.test(l)));
  await s.stop();
  await until("STOPPING=1", () => m.said.includes("STOPPING=1"));
  assert.equal(pings(m), 0);
});

scenario("a start that fails never says ready, and gives its reason", { only: "mayfly" }, async (t) => {
  const m = await manager(t, false);
  const first = await t.server({ config: jetstreamBlock() });
  const s = t.prepare({ config: jetstreamBlock().replace(/\bDIR\b/g, first.dir), env: { NOTIFY_SOCKET: m.address } });
  s.writeConfig();
  s.spawn(["-c", s.confFile]);
  await s.waitExit(1);
  await until("the reason", () => m.said.length >= 2);
  assert.match(m.said[1], /^STATUS=Start failed: /);
  assert.ok(!m.said.includes("READY=1"));
});

scenario("a socket of the service manager takes the place of the client port", { only: "mayfly" }, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-sockets-"));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  execFileSync(process.env.CC ?? "cc", ["-o", `${dir}/open`, sockets]);
  const proc = spawn(`${dir}/open`, [`${dir}/s`, process.env.MAYFLYD, "-a", "127.0.0.1", "-p", "-1"], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => proc.kill("SIGKILL"));
  let log = "", port = "";
  proc.stdout.setEncoding("utf8").on("data", (d) => (port += d));
  proc.stderr.setEncoding("utf8").on("data", (d) => (log += d));
  await until("the server to be ready", () => log.includes("Server is ready"));
  port = port.trim();
  assert.match(log, new RegExp(`client connections on 127\\.0\\.0\\.1:${port}, opened by the service manager`));
  assert.match(log, new RegExp(`client connections on unix:${dir}/s, opened by the service manager`));
  assert.equal(log.match(/Listening for client connections/g).length, 2, "the port of the flags is not opened");
  const nc = await t.connect({ url: `nats://127.0.0.1:${port}` });
  await nc.flush();
  const sock = net.connect(`${dir}/s`);
  let said = "";
  sock.setEncoding("utf8").on("data", (d) => (said += d));
  await until("the greeting on the other socket", () => said.startsWith("INFO {"));
  sock.destroy();
  proc.kill("SIGTERM");
  await until("the end", () => log.includes("Server Exiting.."));
  assert.ok(fs.existsSync(`${dir}/s`), "the file is the manager's");
});
