// signals.mjs: resets, reloads, lame duck and shutdown in the middle of a load.
import { execFileSync } from "node:child_process";
import { check, Client, connected, connectLine, delay, steadily, until } from "./kit.mjs";
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
  check((z.account_detail.client_cnt ?? 0) === 0, `$G has ${z.account_detail.client_cnt} clients`);
  t.note(`${v.total_connections} connections, ${v.in_msgs} messages`);
  await s.stop();
});

for (const signal of ["SIGTERM", "SIGINT"])
  scenario(`${signal} in the middle of a load ends it in good order`, (t) => steadily(async () => {
    const s = await t.server('websocket { listen: "127.0.0.1:-1", no_tls: true }');
    const l = await load(s);
    const deaf = (await connected(s.port)).deaf();
    if (t.ours) deaf.send("SUB load.> 1\r\n"); // nats-server waits ten seconds for it
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
    check(Date.now() - from < t.soon(8000), `it took ${Date.now() - from} ms`);
    await Promise.all([...l.subscribers, ...l.publishers, half, page, keepAlive].map((c) => c.closed()));
    await l.stop();
    deaf.close();
  }));

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
    await c.closed();
    closings.push(Date.now());
  }));
  const seen = closings[closings.length - 1] - closings[0]; // at once, too, by who looks late
  check(seen > 1000 || t.lag.look() > 200, "all were closed at once");
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
  check(Date.now() - from < 40000, `it took ${Date.now() - from} ms`); // and not the 50 s of grace
  await l.stop();
  l.close();
}, { ours: true });

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
    `${users("b")}\naccounts { X { imports: [ {stream: {account: Y, subject: a}} ] } }`,
    ...(t.ours ? [`${users("b")}\nlog_file: "/nonexistent/two.log"`] : []), // ends nats-server
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

scenario("a reload that asks for credentials gives those inside little time to show them", (t) => steadily(async () => {
  const s = await t.server();
  const silent = await Promise.all(Array.from({ length: 20 }, async () => {
    const c = new Client(s.port, { connect: null });
    await c.expect("INFO ");
    return c;
  }));
  const anonymous = await connected(s.port);
  await s.reload("authorization { user: u, password: p, timeout: 2 }");
  silent[0].send(connectLine({ user: "u", pass: "p" }) + "PING\r\n");
  silent[1].send("PING\r\n");
  await silent[0].expect("PONG\r\n");
  check((await anonymous.closed()).endsWith("-ERR 'Authorization Violation'\r\n"), anonymous.text.slice(-80));
  check((await silent[1].closed()).endsWith("-ERR 'Authorization Violation'\r\n"), silent[1].text.slice(-80));
  for (const c of silent.slice(2))
    check((await c.closed()).endsWith("-ERR 'Authentication Timeout'\r\n"), c.text.slice(-80));
  await s.stop();
}), { ours: true });

scenario("a reload that forbids answers forgets those that were allowed", async (t) => {
  const conf = (more) => `authorization { users: [ {user: u, password: p, permissions { publish: ["req"], subscribe: [">"]${more} } } ] }`;
  const s = await t.server(conf(", allow_responses: { max: 10 }"));
  const c = await connected(s.port, { connect: { user: "u", pass: "p" } });
  c.send("SUB req 1\r\nPUB req back 0\r\n\r\nPUB back 2\r\nhi\r\n");
  await c.ping();
  check(!c.text.includes("-ERR"), c.text);
  await s.reload(conf(""));
  c.send("PUB back 2\r\nhi\r\n");
  await c.expect("-ERR 'Permissions Violation for Publish to \"back\"'\r\n");
  await s.stop();
}, { ours: true });

scenario("the pid file moves with the configuration", async (t) => {
  const s = await t.server('pid_file: "DIR/one.pid"');
  check(t.read(s.file("one.pid")).trim() === String(s.child.pid), "no pid file");
  await s.reload('pid_file: "DIR/two.pid"');
  check(t.read(s.file("two.pid")).trim() === String(s.child.pid), "it was not written anew");
  check(t.read(s.file("one.pid")) === "", "the old one is still there");
  await s.stop();
}, { ours: true });

