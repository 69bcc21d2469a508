// status_page.mjs: the page at / of the monitoring port, in a real browser (headless Chromium).
import assert from "node:assert/strict";
import http from "node:http";
import { jetstreamBlock } from "./lib/js.mjs";
import { consume, create, openBrowser, openTab, publish, publishMany, shows } from "./lib/page.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const EVIL = "<img/src=x/onerror=alert(1)>";
const STREAM = "<b&\"'onload=x"; // no > in names of streams
const LONG = "L".repeat(200);
const TURNED = "TURN\u202eDENRUT"; // what follows would be read from right to left
const ours = { only: "mayfly" };

// What stands right of the window's edge.
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => `${e.tagName} ${e.className} ${e.id}`));

async function scrollTo(page, id) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
}

scenario("status page: shows what the server holds, hostile names as text, on a phone, and follows changes", ours, async (t) => {
  const name = "N".repeat(56);
  const s = await t.server({ monitor: true, config: `server_name: ${name}\n${jetstreamBlock()}` });
  const nc = await t.connect(s, { name: EVIL });
  const rules = JSON.stringify([{ id: "drafts", subject: "s.draft.>", ttl: "2h" }]);
  await create(nc, { name: STREAM, subjects: ["s.>"], allow_msg_ttl: true, metadata: { "mayfly.ttl.default": "24h", "mayfly.ttl.never": "allow", "mayfly.ttl.rules": rules } });
  await create(nc, { name: "COPY", mirror: { name: STREAM } });
  await create(nc, { name: LONG, sources: [{ name: STREAM }], metadata: { "mayfly.ttl.enforce": "off" } });
  await create(nc, { name: TURNED, subjects: ["t.>"] });
  await create(nc, { name: "LOST", mirror: { name: "NOWHERE" } });
  await consume(nc, STREAM, { durable_name: "behind'\"&" });
  await publish(nc, `s.${EVIL}`, "1h");
  await publish(nc, `s.${"W".repeat(500)}`, "never");
  await publish(nc, "s.draft.1");
  const page = await openTab(await openBrowser(t), `${s.http}/`, { viewport: { width: 390, height: 844 } });

  await shows(page, "Healthy", "#health");
  await shows(page, name, "h1");
  const row = `#streams-list tr:has(button:text-is("${STREAM.replaceAll('"', '\\"')}"))`;
  const cell = (label) => page.locator(`${row} [data-label="${label}"]`).innerText();
  await page.locator(row).waitFor();
  await scrollTo(page, "streams");
  assert.match(await cell("Messages"), /\b3\b/);
  assert.match(await cell("Next expiry"), /59 min/);
  assert.match(await cell("TTL share"), /67\s%\swith, 33\s%\sinfinite/);
  assert.match(await cell("Policy"), /default 1 d, 1 rule/);
  assert.match(await cell("Consumers"), /\b[13]\b/);
  await shows(page, "TURN⟨U+202E⟩DENRUT", "#streams-list");
  await shows(page, "2 messages", "#forecast-words");

  await publish(nc, "s.second");
  await until("the change", async () => /\b4\b/.test(await cell("Messages")));
  assert.match(await cell("Rate"), /\/s/);

  await scrollTo(page, "consumers");
  await shows(page, "behind'\"&", "#consumers-list");
  await scrollTo(page, "copies");
  await shows(page, "stream not found", "#copies-list");
  await until("the lag of a mirror", async () => /mirror[^]*0 messages/.test(await page.locator('#copies-list tr:has-text("COPY")').innerText()));
  assert.ok(!(await page.locator("#consumers-list").innerText()).includes("JS_MIRROR"), "a mirror's own consumer is no reader");
  await scrollTo(page, "connections");
  await shows(page, EVIL, "#connections-list");
  assert.deepEqual(await overflow(page), []);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, dialog img").length), 0);
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.asked.filter((u) => !u.startsWith(s.http)), []);
});

