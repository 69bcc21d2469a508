// reentry.mjs: what a server says and hears itself in the middle of something; requests that cross each other; times and numbers of others.
import assert from "node:assert/strict";
import { archive } from "./lib/archive.mjs";
import { Inbox, MS, add, fetch, look, settle } from "./lib/consumer.mjs";
import { SECOND, at, onServer, ownServer, restore } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { nanoseconds } from "./lib/stamp.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const api = (c, subject, body) => c.nc.publish(`$JS.API.${subject}`, JSON.stringify(body));

// --- advisories that their own stream stores -----------------------------------------------------

for (const storage of ["file", "memory"])
  scenario(`a stream stores what is told of its own consumer: unacked messages die (${storage})`, mayfly, async (t) => {
    const { s, nc, stream } = await ownServer(t);
    const c = stream("ADV");
    await c.create({ subjects: ["$JS.EVENT.ADVISORY.>", "own.>"], storage, max_age: 3 * SECOND });
    c.prefix = "own";
    await add(c, { max_ack_pending: -1 });
    const told = collect(nc, "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>");
    await nc.flush();
    const some = () => Promise.all(Array.from({ length: 40 }, (_, i) => c.pub(`${i % 3}`, "x"))); // among them audits of the API
    for (let round = 1; round <= 2; round++) {
      await some();
      await fetch(c, 20);
      await some();
      await until("ends to be told", async () => (await c.state()).last_seq > 0 && told.length >= 20 * round);
    }
    await until("the last to be stored", async () => (await c.state()).last_seq >= 160 + told.length);
    if (storage === "memory") return;
    await nc.close();
    await s.restart();
    assert.ok((await (await onServer(t, s)).stream("ADV").state()).last_seq > 200);
  });

// --- answers that come back to the stream that gives them ----------------------------------------

scenario("a fast batch whose flow messages its own stream stores: each message under its own subject, times go up", mayfly, async (t) => {
  const { stream } = await ownServer(t);
  const c = stream("F");
  await c.create({ subjects: ["fi.>"], allow_batched: true, subject_transform: { src: "fi.>", dest: "t.>" } });
  c.nc.publish("fi.data1", "one", { reply: "fi.inbox.ID1.10.ok.1.0.$FI" });
  c.nc.publish("fi.data2", "two", { reply: "fi.inbox.ID1.10.ok.5.1.$FI" }); // a gap
  const all = await until("four messages", async () => (await c.state()).last_seq >= 4 && Promise.all([1, 2, 3, 4].map((n) => c.get(n))));
  assert.deepEqual(all.filter((m) => /^t\.data/.test(m.subject)).map((m) => [m.subject, m.data]), [["t.data1", "one"], ["t.data2", "two"]]);
  assert.ok(all.every((m) => /^t\.(data[12]|inbox\.ID1\.)/.test(m.subject)), all.map((m) => m.subject).join());
  for (let i = 1; i < 4; i++) assert.ok(nanoseconds(all[i].time) > nanoseconds(all[i - 1].time));
});

scenario("an atomic batch that is refused as it is stored is not republished", mayfly, async (t) => {
  const { nc, stream } = await ownServer(t);
  const c = stream("N");
  const create = '{"name":"N","subjects":["n.>"],"first_seq":18446744073709551610,"allow_atomic":true,"republish":{"src":"n.>","dest":"copy.>"}}';
  assert.equal((await nc.request("$JS.API.STREAM.CREATE.N", create, { timeout: LIMIT_MS })).json().error, undefined);
  const copies = collect(nc, "copy.>");
  await nc.flush();
  c.prefix = "n";
  let last;
  for (let i = 1; i <= 7; i++) last = await c.send(`${i}`, "x", [`Nats-Batch-Id: b`, `Nats-Batch-Sequence: ${i}`, ...(i === 7 ? ["Nats-Batch-Commit: 1"] : [])]);
  assert.equal(JSON.parse(last).error?.description, "no sequence is left");
  await nc.flush();
  assert.equal(copies.length, 0);
  assert.equal((await c.state()).messages, 0);
});

// --- answers that are requests -------------------------------------------------------------------

// Of a body that compresses well, and is a request to read message `seq`.
const asking = (seq, size) => JSON.stringify({ seq }).padEnd(size);

