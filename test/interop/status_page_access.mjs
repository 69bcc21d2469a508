// status_page_access.mjs: the status page for those who hear it, who see little contrast, and in the dark.
import assert from "node:assert/strict";
import { jetstreamBlock } from "./lib/js.mjs";
import { consume, create, openBrowser, openTab, publish, shows } from "./lib/page.mjs";
import { scenario } from "./lib/scenario.mjs";

const NAMED = ["button", "link", "searchbox", "textbox", "radio", "table", "dialog", "image", "img", "region", "navigation"];

// What a screen reader is given: [{ role, name }].
async function readAloud(page) {
  const cdp = await page.context().newCDPSession(page);
  const { nodes } = await cdp.send("Accessibility.getFullAXTree");
  await cdp.detach();
  return nodes.filter((n) => !n.ignored).map((n) => ({ role: n.role?.value, name: (n.name?.value ?? "").trim() }));
}

// Texts whose contrast with what is behind them is below 4.5 (WCAG 2, AA).  Disabled buttons are exempt there.
const paleTexts = (page) => page.evaluate(() => {
  const parse = (c) => {
    const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const over = (top, under) => top.rgb.map((v, i) => v * top.a + under[i] * (1 - top.a));
  const behind = (e) => {
    const layers = [];
    for (let n = e; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
    return layers.reverse().reduce((under, l) => over(l, under), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opacity = (e) => (e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1);
  const contrast = (e, color) => {
    const back = behind(e);
    const c = parse(color);
    const [a, b] = [light(over({ rgb: c.rgb, a: c.a * opacity(e) }, back)), light(back)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const found = [];
  const look = (e, color, what) => {
    const ratio = contrast(e, color);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${e.tagName}.${e.getAttribute("class") ?? ""} ${what.trim().slice(0, 30)}`);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let n; (n = walk.nextNode()); ) {
    const e = n.parentElement;
    if (n.data.trim() === "" || !e.checkVisibility() || e.closest(":disabled, noscript, title")) continue;
    texts++;
    const style = getComputedStyle(e);
    look(e, e.closest("svg") ? style.fill : style.color, n.data);
  }
  for (const e of document.querySelectorAll("input[placeholder]")) look(e, getComputedStyle(e, "::placeholder").color, e.placeholder);
  return { texts, found };
});

async function checkContrast(page, what) {
  const { texts, found } = await paleTexts(page);
  assert.ok(texts > 50, `${texts} texts in ${what}`);
  assert.deepEqual(found, [], what);
}

scenario("status page: each control has a name, texts have contrast, light and dark", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: jetstreamBlock() });
  const nc = await t.connect(s);
  await create(nc, { name: "KV_a", subjects: ["$KV.a.>"], allow_msg_ttl: true, metadata: { "mayfly.ttl.default": "24h" } });
  await create(nc, { name: "COPY", mirror: { name: "KV_a" } });
  await create(nc, { name: "LOST", mirror: { name: "NOWHERE" } });
  await consume(nc, "KV_a", { durable_name: "reader" });
  await publish(nc, "$KV.a.key", "1h");
  const page = await openTab(await openBrowser(t), `${s.http}/`, { viewport: { width: 1200, height: 3000 }, colorScheme: "light" });
  for (const [text, place] of [["Healthy", "#health"], ["default 1 d", "#streams-list"], ["reader", "#consumers-list"], ["stream not found", "#copies-list"], ["nats.js", "#connections-list"], ["1 message", "#forecast-words"]])
    await shows(page, text, place);
  await page.locator("summary").click();
  await shows(page, "Until", "#forecast-table");

  const aloud = await readAloud(page);
  assert.deepEqual(aloud.filter((n) => NAMED.includes(n.role) && n.name === ""), []);
  for (const role of ["banner", "main", "contentinfo", "navigation", "searchbox", "rowheader", "columnheader", "status"])
    assert.ok(aloud.some((n) => n.role === role), `${role} is missing`);
  for (const name of ["Streams", "Consumers by lag", "Mirrors and sources", "Connections"])
    assert.ok(aloud.some((n) => n.role === "table" && n.name === name), `table ${name}`);
  assert.ok(aloud.some((n) => /^ima?ge?$/.test(n.role) && n.name.startsWith("Expiry forecast")), "the chart has a name");
  assert.equal(await page.evaluate(() => document.querySelectorAll("[aria-live], [role=status]").length), 2); // health, and the result of a search
  const levels = await page.evaluate(() => [...document.querySelectorAll("main :is(h1, h2, h3)")].map((h) => h.tagName));
  assert.deepEqual([...new Set(levels)], ["H2"]);

  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => c < 60));
    assert.equal(dark, colorScheme === "dark");
    for (const kind of ["bad", "away", "good"]) {
      await page.evaluate((k) => (document.getElementById("health").className = `health ${k}`), kind);
      await checkContrast(page, `${colorScheme}, health ${kind}`);
    }
    await page.evaluate(() => document.body.classList.add("stale"));
    await checkContrast(page, `${colorScheme}, away`);
    await page.evaluate(() => document.body.classList.remove("stale"));
  }
  await page.locator("#streams-list button", { hasText: "KV_a" }).click();
  await shows(page, "$KV.a.key", "#detail");
  await checkContrast(page, "detail");
  const inside = await readAloud(page);
  assert.ok(inside.some((n) => n.role === "dialog" && n.name.includes("KV_a")), "the dialog has the stream's name");
  assert.deepEqual(inside.filter((n) => NAMED.includes(n.role) && n.name === ""), []);
  assert.deepEqual(page.faults, []);
});
