// live.js: the tiles and the two curves of the last minutes.  Rates are differences of the pages' counters.
import { addJob, noteStreams, readPage, TICK_MS } from "./read.js";
import { byId, make, setText } from "./dom.js";
import { drawCurve } from "./chart.js";
import { showServer } from "./health.js";
import * as text from "./text.js";

const SAMPLES = Math.round(120000 / TICK_MS);
const tiles = new Map();
const expired = [];
const late = [];
let before; // the last sum: { id, at, expired, lateness }
let traffic; // the last /varz: { id, at, in, out, leafs }

function setTile(name, value, unit = "") {
  let tile = tiles.get(name);
  if (tile === undefined) {
    const [figure, small] = [make("span"), make("small")];
    byId("tiles").append(make("div", {}, make("dt", {}, name), make("dd", {}, figure, " ", small)));
    tiles.set(name, (tile = { figure, small }));
  }
  setText(tile.figure, value);
  setText(tile.small, unit);
}

// The bound below which 99 of 100 deaths lie, of those between two looks; undefined: nothing expired.
export function lateness99(now, then) {
  const counts = now.map((b, i) => b.msgs - (then?.[i]?.msgs ?? 0));
  const all = counts.reduce((a, b) => a + b, 0);
  if (all <= 0) return undefined;
  let sum = 0;
  const at = counts.findIndex((n) => (sum += n) >= all * 0.99);
  return now[at].to_ms ?? 2 * now[at - 1].to_ms;
}

function push(list, value) {
  list.push(value);
  if (list.length > SAMPLES) list.shift();
}

function drawLive() {
  const most = Math.max(0, ...expired);
  const now = expired.at(-1) ?? 0;
  drawCurve(byId("expired-chart"), expired, {
    size: SAMPLES, title: "expired-title", format: text.count,
    words: `Now ${text.rate(now)}, at most ${text.rate(most)}.`,
  });
  const worst = Math.max(0, ...late.filter((v) => v !== undefined));
  drawCurve(byId("late-chart"), late, {
    size: SAMPLES, title: "late-title", format: (v) => `${text.count(v)} ms`,
    words: worst === 0 ? "Nothing expired." : `At most ${text.duration(worst)} after the deadline.`,
  });
}

// sum: of all streams, from /ttlz?sum=1.
export function showSum(page) {
  const { sum } = page;
  noteStreams(sum.streams);
  const at = text.milliseconds(page.now);
  const same = before?.id === page.server_id && sum.totals.expired >= before.expired;
  if (same && at - before.at < 200) return; // asked for twice at nearly one time: no rate
  const perSecond = same ? (1000 * (sum.totals.expired - before.expired)) / (at - before.at) : 0;
  const late99 = same ? lateness99(sum.lateness, before.lateness) : undefined;
  push(expired, perSecond);
  push(late, late99);
  before = { id: page.server_id, at, expired: sum.totals.expired, lateness: sum.lateness };
  setTile("Streams", text.count(sum.streams));
  setTile("Messages", text.count(sum.messages));
  setTile("Bytes", text.bytes(sum.total_bytes));
  setTile("Expiring", text.rate(perSecond), "now");
  setTile("Expired", text.count(sum.expired_last_hour), "last hour");
  const recent = late.findLast((v) => v !== undefined);
  setTile("Lateness", recent === undefined ? "none" : `≤ ${text.duration(recent)}`, recent === undefined ? "yet" : "p99");
  drawLive();
}

export function showNoStreams() {
  setTile("Streams", "off", "no JetStream");
}

export const countLeafs = () => traffic?.leafs ?? 0;

async function readServer() {
  const { json } = await readPage("varz");
  if (json === undefined) return;
  showServer(json);
  const at = text.milliseconds(json.now);
  const known = traffic?.id === json.server_id && at > traffic.at;
  const per = (n, m) => text.rate(known ? Math.max(0, (1000 * (n - m)) / (at - traffic.at)) : undefined);
  setTile("Messages in", per(json.in_msgs, traffic?.in), "now");
  setTile("Messages out", per(json.out_msgs, traffic?.out), "now");
  setTile("Connections", text.count(json.connections));
  setTile("Slow consumers", text.count(json.slow_consumers), "since start");
  setTile("Memory", text.bytes(json.mem));
  setTile("CPU", `${json.cpu < 10 ? json.cpu.toFixed(1) : Math.round(json.cpu)} %`, `${json.cores} cores`);
  traffic = { id: json.server_id, at, in: json.in_msgs, out: json.out_msgs, leafs: json.leafnodes ?? 0 };
}

export function addLive() {
  for (const name of ["Streams", "Messages", "Bytes", "Expiring", "Expired", "Lateness"]) setTile(name, "…");
  addJob({ read: readServer });
  addEventListener("resize", drawLive);
  drawLive();
}
