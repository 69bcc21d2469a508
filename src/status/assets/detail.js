// detail.js: one stream: its policy with origins, who decided, its forecast, its keys that expire soon, its consumers.
import { addJob, pace, query, readPage } from "./read.js";
import { byId, fillText, make, setText, Table } from "./dom.js";
import { describeNext, describePolicy, shareOf } from "./streams.js";
import { chosenSpan, describe, drawForecast, spans } from "./forecast.js";
import { consumerColumns } from "./lists.js";
import { drawShare } from "./chart.js";
import * as text from "./text.js";

const KEYS = 20;
const words = {
  default: "Default", pattern: "Pattern", min: "At least", max: "At most", bounds: "Outside the bounds", never: "Never expiring",
  scope: "Scope", slide: "Renewed by", warn: "Warning before", on_expire: "At the end", enforce: "Enforced", rules: "Rules",
};
const byWhom = {
  client: "the writer", rule: "a rule", default: "the default", pattern: "the pattern", server: "the server's default",
  max: "the upper bound", max_age: "max age", none: "nobody: no TTL",
};
let open; // { account, stream }
let parts; // of the dialog
let cost = 0;
let job;

const facts = (label, empty) => (place) => new Table(place, {
  label, empty, keyOf: (r) => r.name,
  columns: [
    { title: "Name", fill: (cell, r) => setText(cell, r.name) },
    { title: "Value", class: "name", fill: (cell, r) => fillText(cell, r.value, r.small ?? "") },
    { title: "Origin", fill: (cell, r) => setText(cell, r.origin ?? "") },
  ],
});

function keysTable(place) {
  return new Table(place, {
    label: "Keys that expire soon", empty: "No message of this stream has a deadline.", keyOf: (k) => k.seq,
    columns: [
      { title: "Subject", class: "name", fill: (cell, k) => setText(cell, k.subject) },
      { title: "Sequence", class: "number", fill: (cell, k) => setText(cell, String(k.seq)) },
      { title: "Expires in", class: "number", fill: (cell, k) => fillText(cell, text.duration(k.left_ms), text.moment(k.expires, k.left_ms)) },
      { title: "Set by hand", fill: (cell, k) => setText(cell, k.pinned ? "yes" : "no") },
    ],
  });
}

function decidedTable(place) {
  return new Table(place, {
    label: "Decided by", empty: "No message was stored under a policy since the start of the server.", keyOf: (d) => d.by,
    columns: [
      { title: "Decided by", fill: (cell, d) => setText(cell, byWhom[d.by] ?? d.by) },
      { title: "Messages", class: "number", fill: (cell, d) => setText(cell, text.count(d.n)) },
    ],
  });
}

function consumersTable(place) {
  return new Table(place, { label: "Consumers of this stream", empty: "No consumers.", keyOf: (c) => c.name, columns: consumerColumns(false) });
}

function addPart(title, makeTable) {
  const place = make("div", { class: "card list whole" });
  byId("detail-body").append(make("h3", {}, title), place);
  return makeTable(place);
}

function buildParts() {
  const body = byId("detail-body");
  body.replaceChildren();
  const summary = make("p", { class: "muted" });
  const share = make("div", { class: "card" });
  const chart = make("div", { class: "chart" });
  const forecast = make("p", { class: "words muted" });
  body.append(summary, make("h3", {}, "Share of lifetimes"), share, make("h3", { id: "detail-forecast" }, "Expiry forecast"), make("div", { class: "card" }, chart, forecast));
  return {
    summary, share, chart, forecast,
    policy: addPart("Effective policy, and where each value comes from", facts("Effective policy", "")),
    rules: addPart("Rules", facts("Rules", "No rules.")),
    decided: addPart("Decided by, since the start", decidedTable),
    keys: addPart(`The next ${KEYS} messages to expire`, keysTable),
    consumers: addPart("Consumers, by lag", consumersTable),
  };
}

function policyRows(s) {
  const rows = Object.entries(words).filter(([key]) => key !== "rules" && s.policy[key] !== "").map(([key, name]) => ({
    name, value: text.goDuration(String(s.policy[key])), origin: s.origin[key],
  }));
  rows.push({ name: "Max age", value: s.max_age === "0s" ? "none" : text.goDuration(s.max_age), origin: "stream" });
  rows.push({ name: "Delete markers", value: s.marker_ttl === "0s" ? "none" : `kept for ${text.goDuration(s.marker_ttl)}`, origin: "stream" });
  rows.push({ name: "Writers may send a TTL", value: s.allow_msg_ttl ? "yes" : "no", origin: "stream" });
  (s.notes ?? []).forEach((note, i) => rows.push({ name: i === 0 ? "Note" : `Note ${i + 1}`, value: note }));
  if (!s.valid) rows.unshift({ name: "Invalid", value: s.invalid ?? "not understood by this server" });
  return rows;
}

function ruleRows(s) {
  return s.policy.rules.map((r, i) => ({
    name: r.id ?? String(i), value: r.subject ?? "all subjects",
    small: [r.ttl && `TTL ${r.ttl}`, r.permanent_if && `permanent if ${r.permanent_if}`].filter(Boolean).join(", "), origin: s.origin.rules,
  }));
}

function describeStream(s, now) {
  const [next] = describeNext(s, now);
  return `${text.plural(s.state.messages, "message")}, ${text.bytes(s.state.bytes)}, ${text.plural(s.state.num_subjects ?? 0, "subject")}. ` +
    `Next expiry: ${next === "never" || next === "now" ? next : `in ${next}`}. Policy: ${describePolicy(s)}. ` +
    `${text.count(s.stats.expired_last_hour)} expired in the last hour, ${text.count(s.stats.totals.expired)} since the start.`;
}

function showStream(page, within) {
  const s = page.streams[0];
  if (s === undefined) {
    setText(parts.summary, "This stream was deleted.");
    return;
  }
  setText(parts.summary, describeStream(s, text.milliseconds(page.now)));
  drawShare(parts.share, shareOf(s.stats));
  drawForecast(parts.chart, page.forecast, spans[within], "detail-forecast");
  setText(parts.forecast, describe(page.forecast, spans[within]));
  parts.policy.show(policyRows(s));
  parts.rules.show(ruleRows(s));
  parts.decided.show(Object.entries(s.stats.decided).filter(([, n]) => n > 0).map(([by, n]) => ({ by, n })));
  parts.keys.show(s.expiring);
}

async function readDetail() {
  const wanted = open;
  const within = chosenSpan();
  const [page, lag] = await Promise.all([
    readPage(`ttlz${query({ acc: wanted.account, stream: wanted.stream, state: true, list: KEYS, forecast: 48, within })}`),
    readPage(`jsz${query({ acc: wanted.account, stream: wanted.stream, lagging: 20 })}`),
  ]);
  if (open !== wanted) return;
  if (page.json?.streams === undefined || lag.json === undefined) return;
  cost = page.json.cost_ms ?? 0;
  showStream(page.json, within);
  parts.consumers.show(lag.json.lagging ?? []);
}

export function openDetail(account, stream, shown) {
  open = { account, stream };
  parts = buildParts();
  setText(byId("detail-title"), `${shown} › ${stream}`);
  byId("detail").showModal(); // Escape closes it, and the focus returns
  job.now();
}

export const isDetailOpen = () => open !== undefined;

export function addDetail() {
  const dialog = byId("detail");
  job = addJob({ read: readDetail, every: () => pace(1, cost), wanted: () => open !== undefined });
  dialog.addEventListener("close", () => (open = undefined));
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  byId("detail-close").addEventListener("click", () => dialog.close());
}
