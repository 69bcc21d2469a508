// page.mjs: the status page in headless Chromium, and streams for it to show.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { chromium } from "playwright-core";
import { LIMIT_MS, until } from "./wait.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

export async function openBrowser(t) {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => fs.existsSync(p));
  const browser = await chromium.launch({ executablePath, args: FLAGS, timeout: LIMIT_MS });
  t.after(() => browser.close());
  return browser;
}

// A tab with `faults` (errors and dialogs) and `asked` (the URLs it asked for).  options: those of playwright's newPage().
export async function openTab(browser, url, options = {}) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(LIMIT_MS);
  page.faults = [];
  page.asked = [];
  page.on("console", (m) => m.type() === "error" && page.faults.push(m.text()));
  page.on("pageerror", (e) => page.faults.push(String(e)));
  page.on("dialog", (d) => page.faults.push(`dialog ${d.message()}`));
  page.on("request", (r) => page.asked.push(r.url()));
  await page.goto(url);
  return page;
}

// Waits for a text at a place of the page.
export const shows = (page, text, place = "body") =>
  page.waitForFunction(([where, want]) => document.querySelector(where)?.innerText.includes(want), [place, text]);

export async function create(nc, config) {
  const answer = (await nc.request(`$JS.API.STREAM.CREATE.${config.name}`, JSON.stringify(config), { timeout: LIMIT_MS })).json();
  assert.equal(answer.error, undefined, `${config.name}: ${JSON.stringify(answer.error)}`);
}

export async function consume(nc, stream, config) {
  const answer = (await nc.request(`$JS.API.CONSUMER.CREATE.${stream}.${config.durable_name}`,
    JSON.stringify({ stream_name: stream, config: { ack_policy: "explicit", ...config } }), { timeout: LIMIT_MS })).json();
  assert.equal(answer.error, undefined, `${stream} ${config.durable_name}: ${JSON.stringify(answer.error)}`);
}

export async function publish(nc, subject, ttl, body = "x") {
  const h = headers();
  if (ttl) h.set("Nats-TTL", ttl);
  const ack = (await nc.request(subject, body, { headers: h, timeout: LIMIT_MS })).json();
  assert.equal(ack.error, undefined, `${subject}: ${JSON.stringify(ack.error)}`);
}

// Many messages without waiting for each: subjectOf(i), ttlOf(i) or undefined; then waits until the stream has them.
export async function publishMany(nc, stream, n, subjectOf, ttlOf, body = "x".repeat(100)) {
  for (let i = 0; i < n; i++) {
    const h = headers();
    const ttl = ttlOf(i);
    if (ttl) h.set("Nats-TTL", ttl);
    nc.publish(subjectOf(i), body, { headers: h });
    if (i % 1000 === 999) await nc.flush();
  }
  await until(`${n} messages in ${stream}`, async () =>
    (await nc.request(`$JS.API.STREAM.INFO.${stream}`, "", { timeout: LIMIT_MS })).json().state.last_seq >= n);
}

const bucket = (name, metadata, more = {}) => ({
  name: `KV_${name}`, subjects: [`$KV.${name}.>`], max_msgs_per_subject: 1, allow_msg_ttl: true, allow_direct: true, allow_rollup_hdrs: true, deny_delete: true,
  discard: "new", metadata, ...more,
});

// A shop: buckets with lifetimes, a cliff, policies, consumers with lag, a mirror, a source.
export async function fillShop(nc) {
  await create(nc, bucket("sessions", { "mayfly.ttl.default": "30m", "mayfly.ttl.slide": "read", "mayfly.ttl.max": "12h" }, { subject_delete_marker_ttl: 60e9 }));
  await create(nc, bucket("carts", { "mayfly.ttl.default": "24h", "mayfly.ttl.never": "allow", "mayfly.ttl.warn": "1h" }));
  await create(nc, bucket("coupons", {}));
  await create(nc, { name: "ORDERS", subjects: ["orders.>"], allow_msg_ttl: true,
    metadata: { "mayfly.ttl.rules": JSON.stringify([{ id: "drafts", subject: "orders.draft.>", ttl: "2h" }, { id: "paid", subject: "orders.paid.>", ttl: "never" }]) } });
  await create(nc, { name: "EVENTS", subjects: ["events.>"], max_age: 7 * 86400e9 });
  await create(nc, { name: "AUDIT", subjects: ["audit.>"], allow_msg_ttl: true, metadata: { "mayfly.ttl.default": "30d", "mayfly.ttl.enforce": "audit" } });
  await create(nc, { name: "ORDERS_MIRROR", mirror: { name: "ORDERS" } });
  await create(nc, { name: "HISTORY", sources: [{ name: "ORDERS" }, { name: "EVENTS" }] });
  await create(nc, { name: "GONE_MIRROR", mirror: { name: "NOWHERE" } });
  await publishMany(nc, "KV_sessions", 3000, (i) => `$KV.sessions.user.${i}`, (i) => `${60 + (i * 7919) % 1740}s`);
  await publishMany(nc, "KV_carts", 4000, (i) => `$KV.carts.cart.${i}`, (i) => (i % 20 === 0 ? "never" : `${600 + (i * 104729) % 90000}s`));
  await publishMany(nc, "KV_coupons", 12500, (i) => `$KV.coupons.code.${i}`, () => "9h", "x".repeat(20));
  await publishMany(nc, "ORDERS", 2400, (i) => `orders.${["draft", "paid", "sent"][i % 3]}.${i}`, () => undefined);
  await publishMany(nc, "EVENTS", 1500, (i) => `events.click.${i % 40}`, () => undefined);
  await publishMany(nc, "AUDIT", 300, (i) => `audit.${i}`, () => undefined);
  await consume(nc, "ORDERS", { durable_name: "billing" });
  await consume(nc, "ORDERS", { durable_name: "shipping", filter_subject: "orders.paid.>" });
  await consume(nc, "EVENTS", { durable_name: "analytics", ack_policy: "none", deliver_policy: "new" });
  nc.subscribe("taken");
  nc.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.billing", "5", { reply: "taken" }); // five wait for their ack
  await nc.flush();
}
