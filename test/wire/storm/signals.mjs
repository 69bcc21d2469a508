// signals.mjs: resets, reloads, lame duck and shutdown in the middle of a load.
import { execFileSync } from "node:child_process";
import { check, Client, connected, connectLine, delay, each, until } from "./kit.mjs";
import { dice } from "./lies.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// Publishers and subscribers who do not rest until stop() is called.
async function load(server, { pairs = 10, connect, subject = "load" } = {}) {
  const subscribers = [], publishers = [];
  for (let i = 0; i < pairs; i++) {
    const c = await connected(server.port, { connect });
    c.send(`SUB ${subject}.${i} 1\r\nSUB ${subject}.${i} q 2\r\n`);
    await c.ping();
    subscribers.push(c.count());
    publishers.push(await connected(server.port, { connect }));
  }
  let over = false;
  const sent = new Array(pairs).fill(0);
  const flood = async (p, i) => {
    while (!over && !p.ended) {
      p.send(`PUB ${subject}.${i} 128\r\n${"x".repeat(128)}\r\n`.repeat(50));
      sent[i] += 50;
      await p.drain();
      await delay(2);
    }
  };
  const running = Promise.all(publishers.map(flood));
  return {
    subscribers, publishers, sent,
    async stop() {
      over = true;
      await running;
    },
    close() {
      [...subscribers, ...publishers].forEach((c) => c.close());
    },
  };
}

scenario("resets in the middle of everything: the server goes on, its counts stay right", async (t) => {
  const s = await t.server();
  const roll = dice(7);
  const idle = (await s.json("/varz")).subscriptions;
  const deadline = Date.now() + 3000;
  const restless = async (k) => {
    while (Date.now() < deadline) {
      const c = await connected(s.port, { connect: { verbose: roll(4) === 0 } }).catch(() => null);
      if (c === null) continue;
      c.send("SUB chaos.> 1\r\nSUB chaos.* q 2\r\nUNSUB 1 500\r\n");
      for (let n = roll(20); n > 0 && !c.ended; n--)
        c.send(`PUB chaos.${k} reply.${k} ${k}\r\n${"x".repeat(k)}\r\n`.repeat(roll(50)));
      c.send("PUB chaos.half 500\r\nand then nothi");
      await delay(roll(30));
      if (roll(3)) c.reset();
      else c.close();
    }
  };
  const steady = await load(s, { pairs: 2 });
  await Promise.all(Array.from({ length: 40 }, (_, k) => restless(k)));
  await steady.stop();
  for (const [i, c] of steady.subscribers.entries())
    await until("every steady message, twice", () => c.messages === 2 * steady.sent[i]);
  await s.healthy();
  steady.close();
  await s.clientsLeft(0);
  const v = await s.json("/varz");
  check(v.subscriptions === idle, `${v.subscriptions} subscriptions, ${idle} before`);
  const z = await s.json("/accountz?acc=$G");
  check(z.account_detail.client_cnt === 0, `$G has ${z.account_detail.client_cnt} clients`);
  t.note(`${v.total_connections} connections, ${v.in_msgs} messages`);
  await s.stop();
});

for (const signal of ["SIGTERM", "SIGINT"])
  scenario(`${signal} in the middle of a load ends it in good order`, async (t) => {
    const s = await t.server('websocket { listen: "127.0.0.1:-1", no_tls: true }');
    const l = await load(s);
    const deaf = (await connected(s.port)).deaf();
    deaf.send("SUB load.> 1\r\n");
    const half = new Client(s.ws, { connect: null }); // a handshake under way
    half.send("GET / HTTP/1.1\r\nHost:");
    const page = new Client(s.http, { connect: null });
    page.send("GET /varz HTTP/1.1\r\n");
    const keepAlive = new Client(s.http, { connect: null });
    keepAlive.send("GET /varz HTTP/1.1\r\nHost: x\r\n\r\n");
    await delay(300);
    const from = Date.now();
    await s.stop(signal);
    t.note(`it took ${Date.now() - from} ms`);
    check(Date.now() - from < 8000, `it took ${Date.now() - from} ms`);
    await Promise.all([...l.subscribers, ...l.publishers, half, page, keepAlive].map((c) => c.closed()));
    await l.stop();
    deaf.close();
  });

