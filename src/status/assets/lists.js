// lists.js: consumers by lag, mirrors and sources, leaf links, connections.  A list is read while it is in sight.
import { addJob, pace, query, readPage } from "./read.js";
import { isDetailOpen } from "./detail.js";
import { byId, fillText, Pager, setText, Table, watchSight } from "./dom.js";
import { countLeafs } from "./live.js";
import * as text from "./text.js";

const SHOWN = 20;
const PAGE = 10;

function addList(id, make) {
  const place = byId(`${id}-list`);
  const job = addJob({ ...make(place, () => job.now()), every: () => pace(2), wanted: () => sight.is && !isDetailOpen() });
  byId("detail").addEventListener("close", () => job.now());
  const sight = watchSight(byId(id), () => job.now());
}

// --- consumers -------------------------------------------------------------------------------------

function describeConsumer(c) {
  const kind = c.config.deliver_subject ? "push" : "pull";
  return [kind, c.config.durable_name ? "durable" : "ephemeral", c.paused ? "paused" : ""].filter(Boolean).join(", ");
}

export function consumerColumns(withStream) {
  return [
    { title: "Consumer", class: "name", fill: (cell, c) => fillText(cell, c.name, withStream ? `${text.account(c)} › ${c.stream_name}` : "") },
    { title: "Lag", class: "number", fill: (cell, c) => setText(cell, text.count(c.num_pending + c.num_ack_pending)) },
    { title: "To deliver", class: "number", fill: (cell, c) => setText(cell, text.count(c.num_pending)) },
    { title: "Waits for ack", class: "number", fill: (cell, c) => setText(cell, text.count(c.num_ack_pending)) },
    { title: "Redelivered", class: "number", fill: (cell, c) => setText(cell, text.count(c.num_redelivered)) },
    { title: "Kind", class: "wide", fill: (cell, c) => setText(cell, describeConsumer(c)) },
  ];
}

function makeConsumers(place) {
  const table = new Table(place, {
    label: "Consumers by lag", columns: consumerColumns(true), keyOf: (c) => `${c.account} ${c.stream_name} ${c.name}`,
    empty: "No consumers yet: a client that reads a stream creates one.",
  });
  return {
    async read() {
      const { json } = await readPage(`jsz?lagging=${SHOWN}`);
      table.show(json?.lagging ?? []);
      const all = json?.lagging_total ?? 0;
      setText(byId("consumers-title"), all > SHOWN ? `Consumers: the ${SHOWN} with the greatest lag of ${text.count(all)}` : "Consumers");
    },
  };
}

// --- mirrors and sources ---------------------------------------------------------------------------

function listOrigins(streams) {
  return streams.flatMap((s) => [...(s.mirror ? [{ ...s.mirror, kind: "mirror" }] : []), ...(s.sources ?? []).map((o) => ({ ...o, kind: "source" }))]
    .map((o, i) => ({ ...o, account: s.account, account_tag: s.account_tag, stream: s.stream, i })));
}

// active: nanoseconds since the upstream was heard of; -1: never.
function describeActive(o) {
  if (o.error) return `${o.error.description ?? "error"}`;
  return o.active < 0 ? "not connected yet" : `heard ${text.duration(o.active / 1e6)} ago`;
}

function makeCopies(place, again) {
  const table = new Table(place, {
    label: "Mirrors and sources", keyOf: (o) => `${o.account} ${o.stream} ${o.i}`,
    empty: "No mirrors or sources: every stream of this server has its own messages.",
    columns: [
      { title: "Stream", class: "name", fill: (cell, o) => fillText(cell, o.stream, text.account(o)) },
      { title: "Upstream", class: "name", fill: (cell, o) => fillText(cell, o.name, o.external ? `through ${o.external.api}` : "") },
      { title: "Kind", fill: (cell, o) => setText(cell, o.kind) },
      { title: "Lag", class: "number", fill: (cell, o) => setText(cell, text.plural(o.lag, "message")) },
      { title: "Link", class: "wide", fill: (cell, o) => {
        setText(cell, describeActive(o));
        cell.classList.toggle("trouble", Boolean(o.error));
      } },
    ],
  });
  const pager = new Pager(place, PAGE, again);
  return {
    async read() {
      const { json } = await readPage(`ttlz${query({ copies: true, state: true, limit: PAGE, offset: pager.offset })}`);
      table.show(listOrigins(json?.streams ?? []));
      if (pager.show(json?.total ?? 0)) again();
    },
  };
}

// --- leaf links ------------------------------------------------------------------------------------

function makeLeafs(place) {
  const table = new Table(place, {
    label: "Leaf links", empty: "", keyOf: (l) => `${l.name} ${l.ip} ${l.port}`,
    columns: [
      { title: "Remote", class: "name", fill: (cell, l) => fillText(cell, l.name || "unnamed", `${l.ip}:${l.port}`) },
      { title: "Account", class: "name", fill: (cell, l) => setText(cell, text.account(l)) },
      { title: "Round trip", class: "number", fill: (cell, l) => setText(cell, text.goDuration(l.rtt ?? "") || "unknown") },
      { title: "Messages in", class: "number", fill: (cell, l) => setText(cell, text.count(l.in_msgs ?? 0)) },
      { title: "Messages out", class: "number", fill: (cell, l) => setText(cell, text.count(l.out_msgs ?? 0)) },
      { title: "Subscriptions", class: "number", fill: (cell, l) => setText(cell, text.count(l.subscriptions ?? 0)) },
    ],
  });
  return async () => {
    const leafs = countLeafs() === 0 ? [] : ((await readPage("leafz")).json?.leafs ?? []);
    byId("leafs").hidden = leafs.length === 0;
    table.show(leafs);
  };
}

// --- connections -----------------------------------------------------------------------------------

function makeConnections(place, again) {
  const table = new Table(place, {
    label: "Connections", keyOf: (c) => c.cid, empty: "No client is connected.",
    columns: [
      { title: "Client", class: "name", fill: (cell, c) => fillText(cell, c.name || `connection ${c.cid}`, [c.account === undefined ? "" : (c.name_tag ?? c.account), `${c.ip}:${c.port}`].filter(Boolean).join(" · ")) },
      { title: "Library", fill: (cell, c) => setText(cell, [c.lang, c.version].filter(Boolean).join(" ")) },
      { title: "Up", class: "number", fill: (cell, c) => setText(cell, c.uptime) },
      { title: "Messages in", class: "number", fill: (cell, c) => setText(cell, text.count(c.in_msgs)) },
      { title: "Messages out", class: "number", fill: (cell, c) => setText(cell, text.count(c.out_msgs)) },
      { title: "Waiting", class: "number", fill: (cell, c) => setText(cell, text.bytes(c.pending_bytes)) },
      { title: "Subscriptions", class: "number", fill: (cell, c) => setText(cell, text.count(c.subscriptions)) },
    ],
  });
  const pager = new Pager(place, PAGE, again);
  return {
    async read() {
      const { json } = await readPage(`connz${query({ auth: true, limit: PAGE, offset: pager.offset })}`);
      table.show(json?.connections ?? []);
      if (pager.show(json?.total ?? 0)) again();
    },
  };
}

export function addLists() {
  addList("consumers", makeConsumers);
  addList("copies", makeCopies);
  addList("connections", makeConnections);
  addJob({ read: makeLeafs(byId("leafs-list")), }); // hidden while there is none, so never in sight
}
