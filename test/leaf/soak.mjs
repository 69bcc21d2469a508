// soak.mjs [--minutes=N] [--events=N] [--pair=HUB-LEAF] [--seed=S]: a link that is ill-treated at random, and an observer who counts.
//
// Both sides publish into streams of their own, with and without a lifetime; mirrors and sources copy both ways.  Meanwhile the link is cut,
// its bytes are swallowed, and processes are killed with -9 and started again.  In the end: everything acknowledged is in its stream, once;
// each copy is its origin; what had a lifetime is gone; one link is there.  Prints the seed; ends with `N passed, N failed`.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "../interop/lib/clients.mjs";
import { dice as seeded } from "../interop/lib/dice.mjs";
import { until } from "../interop/lib/wait.mjs";
import { mirrorOn, own, reaches, read, SIDES, sourceOn, stateOf } from "./lib/copies.mjs";
import { leafz, linked, Setup } from "./lib/setup.mjs";

const flags = new Map(process.argv.slice(2).map((a) => a.replace(/^--/, "").split("=")));
const events = Number(flags.get("events") ?? Infinity);
const minutes = Number(flags.get("minutes") ?? (events === Infinity ? 5 : 120));
const [hub, leaf] = (flags.get("pair") ?? "nats-mayfly").split("-");
const seed = Number(flags.get("seed") ?? Date.now() % 1000000007);
const dice = seeded(seed);
const END_MS = 180000; // nats-server asks again after up to 40 s
const sleep = (ms) => new Promise((ok) => setTimeout(ok, ms));
const patient = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 200 };