scenario("status page: counts from a million on have a unit that is no minute", ours, async () => {
  const { count } = await import("../../src/status/assets/text.js");
  assert.deepEqual([0, 999, 12345, 999999, 1e6, 9.657e6, 1e7, 999.4e6, 999.9e6, 12.34e9].map(count),
    ["0", "999", "12,345", "999,999", "1 M", "9.66 M", "10 M", "999 M", "1 bn", "12.3 bn"]);
});

scenario("status page: a stream's detail, by keyboard", ours, async (t) => {
  const s = await t.server({ monitor: true, config: jetstreamBlock() });
  const nc = await t.connect(s);
  const rules = JSON.stringify([{ id: "drafts", subject: "s.draft.>", ttl: "2h" }]);
  await create(nc, { name: "OTHER", subjects: ["o.>"] });
  await create(nc, { name: STREAM, subjects: ["s.>"], allow_msg_ttl: true, metadata: { "mayfly.ttl.default": "24h", "mayfly.ttl.rules": rules } });
  await consume(nc, STREAM, { durable_name: "reader" });
  await publish(nc, `s.${EVIL}`, "1h");
  await publish(nc, "s.draft.1");
  const page = await openTab(await openBrowser(t), `${s.http}/`);
  await shows(page, "default 1 d", "#streams-list");

  // The first stop is the link that skips to the streams; from there on: search, then each stream.
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "find");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), STREAM);
  assert.ok(await page.evaluate(() => parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2), "focus is seen");
  await page.keyboard.press("Enter");
  await shows(page, `s.${EVIL}`, "#detail");
  const detail = await page.locator("#detail").innerText();
  for (const part of [STREAM, "Share of lifetimes", "100\u00a0%\u00a0with", "2 messages", "Default\n1 d\nstream", "built in", "drafts", "TTL 2h", "the writer", "a rule", "reader"])
    assert.ok(detail.replace(/\s*\t\s*/g, "\n").includes(part), `${part} in ${detail}`);
  await until("the focus to be in the dialog", () => page.evaluate(() => document.activeElement.closest("dialog") !== null));
  await publish(nc, "s.later", "50m");
  await shows(page, "s.later", "#detail");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.getElementById("detail").open), false);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), STREAM);

  // A stream before it is removed: the focus stays.
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "OTHER");
  await nc.request(`$JS.API.STREAM.DELETE.${STREAM}`, "", { timeout: LIMIT_MS });
  await page.waitForFunction(() => document.querySelectorAll("#streams-list tbody tr").length === 1);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "OTHER");
  await page.locator("#find").pressSequentially("nothing");
  await shows(page, "No stream or account has “nothing” in its name.", "#streams-list");
  assert.deepEqual(page.faults, []);
});

scenario("status page: says that the server is away, and comes back by itself; below a base path", ours, async (t) => {
  const s = await t.server({ monitor: true, config: `http_base_path: "/mon"\n${jetstreamBlock()}` });
  const browser = await openBrowser(t);
  const [page, below] = [await openTab(browser, `${s.http}/mon`), await openTab(browser, `${s.http}/mon/`)];
  await shows(page, "No streams yet", "#streams-list");
  await shows(below, "No streams yet", "#streams-list");
  assert.deepEqual([...page.asked, ...below.asked].filter((u) => !u.startsWith(`${s.http}/mon`)), []);
  const port = new URL(s.http).port;
  await s.stop();
  await shows(page, "does not answer", "#health");
  s.head = s.head.replace('http: "127.0.0.1:-1"', `http: "127.0.0.1:${port}"`);
  await s.startAgain();
  await shows(page, "Healthy", "#health");
  const nc = await t.connect(s);
  await create(nc, { name: "AFTER", subjects: ["a.>"] });
  await scrollTo(page, "streams");
  await shows(page, "AFTER", "#streams-list");
});