scenario("lame duck under load: told, then closed one by one, then the end", async (t) => {
  const s = await t.server('lame_duck_duration: "30s"\nlame_duck_grace_period: "300ms"');
  const l = await load(s, { pairs: 2, connect: { protocol: 1 } });
  await delay(100);
  s.signal("SIGUSR2");
  await s.said(/lame duck mode/);
  for (const c of l.subscribers)
    await c.wait("INFO with ldm", () => /"ldm":true/.test(c.text));
  const late = new Client(s.port);
  await late.closed();
  check(late.error?.code === "ECONNREFUSED" || late.text === "", `a new client got: ${late.text.slice(0, 80)}`);
  s.signal("SIGUSR2"); // twice is as good as once
  const closings = [];
  await Promise.all([...l.subscribers, ...l.publishers].map(async (c) => {
    await c.closed(15000);
    closings.push(Date.now());
  }));
  check(closings[closings.length - 1] - closings[0] > 1000, "all were closed at once");
  await l.stop();
  await s.stop(null); // by itself
});

scenario("SIGTERM ends a lame duck at once", async (t) => {
  const s = await t.server('lame_duck_duration: "60s"\nlame_duck_grace_period: "50s"');
  const l = await load(s, { pairs: 2 });
  s.signal("SIGUSR2");
  await s.said(/lame duck mode/);
  const from = Date.now();
  await s.stop();
  check(Date.now() - from < 5000, `it took ${Date.now() - from} ms`);
  await l.stop();
  l.close();
});

// --- reload -----------------------------------------------------------------------------------------
const users = (...names) => `authorization { users: [ ${names.map((n) => `{user: ${n}, password: p}`).join(", ")} ] }`;

scenario("30 reloads in the middle of a load: nobody who stays loses a message", async (t) => {
  const conf = (i) => `${users("stays", ...(i % 2 ? ["odd"] : ["even"]))}\nmax_payload: ${1 + i % 3}MB\n` +
    `ping_interval: "${10 + i}s"\naccounts { A${i % 3} { users: [ {user: a${i % 3}, password: p} ],\n` +
    `  exports: [ {service: "help.${i % 2}"}, {stream: "news.>"} ] } }\ndebug: ${i % 7 === 0}`;
  const s = await t.server(conf(0));
  const l = await load(s, { pairs: 4, connect: { user: "stays", pass: "p" } });
  for (let i = 1; i <= 30; i++) {
    const name = i % 2 ? "even" : "odd"; // the next file does not know it
    const leaves = await connected(s.port, { connect: { user: name, pass: "p" } });
    leaves.send("SUB > 1\r\nSUB load.* q 2\r\nUNSUB 2 1000000\r\n");
    const acc = await connected(s.port, { connect: { user: `a${(i - 1) % 3}`, pass: "p" } });
    acc.send("SUB > 1\r\nPUB help.1 r 0\r\n\r\n");
    const said = await s.reload(conf(i));
    check(/Reloaded server/.test(said), said);
    await Promise.all([leaves.closed(), acc.closed()]);
  }
  await l.stop();
  for (const [i, c] of l.subscribers.entries()) {
    check(!c.ended, "one that stays was closed");
    // The queue subscription of the one who leaves shares the messages of ours; the plain one does not.
    await until("all messages", () => c.messages >= l.sent[i]);
  }
  l.close();
  await s.clientsLeft(0);
  await s.stop();
});

scenario("a reload with a broken file changes nothing, whatever is broken", async (t) => {
  const good = `${users("a")}\nlog_file: "DIR/one.log"\npid_file: "DIR/one.pid"`;
  const s = await t.server(good);
  const a = await connected(s.port, { connect: { user: "a", pass: "p" } });
  const log = () => t.read(s.file("one.log"));
  for (const bad of [
    "authorization {", `${users("b")}\nnonsense: 1`, `${users("b", "b")}`, 'include "missing.conf"', "max_payload: {}",
    `${users("b")}\nserver_name: other`, `${users("b")}\ntls { cert_file: "/none", key_file: "/none" }`,
    `${users("b")}\nlog_file: "/nonexistent/two.log"`, `${users("b")}\naccounts { X { imports: [ {stream: {account: Y, subject: a}} ] } }`,
  ]) {
    const before = log().length;
    s.configure(`${good.split("\n").slice(1).filter((l) => !bad.includes(l.split(":")[0])).join("\n")}\n${bad}`);
    s.signal("SIGHUP");
    await until(`a complaint about ${bad}`, () => /\[ERR\].*reload/i.test(log().slice(before)));
    await a.ping();
    await connected(s.port, { connect: { user: "a", pass: "p" } });
    const b = new Client(s.port, { connect: { user: "b", pass: "p" } });
    check((await b.closed()).includes("Authorization Violation"), `after: ${bad}`);
  }
  await s.stop();
});