for (const storage of ["file", "memory"])
  scenario(`a direct get whose answer asks for another message of the same compressed stream: everybody gets the message (${storage})`, mayfly, async (t) => {
    const { nc, stream } = await ownServer(t);
    const c = stream("Z");
    await c.create({ storage, compression: "s2" });
    const sizes = [3000, 70_000, 500_000];
    for (const [i, size] of sizes.entries()) await c.pub("a", asking(((i + 1) % sizes.length) + 1, size));
    const to = "$JS.API.STREAM.MSG.GET.Z";
    const got = [to, "$JS.API.STREAM.MSG.GET.*", "$JS.API.>", ">"].map((s) => collect(nc, s));
    for (const from of ["$JS.API.DIRECT.GET.Z", "$JS.API.STREAM.MSG.GET.Z"])
      for (let seq = 1; seq <= sizes.length; seq++) {
        for (const g of got) g.length = 0;
        nc.publish(from, JSON.stringify({ seq }), { reply: to });
        const answers = (g) => g.filter((m) => !m.reply && m.subject === to);
        await until("all to have it", () => nc.isClosed() || got.every((g) => answers(g).length === 1));
        assert.ok(!nc.isClosed(), "the server lives");
        const want = asking((seq % sizes.length) + 1, sizes[seq - 1]);
        for (const g of got) {
          const [m] = answers(g);
          const text = from.includes("DIRECT") ? m.string() : Buffer.from(m.json().message.data, "base64").toString();
          assert.ok(text === want, `${seq}: ${JSON.stringify(text.slice(0, 40))}`);
        }
      }
  });

// --- restores ------------------------------------------------------------------------------------

const small = (c) => archive({ name: c.id, subjects: ["s.>"] }, [{ subject: "s.a", seq: 1, time: Date.now() - 5000, data: "x" }, { subject: "s.b", seq: 2, time: Date.now() - 4000, data: "y" }]);

for (const what of ["the end", "an end without a beginning", "a piece"])
  scenario(`a restore whose answers come to itself: ${what}`, mayfly, async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    const { config, state, bytes } = small(c);
    const { deliver_subject } = await c.api("STREAM.RESTORE.S", { config, state });
    if (what === "the end") await c.nc.request(deliver_subject, bytes, { timeout: LIMIT_MS });
    c.nc.publish(deliver_subject, what === "a piece" ? bytes.subarray(0, 6) : "", { reply: deliver_subject });
    await until("its end", async () => ((await c.info()).error ? what !== "the end" : true));
    await c.api("STREAM.DELETE.S");
    await until("room for another", async () => (await restore(c, small(c))).error === undefined);
    assert.equal((await c.state()).messages, 2);
  });

for (const [what, pieces, there] of [["is done", [""], true], ["is given up", [null], false], ["fails", ["garbage", ""], false]])
  scenario(`an update of a stream that is being restored, and the restore ${what} right behind it`, mayfly, async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    const { config, state, bytes } = small(c);
    const { deliver_subject } = await c.api("STREAM.RESTORE.S", { config, state });
    await c.nc.request(deliver_subject, bytes, { timeout: LIMIT_MS });
    api(c, "STREAM.UPDATE.S", { ...(await c.info()).config, description: "meanwhile" });
    for (const p of pieces) c.nc.publish(deliver_subject, p ?? "", p === null ? undefined : { reply: "nobody" });
    const done = async () => {
      const i = await c.info();
      return there ? i.config?.subjects?.[0] === "s.>" : i.error?.err_code === 10059;
    };
    await until("its end", done);
    if (there) assert.equal((await c.state()).messages, 2);
  });

scenario("a message from the future in a backup: no clock is moved by it, and nothing of other streams dies at the next start", mayfly, async (t) => {
  const { s, stream } = await ownServer(t);
  let [kept, c] = [stream("KEPT"), stream("FUTURE")];
  await kept.create({ allow_msg_ttl: true, max_age: 3600 * SECOND });
  await kept.pub("a", "x", { "Nats-TTL": "1h" });
  const far = Date.parse("2191-01-01T00:00:00Z");
  assert.equal((await restore(c, archive(c.config(), [{ subject: c.subject("a"), seq: 1, time: far, data: "x" }]))).error, undefined);
  const before = Date.now();
  await c.pub("b", "now");
  const stored = at(await c.get(2));
  assert.ok(stored >= before && stored <= Date.now(), new Date(stored).toISOString());
  await c.nc.close();
  await s.restart();
  const again = await onServer(t, s);
  [kept, c] = [again.stream("KEPT"), again.stream("FUTURE")];
  assert.deepEqual([(await kept.state()).messages, (await c.state()).messages], [1, 2]);
  assert.ok(Math.abs(Date.parse((await kept.info()).ts) - Date.now()) < 60_000);
});