// --- credentials under check ------------------------------------------------------------------------
// bcrypt of "slow": some 0.2 s for each check
const SLOW = '"$2b$12$abcdefghijklmnopqrstuuvhqlfa3SToYAWnpQD0wYcoxAD7y2cEy"';

scenario("SIGTERM while workers check passwords", async (t) => {
  const s = await t.server(`authorization { users: [ {user: a, password: ${SLOW}} ] }`);
  const clients = Array.from({ length: 12 }, () => new Client(s.port, { connect: { user: "a", pass: "x" } }));
  await Promise.all(clients.map((c) => c.expect("INFO ")));
  await delay(50);
  clients.slice(0, 4).forEach((c) => c.reset()); // some left already
  await s.stop();
});

scenario("a reload while workers check: what counts is the new file", async (t) => {
  const conf = (name) => `authorization { users: [ {user: ${name}, password: ${SLOW}}, {user: z, password: z} ] }`;
  const s = await t.server(conf("a"));
  const login = async (user, reloads) => { // the table changes while its password is looked at
    const c = new Client(s.port, { connect: { user, pass: "slow" } });
    await until("the check to begin", async () => (await s.json("/varz")).connections > 0);
    for (const name of reloads)
      check(/Reloaded server/.test(await s.reload(conf(name))), "the reload was refused");
    await until("the outcome", () => c.ended || c.text.includes("PONG"));
    c.close();
    await s.clientsLeft(0);
    return c.text;
  };
  const gone = await login("a", ["b"]);
  check(gone.endsWith("-ERR 'Authorization Violation'\r\n"), `who is gone got: ${gone.slice(-80)}`);
  const many = await login("b", new Array(12).fill("b")); // more than any fixed number of tables
  check(many.includes("PONG"), `who stays got: ${many.slice(-80)}`);
  await s.stop();
}, { ours: true });

scenario("clients whose time ran out before their password was checked hold up nobody", (t) => steadily(async () => {
  const conf = (timeout) => `authorization { timeout: ${timeout}, users: [ {user: a, password: ${SLOW}} ] }`;
  const s = await t.server(conf(60));
  const refused = async () => { // how long a check takes
    const from = Date.now();
    const c = new Client(s.port, { connect: { user: "a", pass: "x" } });
    check((await c.closed()).endsWith("-ERR 'Authorization Violation'\r\n"), c.text.slice(-80));
    return Date.now() - from;
  };
  const alone = await refused();
  await s.reload(conf(3));
  const many = Array.from({ length: 300 }, () => new Client(s.port, { connect: { user: "a", pass: "x" } }));
  await Promise.all(many.map((c) => c.closed())); // all the checks would take half a minute
  check(many.filter((c) => c.text.endsWith("-ERR 'Authentication Timeout'\r\n")).length > 100, "not slow enough");
  await s.reload(conf(60));
  const after = await refused();
  t.note(`a check took ${alone} ms, then ${after} ms`);
  check(after < t.soon(30 * alone), `it took ${after} ms, and ${alone} ms alone`);
  await s.stop();
}), { ours: true });

// --- TLS goes away ------------------------------------------------------------------------------------
scenario("a reload takes TLS away while peers are about to choose it", (t) => steadily(async () => {
  const s = t.prepare();
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", "/CN=localhost", "-keyout", s.file("key.pem"), "-out", s.file("cert.pem")], { stdio: "ignore" });
  const tls = (more) => `tls { cert_file: "DIR/cert.pem", key_file: "DIR/key.pem", timeout: 60, ${more} }`;
  s.configure(tls('handshake_first: "1s"'));
  await s.start();
  const waiting = new Client(s.port, { connect: null });
  const hello = new Client(s.port, { connect: null });
  await until("both", async () => (await s.json("/varz")).connections === 2);
  await s.reload("");
  hello.send(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0])); // too late for that
  await hello.closed();
  await waiting.expect("INFO "); // when the second is over
  waiting.send(connectLine() + "PING\r\n");
  await waiting.expect("PONG");
  await s.healthy();
  await s.stop();
}, 300), { ours: true });
