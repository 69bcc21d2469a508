// starts.mjs: what keeps a server from starting, and what must not end it.
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { check, connected, delay, until } from "./kit.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// Starts it and returns its last words; it must end by itself with status 1.
async function fails(t, conf, options) {
  const s = t.prepare(conf, options);
  s.spawn();
  await until(`it to give up: ${conf}`, () => s.status !== undefined);
  check(s.status === 1, `status ${s.status} with ${conf}:\n${s.log}`);
  check(!/Sanitizer|runtime error/.test(s.log), s.log);
  return s.log;
}

scenario("a port in use: the error names it, for every listener", async (t) => {
  const taken = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.on("listening", resolve));
  const at = `127.0.0.1:${taken.address().port}`;
  const any = '!listen: "127.0.0.1:-1"\n';
  for (const conf of [
    `!listen: "${at}"`, `${any}http: "${at}"`, `${any}websocket { listen: "${at}", no_tls: true }`,
    `${any}leafnodes { listen: "${at}" }`, `${any}cluster { name: c, listen: "${at}" }`,
  ]) {
    const log = await fails(t, conf);
    check(/\[FTL\].*address already in use/i.test(log) && log.includes(at), `${conf}: ${log.slice(-300)}`);
  }
  taken.close();
});

scenario("files that cannot be written end the start with an error that names them", async (t) => {
  for (const [key, path] of [["log_file", "/nonexistent/dir/server.log"], ["pid_file", "/nonexistent/dir/server.pid"],
    ["ports_file_dir", "/nonexistent/dir"], ["log_file", "/"], ["pid_file", "/proc/version"], ["pid_file", "/dev/full"]]) {
    const log = await fails(t, `!listen: "127.0.0.1:-1"\n${key}: "${path}"`);
    check(log.includes(path), `${key} ${path}: ${log.slice(-300)}`);
  }
}, { ours: true });

scenario("a full disk under the log does not end the server", async (t) => {
  const s = await t.server('log_file: "/dev/full"\ndebug: true');
  for (let i = 0; i < 20; i++) await (await connected(s.port)).ping();
  s.signal("SIGUSR1");
  await delay(50);
  await s.healthy();
  await s.stop();
});

scenario("what stands at the place of the pid file is not replaced unless it is a file", async (t) => {
  const s = t.prepare('pid_file: "DIR/link.pid"');
  writeFileSync(s.file("target"), "");
  symlinkSync(s.file("target"), s.file("link.pid"));
  await s.start();
  check(readFileSync(s.file("target"), "utf8").trim() === String(s.child.pid), "the link was not followed");
  await s.stop();
}, { ours: true });

scenario("a server without standard descriptors does not log to its clients", async (t) => {
  const s = await t.server("debug: true\ntrace: true", { shell: "exec 0<&- 1>&- 2>&-" });
  const clients = await Promise.all(Array.from({ length: 5 }, () => connected(s.port)));
  for (const c of clients) {
    c.text = "";
    c.send("SUB a 1\r\nUNSUB 1\r\n");
    await c.ping();
    check(c.text === "", `it heard: ${c.text}`);
  }
  await s.stop();
});

scenario("the soft limit of descriptors is raised to the hard one", async (t) => {
  const s = await t.server("", { shell: "ulimit -S -n 48" });
  const clients = await Promise.all(Array.from({ length: 150 }, () => connected(s.port)));
  await Promise.all(clients.map((c) => c.ping()));
  await s.stop();
});

scenario("a server that could not start leaves nothing behind", async (t) => {
  const taken = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.on("listening", resolve));
  const s = t.prepare(`!listen: "127.0.0.1:${taken.address().port}"\nhttp: "127.0.0.1:-1"\n` +
    'pid_file: "DIR/x.pid"\nports_file_dir: "DIR"\nlog_file: "DIR/x.log"');
  s.spawn();
  await until("it to give up", () => s.status !== undefined);
  check(s.status === 1, `status ${s.status}`);
  check(!existsSync(s.file("x.pid")) && s.readPorts() === undefined, "files are left");
  check(/address already in use/i.test(readFileSync(s.file("x.log"), "utf8")), "the log does not say why");
  taken.close();
}, { ours: true });
