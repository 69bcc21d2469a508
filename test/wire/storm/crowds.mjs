// crowds.mjs: very many connections: at once, one after the other, up to the limit, beyond the
// descriptors there are.
import { check, Client, connected, delay, each, until } from "./kit.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// --- ten thousand ---------------------------------------------------------------------------------
async function crowd(server, n) {
  const clients = new Array(n);
  await each(n, 500, async (i) => (clients[i] = await connected(server.port)));
  await Promise.all(clients.map((c) => c.ping()));
  return clients;
}

async function crowdLeaves(server, clients) {
  clients.forEach((c, i) => (i % 2 ? c.reset() : c.close())); // RST and FIN
  await server.clientsLeft(0);
}

scenario("10,000 connections at once, twice: small, no leak, and a quick end", async (t) => {
  const n = 10000;
  check(t.descriptors() > n + 300, `needs ${n + 300} descriptors, ulimit -Hn says ${t.descriptors()}`);
  const s = await t.thrifty("max_closed_clients: 1000");
  const empty = s.rss();
  const first = await crowd(s, n);
  const full = s.rss();
  await s.healthy();
  check((await s.json("/varz")).connections === n, "not all of them are in /varz");
  await crowdLeaves(s, first);
  const files = s.openFiles();
  check(files < 100, `${files} descriptors are still open`);
  const second = await crowd(s, n);
  const grown = s.rss() - full;
  t.note(`${((full - empty) * 1024 / n).toFixed(0)} B per connection, ${full} kB with the first crowd, ` +
    `${grown} kB more with the second`);
  check(full - empty < n * t.atMost(8), `${full - empty} kB for ${n} connections`);
  check(grown < t.atMost(3072), `${grown} kB are missing`);
  const from = Date.now();
  await s.stop(); // while they are there
  t.note(`the end took ${Date.now() - from} ms`);
  second.forEach((c) => c.close());
});

scenario("5,000 connections one after the other: no leak, and only the last are remembered", async (t) => {
  const s = await t.thrifty("max_closed_clients: 100");
  const cycle = async (i) => {
    const c = await connected(s.port, { connect: { name: `churn ${i}` } });
    c.send(`SUB churn.${i} 1\r\nPUB churn.${i} 2\r\nhi\r\n`);
    await c.expect("MSG churn");
    if (i % 3 === 0) c.reset();
    else c.close();
  };
  await each(1000, 50, cycle);
  await s.clientsLeft(0);
  const before = s.rss();
  await each(4000, 50, cycle);
  await s.clientsLeft(0);
  const grown = s.rss() - before;
  t.note(`${grown} kB more after 4,000 connections`);
  check(grown < t.atMost(1536), `${grown} kB are missing after 4,000 connections`);
  check(s.openFiles() < 100, `${s.openFiles()} descriptors are still open`);
  const closed = await s.json("/connz?state=closed&limit=1000");
  check(closed.total <= 100, `${closed.total} closed connections are remembered`);
  const v = await s.json("/varz");
  check(v.total_connections === 5000, `total_connections is ${v.total_connections}`);
  check(v.in_msgs === 5000 && v.out_msgs === 5000, `${v.in_msgs} in, ${v.out_msgs} out`);
  await s.stop();
});

// --- limits ---------------------------------------------------------------------------------------
scenario("max_connections at the edge: one too many, and again when one left", async (t) => {
  const s = await t.server("max_connections: 50");
  const inside = [];
  const refused = [];
  await each(150, 150, async () => { // all at once: exactly fifty get in
    const c = new Client(s.port);
    await c.ready().then(() => inside.push(c), () => refused.push(c));
  });
  check(inside.length === 50, `${inside.length} of 50 got in`);
  for (const c of refused)
    check(c.text.endsWith("-ERR 'maximum connections exceeded'\r\n"), `refused with: ${c.text.slice(-80)}`);
  await Promise.all(inside.map((c) => c.ping()));
  inside.pop().close();
  inside.push(await until("the free place", () => connected(s.port).catch(() => undefined)));
  const late = new Client(s.port);
  check((await late.closed()).includes("maximum connections exceeded"), "one too many got in");
  await s.stop();
});

scenario("max_subscriptions at the edge: freed places can be taken again", async (t) => {
  const s = await t.server("max_subscriptions: 10");
  const c = await connected(s.port);
  const full = "-ERR 'maximum subscriptions exceeded'\r\n";
  for (let i = 0; i < 10; i++) c.send(`SUB a.${i} ${i}\r\n`);
  await c.ping();
  c.send("SUB b 100\r\n");
  await c.expect(full);
  c.send("UNSUB 3\r\nSUB b 100\r\nPUB b 2\r\nhi\r\n");
  await c.expect("MSG b 100 2\r\nhi\r\n");
  c.send("UNSUB 4 1\r\nPUB a.4 1\r\nx\r\nSUB c 101\r\nPUB c 2\r\nho\r\n"); // the maximum ends it
  await c.expect("MSG c 101 2\r\nho\r\n");
  c.send("SUB d 102\r\n");
  await c.expect(full);
  c.text = "";
  await c.ping();
  check(!c.text.includes("-ERR"), c.text);
  await s.stop();
});

// mayflyd keeps descriptors for files and closes those whom it has none for, most with a word; nats-server lets them wait.
scenario("more connections than descriptors: those inside go on, those outside get in later", async (t) => {
  const s = await t.server("", { shell: "ulimit -n 64" });
  const crowd = Array.from({ length: 120 }, () => new Client(s.port));
  const isIn = (c) => (c.wasIn ||= c.text.includes("PONG"));
  const isTold = (c) => c.ended || c.text.includes("maximum connections exceeded");
  if (t.ours) await until("everybody to be in or told", () => crowd.every((c) => isIn(c) || isTold(c)));
  else await until("the descriptors to be used up", () => s.openFiles() >= 64);
  if (t.ours) check(s.openFiles() < 64 && crowd.some(isTold), "no descriptor is left for files");
  const inside = await until("some to get in", () => {
    const some = crowd.filter(isIn);
    return some.length >= 20 && some;
  });
  const [a, b] = inside;
  a.send("SUB still.alive 1\r\n");
  await a.ping();
  b.send("PUB still.alive 2\r\nhi\r\n");
  await a.expect("MSG still.alive 1 2\r\nhi\r\n");
  await delay(200);
  check(s.log.split("\n").length < 200, "it fills its log with complaints");
  await until("the others to get in", () => {
    crowd.filter(isIn).forEach((c) => c.close()); // each place that gets free is taken
    crowd.forEach((c, i) => !isIn(c) && isTold(c) && (crowd[i] = new Client(s.port))); // those who were told come again
    return crowd.every((c) => isIn(c));
  });
  await s.clientsLeft(0);
  await (await connected(s.port)).ping();
  await s.healthy();
  await s.stop();
});
