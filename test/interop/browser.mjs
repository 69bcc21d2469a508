// browser.mjs: nats.js in a real browser (headless Chromium), over WebSocket.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { chromium } from "playwright-core";
import { bundle } from "./lib/bundle.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

// A page that has loaded nats.js, and whatever it logged.
async function openPage(t) {
  const script = bundle("@nats-io/nats-core", "nats");
  const web = http.createServer((req, res) => {
    if (req.url === "/nats.js") res.setHeader("Content-Type", "text/javascript").end(script);
    else res.setHeader("Content-Type", "text/html").end("<!doctype html><title>t</title><script src=/nats.js></script>");
  });
  await new Promise((ok) => web.listen(0, "127.0.0.1", ok));
  t.after(() => web.close());
  t.after(() => web.closeAllConnections());
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => fs.existsSync(p));
  const browser = await chromium.launch({ executablePath, args: FLAGS, timeout: LIMIT_MS });
  t.after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  const console = [];
  page.on("console", (m) => console.push(m.text()));
  page.on("pageerror", (e) => console.push(String(e)));
  await page.goto(`http://127.0.0.1:${web.address().port}/`);
  await page.waitForFunction(() => globalThis.nats?.wsconnect);
  return { page, console, origin: `http://127.0.0.1:${web.address().port}` };
}

scenario("nats.js in Chromium: publish, subscribe, request, headers", async (t) => {
  const s = await t.server({ config: 'websocket { listen: "127.0.0.1:-1", no_tls: true, compression: true }', monitor: true });
  const { page, console } = await openPage(t);
  const tcp = await t.connect(s);
  const got = collect(tcp, "from.page");
  tcp.subscribe("double", { callback: (_, m) => m.respond(String(2 * Number(m.string()))) });
  await tcp.flush();
  const result = await page.evaluate(async (url) => {
    const { wsconnect, headers } = globalThis.nats;
    const nc = (globalThis.nc = await wsconnect({ servers: url, name: "page", timeout: 60000 }));
    globalThis.heard = [];
    nc.subscribe("to.page.*", { callback: (_, m) => globalThis.heard.push([m.subject, m.string()]) });
    await nc.flush();
    const h = headers();
    h.set("From", "browser");
    nc.publish("from.page", "hello from a browser", { headers: h });
    const answers = await Promise.all([1, 2, 3].map((n) => nc.request("double", String(n), { timeout: 60000 })));
    let none = "";
    try {
      await nc.request("nobody", "", { timeout: 60000 });
    } catch (e) {
      none = e.message + e.name;
    }
    return { version: nc.info.version, answers: answers.map((m) => m.string()), none };
  }, s.ws);
  assert.deepEqual(result.answers, ["2", "4", "6"]);
  assert.match(result.none, /no ?responders/i);
  assert.equal(result.version, tcp.info.version);
  await until("the page's message", () => got.length === 1);
  assert.equal(got[0].string(), "hello from a browser");
  assert.equal(got[0].headers.get("From"), "browser");
  const big = "x".repeat(300000);
  tcp.publish("to.page.small", "hi");
  tcp.publish("to.page.big", big);
  for (let i = 0; i < 500; i++) tcp.publish("to.page.many", String(i));
  await tcp.flush();
  await page.waitForFunction(() => globalThis.heard.length === 502);
  const heard = await page.evaluate(() => globalThis.heard.map(([s, d]) => [s, d.length > 100 ? d.length : d]));
  assert.deepEqual(heard[0], ["to.page.small", "hi"]);
  assert.deepEqual(heard[1], ["to.page.big", 300000]);
  assert.deepEqual(heard[501], ["to.page.many", "499"]);
  const conn = (await s.page("/connz")).json.connections.find((c) => c.name === "page");
  assert.equal(conn.type, "websocket");
  await page.evaluate(() => globalThis.nc.drain());
  await until("the page to be gone", async () => (await s.page("/connz")).json.connections.length === 1);
  assert.deepEqual(console, []);
});

scenario("Chromium: a page of a foreign origin is refused, wrong credentials too", async (t) => {
  const { page, origin } = await openPage(t);
  const attempt = (url, options = {}) =>
    page.evaluate(async ([url, options]) => {
      try {
        const nc = await globalThis.nats.wsconnect({ servers: url, reconnect: false, timeout: 60000, ...options });
        await nc.flush();
        await nc.close();
        return "connected";
      } catch (e) {
        return `${e.name}: ${e.message}`;
      }
    }, [url, options]);
  const closed = await t.server({ config: 'websocket { listen: "127.0.0.1:-1", no_tls: true, same_origin: true }' });
  assert.doesNotMatch(await attempt(closed.ws), /connected/);
  const open = await t.server({
    config: `websocket { listen: "127.0.0.1:-1", no_tls: true, allowed_origins: ["${origin}"] }
      authorization { user: u, password: p }`,
  });
  assert.equal(await attempt(open.ws, { user: "u", pass: "p" }), "connected");
  assert.match(await attempt(open.ws, { user: "u", pass: "x" }), /authorization/i);
});
