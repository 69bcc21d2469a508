// screenshots.mjs [FOLDER]: makes the pictures of the status page for docs/page.md, in docs/images unless told.
// MAYFLYD names the server; needs Chromium and the packages of test/interop.
import fs from "node:fs";
import path from "node:path";
import { jetstreamBlock } from "../test/interop/lib/js.mjs";
import { fillShop, openBrowser, openTab, publish, shows } from "../test/interop/lib/page.mjs";
import { Scene } from "../test/interop/lib/scenario.mjs";

const folder = process.argv[2] ?? "docs/images";
const ROUNDS = 40; // of keys that die while the curves are drawn
const MAX_BYTES = 150_000;
const wide = { viewport: { width: 1080, height: 1100 } };
const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };
const pictures = [
  { name: "page-light", options: { ...wide, colorScheme: "light" } },
  { name: "page-dark", options: { ...wide, colorScheme: "dark" } },
  { name: "page-phone", options: { ...phone, colorScheme: "light" } },
  { name: "page-phone-streams", options: { ...phone, colorScheme: "dark" }, scroll: "streams" },
  { name: "page-detail", options: { ...wide, colorScheme: "light" }, stream: "KV_sessions" },
  { name: "page-lists", options: { ...wide, colorScheme: "light" }, scroll: "consumers" },
];

async function take(page, { name, stream, scroll }) {
  await page.bringToFront();
  await shows(page, "Cliff", "#cliffs");
  if (scroll) {
    await page.evaluate((id) => document.getElementById(id).scrollIntoView(), scroll);
    if (scroll === "consumers") {
      await shows(page, "checkout", "#connections-list");
      await shows(page, "stream not found", "#copies-list");
    }
  }
  if (stream) {
    await page.locator("#streams-list tbody button", { hasText: stream }).click();
    await shows(page, "the writer", "#detail");
  }
  const file = path.join(folder, `${name}.png`);
  await page.screenshot({ path: file });
  const { size } = fs.statSync(file);
  console.log(`${file}: ${size} bytes`);
  if (size > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES} bytes`);
}

const t = new Scene();
try {
  const s = await t.server({ monitor: true, config: `server_name: shop-1\n${jetstreamBlock()}` });
  const nc = await t.connect(s, { name: "checkout" });
  await t.connect(s, { name: "billing" });
  await fillShop(nc);
  const browser = await openBrowser(t);
  const pages = [];
  for (const p of pictures) pages.push(await openTab(browser, `${s.http}/`, p.options));
  for (let i = 0; i < ROUNDS; i++) {
    const n = 20 + Math.round(15 * Math.sin(i / 5));
    for (let k = 0; k < n; k++) await publish(nc, `$KV.sessions.guest.${i}.${k}`, "1s");
    await new Promise((ok) => setTimeout(ok, 500)); // the curves need time to be drawn
  }
  fs.mkdirSync(folder, { recursive: true });
  for (const [i, p] of pictures.entries()) await take(pages[i], p);
} finally {
  await t.end();
}
process.exit(0);
