// status_page_cost.mjs: how often and how much an open status page asks, with 1,000 streams.  The clock of the page is ours,
// so requests are counted, not timed.
import assert from "node:assert/strict";
import { jetstreamBlock } from "./lib/js.mjs";
import { create, openBrowser, openTab, publish, shows } from "./lib/page.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const STREAMS = 1000;
const TEN_SECONDS = 10000;
const STEP_MS = 500;

async function createMany(nc, n) {
  const all = Array.from({ length: n }, (_, i) => i);
  const work = async () => {
    for (let i; (i = all.pop()) !== undefined; ) await create(nc, { name: `S${i}`, subjects: [`s.${i}.>`], storage: "memory", allow_msg_ttl: true });
  };
  await Promise.all(Array.from({ length: 50 }, work));
}

// A tab, and what it asked for: { path, bytes }.  Its clock stands still from the first pass() on.
async function openStill(t, url, options) {
  const browser = await openBrowser(t);
  const page = await openTab(browser, "about:blank", options);
  page.answers = [];
  page.open = 0;
  page.on("request", () => page.open++);
  page.on("requestfailed", () => page.open--);
  page.on("requestfinished", async (r) => {
    const body = await (await r.response()).body();
    page.answers.push({ path: r.url().slice(url.length), bytes: body.length });
    page.open--;
  });
  await page.clock.install({ time: Date.now() });
  await page.goto(url);
  return page;
}

// Not by a timer or a frame of the page: those stand still.
const turn = (page) => page.evaluate(() => new Promise((ok) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => ok(true);
  port2.postMessage(0);
}));
const settle = (page) => until("all answers", async () => page.open === 0 && (await turn(page)) && page.open === 0);

// Lets `ms` pass on the page's clock, and returns what it asked for meanwhile.
async function pass(page, ms) {
  if (!page.still) await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  page.still = true;
  await settle(page);
  const before = page.answers.length;
  for (let left = ms; left > 0; left -= STEP_MS) {
    await page.clock.runFor(Math.min(STEP_MS, left));
    await settle(page);
  }
  return page.answers.slice(before);
}

const count = (answers, start) => answers.filter((a) => a.path.startsWith(start)).length;
const setHidden = (page, hidden) => page.evaluate((is) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

scenario("status page: asks seldom and little with 1,000 streams, not at all while hidden, and shows a change after 2 s", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: jetstreamBlock() });
  const nc = await t.connect(s);
  await createMany(nc, STREAMS);
  const page = await openStill(t, `${s.http}/`, { viewport: { width: 1200, height: 800 } });
  await shows(page, "1 to 20 of 1,000", "#streams-list");

  const seen = await pass(page, TEN_SECONDS);
  const bytes = seen.reduce((n, a) => n + a.bytes, 0);
  assert.ok(seen.length >= 15 && seen.length <= 30, `${seen.length} requests in 10 s`);
  assert.ok(bytes < 600_000, `${bytes} bytes in 10 s`);
  assert.ok(Math.max(...seen.map((a) => a.bytes)) < 64_000, "no answer has all streams");
  for (const unseen of ["connz", "jsz", "leafz", "ttlz?copies"]) assert.equal(count(seen, unseen), 0, `${unseen} is out of sight`);
  assert.equal(count(seen, "assets/"), 0);

  await publish(nc, "s.0.a", "1h");
  await pass(page, 2000);
  assert.match(await page.locator("#streams-list tbody tr").first().innerText(), /S0[^]*\t1\t[^]*59 min|S0[^]*\t1\t[^]*1 h/);

  await setHidden(page, true);
  assert.deepEqual(await pass(page, 60000), []);
  await setHidden(page, false);
  assert.ok((await pass(page, 2000)).length >= 3, "asks again when it is looked at");

  const above = page.answers.length;
  await page.locator("#connections").scrollIntoViewIfNeeded();
  // The text may be there from the first look: the question shows that the page knows what is in sight now.
  await until("the connections are in sight", () => count(page.answers.slice(above), "connz") > 0);
  await shows(page, "nats.js", "#connections-list");
  const below = await pass(page, TEN_SECONDS);
  assert.ok(count(below, "connz") >= 1, "in sight now");
  assert.equal(count(below, "ttlz?limit=1&offset"), 0, "the forecast is out of sight");
  assert.ok(below.length <= 45, `${below.length} requests in 10 s`);
  assert.deepEqual(page.faults, []);
});