// What one side publishes, and what was acknowledged.
class Publisher {
  constructor(side, js) {
    Object.assign(this, { side, js, n: 0, acked: [], refused: 0, stopped: false });
  }
  async run() {
    while (!this.stopped) {
      const texts = Array.from({ length: 1 + dice(20) }, () => `${this.side}${this.n++}`);
      await Promise.all(texts.map((x) => this.#one(x)));
      await sleep(dice(100));
    }
  }
  async #one(text) {
    const options = { timeout: 4000, msgID: text };
    const short = dice(4) === 0;
    if (short) {
      options.headers = headers();
      options.headers.set("Nats-TTL", `${1 + dice(4)}s`);
    }
    try {
      await this.js.publish(`${this.side}.${short ? "short" : "long"}.${dice(50)}`, text, options);
      if (!short) this.acked.push(text);
    } catch {
      this.refused++; // it may be stored or not: nobody was promised anything
    }
  }
}

async function build(t) {
  const leafnodes = "no_advertise: true";
  const nodes = hub === "nats" ? await t.cluster({ leafnodes }) : [await t.hub({ leafnodes })];
  const proxies = await Promise.all(nodes.map((n) => t.proxy(n)));
  const l = await t.leaf({ to: proxies });
  const hubNc = await t.connect(nodes[0], { user: "a", pass: "a", ...patient, servers: nodes.map((n) => `127.0.0.1:${n.port}`) });
  const leafNc = await t.connect(l, { ...patient });
  return { nodes, proxies, leaf: l, hubNc, leafNc };
}

// Streams hub and leaf with their long-lived and short-lived messages, and the copies of each on the other side.
async function streams(w) {
  const num_replicas = w.nodes.length;
  for (const side of ["hub", "leaf"]) {
    const replicas = side === "hub" ? { num_replicas } : {};
    const { jsm } = await own(w, side);
    for (const kind of ["long", "short"]) {
      await jsm.streams.add({ name: `${side}_${kind}`, subjects: [`${side}.${kind}.>`], allow_msg_ttl: true, ...replicas });
      await jsm.streams.add({ name: `mirror_${kind}`, allow_msg_ttl: true, ...replicas, ...mirrorOn(side, `${SIDES[side].other}_${kind}`) });
    }
    await jsm.streams.add({ name: "source_long", ...replicas, ...sourceOn(side, `${SIDES[side].other}_long`) });
  }
}

const deeds = {
  drop: async (w) => w.proxies.forEach((p) => p.drop()),
  cut: async (w) => {
    await Promise.all(w.proxies.map((p) => p.cut()));
    await sleep(200 + dice(dice(10) === 0 ? 15000 : 3000));
    await Promise.all(w.proxies.map((p) => p.restore()));
  },
  swallow: async (w) => {
    w.proxies.forEach((p) => (p.swallowing = true));
    await sleep(50 + dice(1000));
    w.proxies.forEach((p) => p.drop());
    w.proxies.forEach((p) => (p.swallowing = false));
  },
  slow: async (w) => {
    w.proxies.forEach((p) => (p.delayMs = 20 + dice(300)));
    await sleep(1000);
    w.proxies.forEach((p) => p.drop()); // delayed bytes must not be overtaken by later ones
    w.proxies.forEach((p) => (p.delayMs = 0));
  },
  killLeaf: async (w) => kill(w.leaf),
  killHub: async (w) => kill(w.nodes[dice(w.nodes.length)]),
};
async function kill(s) {
  await s.kill();
  s.checkReports();
  await sleep(dice(2000));
  s.killed = false;
  await s.startAgain();
}
const CHOICE = ["drop", "drop", "drop", "cut", "cut", "swallow", "swallow", "slow", "killLeaf", "killHub"];

const memory = (s) => Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${s.proc.pid}/status`, "utf8"))[1]) / 1024;

let passed = 0;
let failed = 0;
async function check(what, fn) {
  try {
    await fn();
    passed++;
    console.log(`ok ${what}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${what}\n${String(e.stack ?? e).slice(0, 3000).replace(/^/gm, "    ")}`);
  }
}

async function checkSide(w, side, publisher) {
  const { other } = SIDES[side];
  const [from, to] = [await own(w, side), await own(w, other)];
  const origin = await read(from.jsm, `${side}_long`);
  const texts = origin.map((m) => m[2]);
  await check(`${side}: ${publisher.acked.length} acknowledged messages are stored, each once`, () => {
    const have = new Set(texts);
    assert.equal(have.size, texts.length, "a message is there twice");
    assert.deepEqual(publisher.acked.filter((x) => !have.has(x)), []);
  });
  await check(`${side}: its mirror has the same ${texts.length} messages`, async () => {
    await reaches(to.jsm, "mirror_long", { last_seq: (await stateOf(from.jsm, `${side}_long`)).last_seq }, END_MS);
    assert.deepEqual(await read(to.jsm, "mirror_long"), origin);
  });
  await check(`${side}: its source copy has them in order, none twice`, async () => {
    await until("the source", async () => (await stateOf(to.jsm, "source_long")).messages >= texts.length, END_MS);
    assert.deepEqual((await read(to.jsm, "source_long")).map((m) => m[2]), texts);
  });
  await check(`${side}: what had a lifetime is gone from the stream and its mirror`, async () => {
    await until("the origin", async () => (await stateOf(from.jsm, `${side}_short`)).messages === 0, END_MS);
    // A message that ended before it was copied leaves no sequence in the mirror.
    await reaches(to.jsm, "mirror_short", { messages: 0 }, END_MS);
  });
}

const t = new Setup({ hub, leaf });
try {
  console.log(`# hub ${hub}, leaf ${leaf}, ${events} events or ${minutes} minutes, --seed=${seed}`);
  const w = await build(t);
  await linked(w.hubNc, w.leafNc);
  await streams(w);
  const publishers = {};
  for (const side of ["hub", "leaf"]) publishers[side] = new Publisher(side, (await own(w, side)).js);
  const running = Object.values(publishers).map((p) => p.run());
  const before = memory(w.leaf);
  const done = {};
  const end = Date.now() + minutes * 60000;
  for (let n = 0; n < events && Date.now() < end; n++) {
    await sleep(300 + dice(3000));
    const deed = CHOICE[dice(CHOICE.length)];
    done[deed] = (done[deed] ?? 0) + 1;
    await deeds[deed](w);
  }
  for (const p of Object.values(publishers)) p.stopped = true;
  await Promise.all(running);
  console.log(`# done: ${JSON.stringify(done)}; refused: hub ${publishers.hub.refused}, leaf ${publishers.leaf.refused}; memory of the leaf ${before.toFixed(0)} MB, then ${memory(w.leaf).toFixed(0)} MB`);
  await check("the link is up, and the only one", async () => {
    await linked(w.hubNc, w.leafNc);
    assert.equal((await leafz(w.leaf)).leafnodes, 1);
  });
  for (const side of ["hub", "leaf"]) await checkSide(w, side, publishers[side]);
} catch (e) {
  failed++;
  console.log(`not ok the soak itself\n${e.stack}`);
}
await check("the servers end well", () => t.end());
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