// A backup may claim any time.  What is told of it is a time that can be counted with: nothing before 1970.
const far = 2n ** 63n;
const claims = [-far, -far + 1n, -1n, 0n, 1n, far - 1_000_000_001n, far - 1n];

for (const over of [{}, { max_age: 3600 * SECOND }, { max_age: Number.MAX_SAFE_INTEGER, subject_delete_marker_ttl: 3600 * SECOND }, { allow_msg_schedules: true }])
  scenario(`a backup whose messages claim impossible times (${JSON.stringify(over)})`, mayfly, async (t) => {
    const { s, stream } = await ownServer(t);
    let c = stream("CLAIMS");
    const schedule = (i) => `Nats-Schedule: ${["@every 1h", "0 0 5 * * *"][i % 2]}\r\nNats-Schedule-Target: ${c.subject("to")}\r\n`;
    const hdr = (i) => `NATS/1.0\r\nNats-Msg-Id: ${i}\r\n${i % 2 ? "Nats-TTL: never\r\n" : ""}${over.allow_msg_schedules ? schedule(i) : ""}\r\n`;
    const messages = [...claims, ...claims.toReversed()].map((ns, i) => ({ subject: c.subject(`m${i % 3}`), seq: i + 1, ns, hdr: hdr(i), data: `${i}` }));
    const config = c.config({ allow_msg_ttl: true, allow_rollup_hdrs: true, duplicate_window: 120 * SECOND, ...over });
    assert.equal((await restore(c, archive(config, messages))).error, undefined);
    for (let round = 0; round < 2; round++) {
      await add(c, { deliver_subject: `replay${round}`, replay_policy: "original", ack_policy: "none" });
      const inbox = new Inbox(c, { subject: `replay${round}` });
      await inbox.messages(1);
      for (let i = 0; i < messages.length; i++) {
        const m = await c.get(i + 1);
        if (m === undefined) continue; // its time is over
        assert.ok(Date.parse(m.time) >= 0, m.time);
        await c.get({ next_by_subj: ">", start_time: m.time }).catch(() => {});
      }
      assert.equal((await c.ack("m1", "now", { "Nats-Msg-Id": `again${round}` })).duplicate, undefined);
      assert.equal((await c.ack("m1", "now", { "Nats-Msg-Id": `again${round}` })).duplicate, true);
      assert.ok(Math.abs(at(await c.get((await c.state()).last_seq)) - Date.now()) < 60_000);
      await c.update({ allow_msg_ttl: true, allow_rollup_hdrs: true, duplicate_window: 120 * SECOND, ...over, max_age: 7200 * SECOND }); // new deadlines for all
      if (round === 1) break;
      await c.nc.close();
      await s.restart();
      c = (await onServer(t, s)).stream("CLAIMS");
    }
  });

// --- requests that cross each other --------------------------------------------------------------

scenario("two streams that would source each other, asked for at once: one is refused", mayfly, async (t) => {
  const { nc, stream } = await ownServer(t);
  const [a, b] = [stream("A"), stream("B")];
  const answers = [];
  nc.subscribe("answers", { callback: (_, m) => answers.push(m.json()) });
  for (const [name, other] of [["A", "B"], ["B", "A"]])
    nc.publish(`$JS.API.STREAM.CREATE.${name}`, JSON.stringify({ name, subjects: [`${name}.>`], sources: [{ name: other }] }), { reply: "answers" });
  await until("both answers", () => answers.length === 2);
  assert.equal(answers.filter((x) => x.error).length, 1);
  assert.equal([await a.info(), await b.info()].filter((x) => x.error).length, 1);
});

// --- numbers -------------------------------------------------------------------------------------

scenario("an ack without a number at a consumer with flow control and ack policy all: later acks count", mayfly, async (t) => {
  const { stream } = await ownServer(t);
  const c = stream("A");
  await c.create();
  await add(c, { deliver_subject: "to", flow_control: true, idle_heartbeat: 1000 * MS, ack_policy: "all", ack_wait: 60_000 * MS });
  const inbox = new Inbox(c, { subject: "to" });
  await c.pub("a", "1");
  const [m] = await inbox.messages(1);
  const words = m.reply.split(".");
  words[5] = "x";
  c.nc.publish(words.join("."), "+ACK");
  await c.pub("a", "2");
  await c.pub("a", "3");
  const rest = [];
  while (rest.length < 2) {
    const next = await inbox.beyond();
    if (next.status === undefined) rest.push(next);
  }
  await settle(c, rest[1]);
  const i = await look(c);
  assert.deepEqual([i.num_ack_pending, i.ack_floor.stream_seq], [0, 3]);
});
