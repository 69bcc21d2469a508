// subs.mjs: very many subscriptions, short-lived ones, and very large queue groups.
import { check, Client, connected, delay, each, steadily, until } from "./kit.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// Sends line(i) for i below n, in blocks, and waits until all are handled.
async function sendMany(client, n, line) {
  for (let at = 0; at < n; at += 4000) {
    let block = "";
    for (let i = at; i < Math.min(n, at + 4000); i++) block += line(i);
    client.send(block);
    await client.drain();
  }
  await client.ping();
}

const subscriptions = async (s) => (await s.json("/varz")).subscriptions;

scenario("1,000,000 subscriptions, 200,000 on each connection: a message still finds its own at once", (t) => steadily(async () => {
  const s = await t.thrifty();
  const each200 = 200000;
  const idle = await subscriptions(s);
  const before = s.rss();
  const start = Date.now();
  const clients = [];
  for (let k = 0; k < 5; k++) {
    const c = await connected(s.port);
    await sendMany(c, each200, (i) => `SUB orders.${k}.${i}.new ${i}\r\n`);
    clients.push(c);
  }
  const made = Date.now() - start;
  const perSub = ((s.rss() - before) * 1024) / 1e6;
  const from = Date.now();
  for (let i = 0; i < 1000; i++)
    clients[0].send(`PUB orders.${i % 5}.${(i * 197) % each200}.new 2\r\nhi\r\n`);
  await Promise.all(clients.map((c) => c.wait("its 200", () => c.text.split("MSG ").length === 201)));
  const found = Date.now() - from;
  t.note(`${made} ms, ${perSub.toFixed(0)} B each, 1000 messages in ${found} ms`);
  check(perSub < t.atMost(512), `${perSub} B for a subscription`);
  check(found < t.soon(10000), `1000 messages took ${found} ms`); // to look at each would take minutes
  await sendMany(clients[1], each200, (i) => `UNSUB ${i}\r\n`);
  check((await subscriptions(s)) === idle + 4 * each200, `${await subscriptions(s)} are left`);
  clients[0].close(); // 200,000 go with it
  await s.clientsLeft(4);
  await until("them to be gone", async () => (await subscriptions(s)) === idle + 3 * each200);
  const end = Date.now();
  await s.stop(); // the rest goes with the server
  t.note(`the end took ${Date.now() - end} ms`);
}));

scenario("auto-unsubscribe storm: each maximum is met exactly", async (t) => {
  const s = await t.server();
  const idle = await subscriptions(s);
  const c = (await connected(s.port)).count();
  for (let i = 0; i < 5000; i++)
    c.send(`SUB once.${i % 50} ${i}\r\nUNSUB ${i} 1\r\nPUB once.${i % 50} 1\r\nx\r\n`);
  await until("5000 single deliveries", () => c.messages >= 5000);
  // On one subject: maxima 1..200 and one without, 300 messages.  Some end within a fan-out.
  for (let i = 1; i <= 200; i++) c.send(`SUB many ${10000 + i}\r\nUNSUB ${10000 + i} ${i}\r\n`);
  c.send("SUB many 20000\r\n");
  c.send("PUB many 1\r\nx\r\n".repeat(300) + "PING\r\n");
  const all = 5000 + (200 * 201) / 2 + 300;
  await until("the rest", () => c.messages >= all);
  await c.expect("PONG\r\n");
  await delay(50);
  check(c.messages === all, `${c.messages} deliveries, not ${all}`);
  check((await subscriptions(s)) === idle + 1, `${await subscriptions(s)} subscriptions are left`);
  await s.stop();
});

scenario("10,000 members of one queue group: each message reaches exactly one", async (t) => {
  const s = await t.server();
  const clients = [];
  for (let k = 0; k < 10; k++) {
    const c = await connected(s.port);
    await sendMany(c, 1000, (i) => `SUB work.${k % 2 ? "*" : "x"} crew ${i}\r\n`);
    clients.push(c.count());
  }
  const count = 20000;
  const producer = await connected(s.port);
  const total = () => clients.reduce((sum, c) => sum + c.messages, 0);
  for (let i = 0; i < count; i += 500) {
    producer.send("PUB work.x 1\r\nx\r\n".repeat(500));
    await producer.drain();
  }
  await until("all of it", () => total() >= count);
  check(clients.every((c) => c.messages > count / 20), `unfair: ${clients.map((c) => c.messages)}`);
  for (const c of clients.slice(1)) // 9,000 members leave while messages come
    c.send(Array.from({ length: 1000 }, (_, i) => `UNSUB ${i}\r\n`).join(""));
  producer.send("PUB work.x 1\r\nx\r\n".repeat(count));
  await producer.ping();
  await until("the rest", () => total() >= 2 * count);
  await delay(50);
  check(total() === 2 * count, `${total()} deliveries of ${2 * count} messages`);
  await s.stop();
});

scenario("subscriptions that come and go while messages fly", async (t) => {
  const s = await t.server();
  const idle = await subscriptions(s);
  const producer = await connected(s.port);
  let stop = false;
  const flood = (async () => {
    while (!stop) {
      producer.send("PUB fly.a.b 1\r\nx\r\nPUB fly.a 1\r\nx\r\nPUB fly 1\r\nx\r\n".repeat(200));
      await producer.drain();
      await delay(1);
    }
  })();
  const patterns = ["fly", "fly.>", "fly.*", ">", "*", "fly.a.*", "fly.*.b", "*.a", "*.*.*", "fly.a.>"];
  await each(60, 20, async (k) => {
    const c = (await connected(s.port)).count();
    for (let round = 0; round < 20 && !c.ended; round++) {
      for (let i = 0; i < 30; i++)
        c.send(`SUB ${patterns[(i + k) % patterns.length]} ${i % 3 ? "" : "q"} ${round * 30 + i}\r\n`);
      for (let i = 0; i < 30; i++) c.send(`UNSUB ${round * 30 + i}${i % 4 ? "" : ` ${i + 1}`}\r\n`);
      await delay(1);
    }
    if (k % 2) c.reset();
    else c.close();
  });
  stop = true;
  await flood;
  producer.close();
  await s.clientsLeft(0);
  check((await subscriptions(s)) === idle, `${await subscriptions(s)} subscriptions are left of ${idle}`);
  await s.stop();
});