scenario("status page: behind a proxy with a prefix, and with JetStream off", ours, async (t) => {
  const s = await t.server({ monitor: true });
  const proxy = http.createServer((req, res) => {
    if (!req.url.startsWith("/tools/mayfly/")) return res.writeHead(404).end();
    const there = http.get(s.http + req.url.slice("/tools/mayfly".length), { headers: req.headers, agent: false }, (r) => {
      res.writeHead(r.statusCode, r.headers);
      r.pipe(res);
    });
    there.on("error", () => res.destroy());
  });
  await new Promise((ok) => proxy.listen(0, "127.0.0.1", ok));
  t.after(() => proxy.close());
  t.after(() => proxy.closeAllConnections());
  const page = await openTab(await openBrowser(t), `http://127.0.0.1:${proxy.address().port}/tools/mayfly/`);
  await shows(page, "Healthy", "#health");
  await shows(page, "JetStream is off", "#streams-list");
  await shows(page, "nothing expires", "#forecast-words");
  assert.deepEqual(page.asked.filter((u) => !u.includes("/tools/mayfly/")), []);
});

scenario("status page: /ttlz adds up forecasts, marks cliffs, lists what expires soon; /jsz has the lag", ours, async (t) => {
  const s = await t.server({ monitor: true, config: jetstreamBlock() });
  const nc = await t.connect(s);
  const CLIFF = 10_400;
  await create(nc, { name: "CLIFF", subjects: ["c.>"], storage: "memory", allow_msg_ttl: true });
  await create(nc, { name: "FLAT", subjects: ["f.>"], storage: "memory", allow_msg_ttl: true });
  await create(nc, { name: "COPY", mirror: { name: "FLAT" } });
  await publishMany(nc, "CLIFF", CLIFF, (i) => `c.${i}`, () => "9h", "");
  await publishMany(nc, "FLAT", 100, (i) => `f.${i}`, (i) => (i === 99 ? "never" : `${1800 + 600 * i}s`), "");
  await consume(nc, "FLAT", { durable_name: "slow" });
  const ask = async (path) => (await s.page(path)).json;

  const all = await ask("/ttlz?sum=1&limit=1&offset=1000000000&forecast=24&within=24h");
  assert.deepEqual(all.streams, []);
  assert.equal(all.total, 3);
  await until("the mirror", async () => (await ask("/ttlz?sum=1&stream=COPY")).sum.messages === 100);
  const { forecast: f, sum } = await ask("/ttlz?sum=1&limit=1&offset=1000000000&forecast=24&within=24h");
  assert.equal(sum.messages, CLIFF + 200);
  assert.equal(f.buckets.length, 24);
  assert.equal(f.buckets.reduce((n, b) => n + b.msgs, 0) + f.later, sum.items_with_ttl);
  assert.equal(f.infinite, sum.items_infinite_ttl);
  assert.deepEqual(f.cliffs.map((c) => [c.account, c.stream, c.msgs > 10_000]), [["$G", "CLIFF", true]]);
  assert.ok(Math.abs(Date.parse(f.cliffs[0].at) - Date.now() - 9 * 3600e3) < 600e3, f.cliffs[0].at);
  assert.ok(all.cost_ms > 0, "says what it cost");

  const one = await ask("/ttlz?acc=$G&stream=FLAT&state=1&list=3&forecast=10");
  assert.deepEqual(one.streams[0].expiring.map((k) => k.subject), ["f.0", "f.1", "f.2"]);
  assert.equal(one.streams[0].expiring_more, true);
  assert.deepEqual(one.forecast.cliffs, []);
  assert.deepEqual((await ask("/ttlz?copies=1&state=1")).streams.map((x) => [x.stream, x.mirror.name]), [["COPY", "FLAT"]]);
  assert.deepEqual((await ask("/ttlz?find=lIf")).streams.map((x) => x.stream), ["CLIFF"]);
  const lag = await ask("/jsz?lagging=5");
  assert.deepEqual([lag.lagging_total, lag.lagging.map((c) => [c.account, c.stream_name, c.name, c.num_pending])], [1, [["$G", "FLAT", "slow", 100]]]);
  for (const bad of ["/ttlz?list=3", "/ttlz?stream=FLAT&list=1001", "/ttlz?forecast=201", "/ttlz?forecast=5&within=1%20day", "/jsz?lagging=101", "/jsz?lagging=-1"])
    assert.equal((await s.page(bad)).status, 400, bad);
});
