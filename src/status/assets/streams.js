// streams.js: the table of streams, a page of it at a time.
import { addJob, pace, query, readPage, REST_MS } from "./read.js";
import { byId, fillText, make, Pager, setText, Table, watchSight } from "./dom.js";
import { drawShare } from "./chart.js";
import { showNoStreams, showSum } from "./live.js";
import { isDetailOpen, openDetail } from "./detail.js";
import * as text from "./text.js";

const PAGE = 20;
const SUM = "ttlz?sum=1&limit=1&offset=1000000000"; // of all streams, and none of them
const seen = new Map(); // the last sequence of each stream shown, for its rate
let now = 0;
let missing = "";
let cost = 0;

const keyOf = (s) => `${s.account} ${s.stream}`;

function measureRate(s, id, at) {
  const last = seen.get(keyOf(s));
  const known = last?.id === id && at > last.at && s.state.last_seq >= last.seq;
  s.rate = known ? (1000 * (s.state.last_seq - last.seq)) / (at - last.at) : last?.id === id ? last.rate : undefined;
  seen.set(keyOf(s), { id, at, seq: s.state.last_seq, rate: s.rate });
}

// "default 1 d, at most 30 d, 2 rules (audit)".
export function describePolicy(s) {
  if (!s.valid) return "invalid: not in force";
  const p = s.policy;
  const parts = [];
  if (p.default !== "" && p.default !== "none") parts.push(`default ${text.goDuration(p.default)}`);
  else if (p.pattern !== "") parts.push(`pattern ${p.pattern}`);
  if (p.max !== "") parts.push(`at most ${text.goDuration(p.max)}`);
  if (p.rules.length > 0) parts.push(text.plural(p.rules.length, "rule"));
  if (s.max_age !== "0s") parts.push(`max age ${text.goDuration(s.max_age)}`);
  if (parts.length === 0) return s.allow_msg_ttl ? "writers decide" : "none";
  return parts.join(", ") + (s.governed && p.enforce !== "on" ? ` (${p.enforce})` : "");
}

export function describeNext(s, at) {
  const { next_expiry: next, overdue } = s.stats;
  if (overdue > 0) return ["now", `${text.count(overdue)} being removed`];
  if (next === undefined) return ["never", ""];
  const left = Math.max(0, text.milliseconds(next) - at);
  return [`${s.stats.next_expiry_approximate ? "≥ " : ""}${text.duration(left)}`, ""];
}

export function shareOf(stats) {
  return { withTtl: stats.items_with_ttl, infinite: stats.items_infinite_ttl, without: stats.items_without_ttl };
}

function fillName(cell, s) {
  if (cell.firstChild === null) {
    const button = make("button", { type: "button", "aria-haspopup": "dialog" });
    button.addEventListener("click", () => openDetail(cell.dataset.account, cell.dataset.stream, cell.dataset.shown));
    cell.append(button, make("small"));
  }
  cell.dataset.account = s.account;
  cell.dataset.stream = s.stream; // what is shown may have characters replaced
  setText(cell.firstChild, s.stream);
  cell.dataset.shown = text.account(s);
  setText(cell.lastChild, s.mirror !== undefined ? `${text.account(s)} · mirror of ${s.mirror.name}` : text.account(s));
}

const columns = [
  { title: "Stream", class: "name", fill: fillName },
  { title: "Messages", class: "number", fill: (cell, s) => setText(cell, text.count(s.state.messages)) },
  { title: "Bytes", class: "number", fill: (cell, s) => setText(cell, text.bytes(s.state.bytes)) },
  { title: "Rate", class: "number", fill: (cell, s) => setText(cell, text.rate(s.rate)) },
  { title: "Next expiry", class: "number", fill: (cell, s) => fillText(cell, ...describeNext(s, now)) },
  { title: "TTL share", class: "share", fill: (cell, s) => drawShare(cell, shareOf(s.stats)) },
  { title: "Policy", class: "policy", fill: (cell, s) => setText(cell, describePolicy(s)) },
  { title: "Consumers", class: "number", fill: (cell, s) => setText(cell, text.count(s.state.consumer_count)) },
];

function wordsForNone() {
  if (missing !== "") return missing;
  const wanted = byId("find").value.trim();
  if (wanted !== "") return `No stream or account has “${wanted}” in its name.`;
  return "No streams yet: a client creates the first one, for example with `mayfly stream create` or as a KV bucket.";
}

export function addStreams() {
  const place = byId("streams-list");
  const table = new Table(place, { label: "Streams", columns, keyOf, empty: wordsForNone });
  const pager = new Pager(place, PAGE, () => job.now());
  const find = byId("find");

  async function readStreams() {
    const wanted = find.value.trim();
    const offset = pager.offset;
    if ((now > 0 && !sight.is) || isDetailOpen()) {
      await readSum();
      return;
    }
    const list = query({ state: true, sum: wanted === "", limit: PAGE, offset, find: wanted });
    const [{ status, json }, sums] = await Promise.all([
      readPage(`ttlz${list}`), wanted === "" ? undefined : readPage(SUM),
    ]);
    if (status === 404) missing = "JetStream is off: this server keeps no streams. Start it with -js, or with a jetstream block.";
    else if (json === undefined) return;
    else missing = "";
    if (missing !== "") {
      showNoStreams();
      table.show([]);
      return;
    }
    showSum(sums?.json ?? json);
    if (wanted !== find.value.trim() || offset !== pager.offset) return; // another part was asked for meanwhile
    now = text.milliseconds(json.now);
    cost = json.cost_ms ?? 0;
    for (const s of json.streams) measureRate(s, json.server_id, now);
    table.show(json.streams);
    setText(byId("found"), wanted === "" ? "" : `${text.plural(json.total, "stream")} found`);
    if (pager.show(json.total)) job.now();
  }

  // The curves go on while the table is out of sight.
  async function readSum() {
    const { status, json } = await readPage(SUM);
    cost = 0;
    if (json?.sum !== undefined) showSum(json);
    else if (status === 404) showNoStreams();
  }

  const job = addJob({ read: readStreams, every: () => (missing !== "" ? REST_MS : pace(isDetailOpen() ? 2 : 1, cost / 3)) });
  const sight = watchSight(place, () => job.now());
  byId("detail").addEventListener("close", () => job.now());
  find.addEventListener("input", () => {
    pager.offset = 0;
    job.now();
  });
}