scenario("the pid file moves with the configuration", async (t) => {
  const s = await t.server('pid_file: "DIR/one.pid"');
  check(t.read(s.file("one.pid")).trim() === String(s.child.pid), "no pid file");
  await s.reload('pid_file: "DIR/two.pid"');
  check(t.read(s.file("two.pid")).trim() === String(s.child.pid), "it was not written anew");
  check(t.read(s.file("one.pid")) === "", "the old one is still there");
  await s.stop();
}, { ours: true });

// --- credentials under check ------------------------------------------------------------------------
const SLOW = '"$2a$12$G1dW4Gs6MnoZ0NbsTHiLMe/lIcgMlGYFbYJ1ETbtQBp9pcTjtKsEO"'; // bcrypt: some 0.2 s each

scenario("SIGTERM while workers check passwords", async (t) => {
  const s = await t.server(`authorization { timeout: 10, users: [ {user: a, password: ${SLOW}} ] }`);
  const clients = Array.from({ length: 12 }, () => new Client(s.port, { connect: { user: "a", pass: "x" } }));
  await Promise.all(clients.map((c) => c.expect("INFO ")));
  await delay(50);
  clients.slice(0, 4).forEach((c) => c.reset()); // some left already
  await s.stop();
});

scenario("a reload while workers check: what counts is the new file", async (t) => {
  const conf = (name) => `authorization { timeout: 15, users: [ {user: ${name}, password: ${SLOW}}, {user: z, password: z} ] }`;
  const s = await t.server(conf("a"));
  const c = new Client(s.port, { connect: { user: "a", pass: "slow" } });
  await c.expect("INFO ");
  await delay(30);
  for (let i = 0; i < 12; i++) // more than any fixed number of tables
    check(/Reloaded server/.test(await s.reload(conf("b"))), "the reload was refused");
  check((await c.closed(15000)).endsWith("-ERR 'Authorization Violation'\r\n"), `it got: ${c.text.slice(-80)}`);
  const b = new Client(s.port, { connect: { user: "b", pass: "wrong" } });
  await b.expect("INFO ");
  await delay(30);
  await s.reload(conf("a"));
  check((await b.closed(15000)).endsWith("-ERR 'Authorization Violation'\r\n"), "b got in");
  await (await connected(s.port, { connect: { user: "z", pass: "z" } })).ping();
  await s.stop();
}, { ours: true });

scenario("clients that leave before their password was checked do not hold up those who stay", async (t) => {
  const s = await t.server(`authorization { timeout: 10, users: [ {user: a, password: ${SLOW}} ] }`);
  const hasty = Array.from({ length: 200 }, () => new Client(s.port, { connect: { user: "a", pass: "x" } }));
  await Promise.all(hasty.map((c) => c.expect("INFO ")));
  await delay(50);
  hasty.forEach((c) => c.reset()); // 200 checks would take half a minute
  const from = Date.now();
  const c = new Client(s.port, { connect: { user: "a", pass: "x" } });
  await c.closed(10000);
  t.note(`answered after ${Date.now() - from} ms`);
  check(c.text.endsWith("-ERR 'Authorization Violation'\r\n"), c.text.slice(-80));
  await s.stop();
}, { ours: true });

// --- TLS goes away ------------------------------------------------------------------------------------
scenario("a reload takes TLS away while peers are about to choose it", async (t) => {
  const s = t.prepare();
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", "/CN=localhost", "-keyout", s.file("key.pem"), "-out", s.file("cert.pem")], { stdio: "ignore" });
  const tls = (more) => `tls { cert_file: "DIR/cert.pem", key_file: "DIR/key.pem", timeout: 3, ${more} }`;
  s.configure(tls('handshake_first: "1s"'));
  await s.start();
  const waiting = new Client(s.port, { connect: null });
  const hello = new Client(s.port, { connect: null });
  await until("both", async () => (await s.json("/varz")).connections === 2);
  await s.reload("");
  hello.send(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0])); // too late for that
  await hello.closed();
  await waiting.expect("INFO ", 5000); // when the second is over
  waiting.send(connectLine() + "PING\r\n");
  await waiting.expect("PONG");
  await s.healthy();
  await s.stop();
}, { ours: true });
