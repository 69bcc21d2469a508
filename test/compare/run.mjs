// run.mjs: plays a history to both servers and says where their answers part.
//
// Operations (plain JSON):
//   {op:"api", subj, body?, hdr?, as?}     request to $JS.API.<subj>; `as` names what the server called it
//   {op:"pub", subj, data?, hdr?, suffix?} publish with a reply; suffix: tokens after the inbox (fast batches)
//   {op:"get", subj, body?, hdr?}          direct get, any number of answers
//   {op:"pull", s, c, body?, open?, hdr?}  pull request; open: do not wait for its end
//   {op:"ack", s, c, i, data?, confirm?}   answers the i-th delivery (counted round) of that consumer
//   {op:"raw", subj, reply?, data?}        publish to a subject as it stands
//   {op:"sub", id, subj, queue?}, {op:"unsub", id}
//   {op:"wait", ms}, {op:"check"}, {op:"restart", how}
//   {..., later}                           the copies of streams are not looked at behind it
//   {op:"audit"}                           from here on, what is told of API requests is compared too
//   {op:"pull", ..., by}                   asked by another client; {op:"hangup", by}: he goes
//   {op:"leave", i}                        nobody listens to the i-th open pull (counted round) any more
//   {op:"snapshot", s, as, body?}          takes one; {op:"restore", s, from, cross?, config?, step?}: backup.mjs
import { OWN, audits, told } from "./audit.mjs";
import { restore, snapshot } from "./backup.mjs";
import { Findings, compareMessages } from "./compare.mjs";
import { advisories } from "./normalise.mjs";
import { takesMany } from "./rules_help.mjs";

const LATE = Number(process.env.COMPARE_LATE ?? 4000); // ms: one server has answered, the other may be stuck behind a busy machine
const SILENT = 150; // neither has: it is taken for silence
const UNHEARD = { pull: 100, api: 1000 }; // and then this long; an API request is nearly always answered
const GOING = 60; // what goes by itself may take so long
const READS = /^(INFO$|STREAM\.(INFO|NAMES|LIST|MSG\.GET)|CONSUMER\.(INFO|NAMES|LIST))/;

export function isRead(o) {
  return o.op === "get" || (o.op === "api" && READS.test(o.subj));
}

// Operations that may be under way together: reads, or publishes to one stream.  What a copy gets of an origin that
// forgets is a matter of time, so there each has its turn.
function together(a, b, live) {
  if (isRead(a) && isRead(b)) return true;
  if (live || a.op !== "pub" || b.op !== "pub") return false;
  return a.subj.split(".", 2).slice(0, a.subj[0] === "$" ? 2 : 1).join() === b.subj.split(".", 2).slice(0, b.subj[0] === "$" ? 2 : 1).join();
}

// What may move consumers that nobody asks anything of: where that makes a difference, it is seen as what it is, and not by what
// follows from it.
function shakes(o) {
  return o.op === "restore" || takesMany(o) || (o.op === "api" && /^(STREAM\.(UPDATE|MSG\.DELETE)|CONSUMER\.(CREATE|DURABLE|RESET|PAUSE|UNPIN))\./.test(o.subj));
}

export async function play(lane, history, rules) {
  const run = new Run(lane, history, rules);
  lane.begin();
  try {
    await run.all();
  } finally {
    if (!lane.pair.fallen().length) await run.clean();
  }
  return run.findings;
}

class Run {
  constructor(lane, history, rules) {
    this.lane = lane;
    this.ops = history.ops;
    this.findings = new Findings(history, rules);
    this.consumers = new Map(); // "stream name" as the history calls them
    this.streams = new Set();
    this.copies = new Set(); // those with a mirror or sources
    this.fleeting = new Set(); // those whose messages go when they were delivered or acknowledged
    this.pulls = []; // open pull requests
    this.subs = new Map(); // id -> sid
    this.apart = new Set(); // consumers, "stream,name", that stayed different: a rule explains it
    this.pending = []; // answers that may still come: compared at the end
  }

  get live() {
    return this.pulls.length > 0 || this.subs.size > 0;
  }

  async all() {
    let i = 0;
    while (i < this.ops.length && !this.findings.over) {
      let n = 1;
      // Where consumers are, nats-server does some things beside the next publish.
      const live = this.live || this.consumers.size > 0 || this.copies.size > 0;
      while (i + n < this.ops.length && n < 64 && together(this.ops[i], this.ops[i + n], live)) n++;
      await this.group(i, n);
      i += n;
      if (this.copies.size > 0 && !this.findings.over && !isRead(this.ops[i - 1]) && !this.ops[i - 1].later) await this.follow(i - 1);
      const look = this.live ? !isRead(this.ops[i - 1]) : this.consumers.size > 0 && shakes(this.ops[i - 1]);
      if (!this.findings.over && look && !(await this.settle())) await this.check(i - 1, true);
      if (this.lane.pair.fallen().length) return this.findings.fallen(i - 1, this.lane.pair.fallen());
      const lost = this.lane.sides.findIndex((s) => s.wire.ended);
      if (lost >= 0) return this.findings.fallen(i - 1, [`connection ${lost} closed: ${this.lane.sides[lost].wire.errors}`]);
    }
    if (!this.findings.over) await this.check(this.ops.length - 1);
    if (!this.findings.over) this.leftovers();
  }

  async group(from, n) {
    const calls = [];
    for (const side of this.lane.sides) side.turn++;
    for (let i = from; i < from + n; i++) {
      const o = this.ops[i];
      this.findings.count(o);
      if (o.op === "wait") await new Promise((ok) => setTimeout(ok, o.ms));
      else if (o.op === "check") await this.check(i);
      else if (o.op === "restart") await this.restart(o, i);
      else if (o.op === "sub" || o.op === "unsub") await this.subscription(o);
      else if (o.op === "audit") await this.listen();
      else if (o.op === "leave") await this.leave(o, i);
      else if (o.op === "hangup") await this.lane.hangup(o.by);
      else if (o.op === "snapshot") await snapshot(this, o, i);
      else if (o.op === "restore") await restore(this, o, i);
      else if (o.by) calls.push(await this.elsewhere(o, i));
      else calls.push(this.send(o, i));
    }
    for (const c of calls) await this.answered(c);
    for (const c of calls) if (c.o.op === "ack" && c.o.confirm === false) await this.heard(c.o);
    // In a fast batch one message may have two answers: the second may be a moment behind.
    for (const { o, lists } of calls) if (o.suffix) await this.lane.until(() => lists[0].length === lists[1].length, SILENT);
    for (const c of calls) {
      if (this.findings.over) return;
      this.judge(c);
    }
  }

  // --- sending ------------------------------------------------------------------------------------

  send(o, index) {
    const n = ++this.lane.next;
    const call = { o, index, n, lists: [] };
    call.done = ENDS[o.op]?.(o) ?? ((list) => list.length > 0);
    for (const side of this.lane.sides) call.lists.push(this.#one(side, o, n, index < 0));
    if (o.op === "pull" && o.open) this.pulls.push(call);
    return call;
  }

  #one(side, o, n, own) {
    let body = side.fill(o.body === undefined ? (o.data ?? "") : typeof o.body === "string" ? o.body : JSON.stringify(o.body));
    const hdr = o.hdr ? `NATS/1.0\r\n${o.hdr.map((l) => `${side.fill(l)}\r\n`).join("")}\r\n` : "";
    const inbox = `_INBOX.c.${n}`;
    if (o.op === "pull") {
      const sid = 1000 + n;
      const list = side.subscribe(`_INBOX.p.${n}`, sid, "", o.by);
      (side.clients.get(o.by) ?? side.wire).publish(`$JS.API.CONSUMER.MSG.NEXT.${o.s}.${side.fill(o.c)}`, `_INBOX.p.${n}`, hdr, body);
      return list;
    }
    const list = side.slot(n);
    if (side.asked && o.op === "api") {
      if (own) body = (body || "{}") + OWN;
      else side.asked.push({ subject: `$JS.API.${side.fill(o.subj)}`, body, list });
    }
    if (o.op === "pub") side.wire.publish(side.fill(o.subj), o.suffix ? `${inbox}.${o.suffix}` : inbox, hdr, body);
    else if (o.op === "raw") side.wire.publish(side.fill(o.subj), o.reply === false ? "" : inbox, hdr, body);
    else if (o.op === "ack") this.#ack(side, o, inbox, body);
    else side.wire.publish(`$JS.API.${o.op === "get" ? "DIRECT.GET." : ""}${side.fill(o.subj)}`, inbox, hdr, body);
    return list;
  }

  #ack(side, o, inbox, body) {
    const seen = side.delivered.get(`${o.s} ${side.normaliser.name(side.fill(o.c))}`);
    if (!seen?.length) return;
    const { reply } = seen[o.i % seen.length];
    side.wire.publish(o.tail === undefined ? reply : `${reply}.${o.tail}`, o.confirm === false ? "" : inbox, "", body);
  }

  async subscription(o) {
    if (o.op === "sub") {
      const sid = 500 + this.subs.size + this.lane.next++;
      if (this.subs.has(o.id)) return;
      this.subs.set(o.id, sid);
      for (const side of this.lane.sides) side.subscribe(side.fill(o.subj), sid, o.queue);
    } else {
      for (const side of this.lane.sides) side.unsubscribe(this.subs.get(o.id));
      this.subs.delete(o.id);
    }
    await Promise.all(this.lane.sides.map((s) => s.wire.ping()));
  }

  // Another client asks: the servers have read it before anybody asks for something else.
  async elsewhere(o, index) {
    await this.lane.client(o.by);
    const call = this.send(o, index);
    await Promise.all(this.lane.sides.map((s) => s.clients.get(o.by).ping()));
    return call;
  }

  async listen() {
    for (const side of this.lane.sides) side.listen(true);
    await Promise.all(this.lane.sides.map((s) => s.wire.ping()));
  }

  async leave(o, index) {
    const waiting = this.pulls.filter((c) => !c.left);
    if (!waiting.length) return;
    const call = waiting[o.i % waiting.length];
    call.left = true;
    await this.settle();
    this.deliveries(index);
    for (const side of this.lane.sides) side.unsubscribe(1000 + call.n);
    await Promise.all(this.lane.sides.flatMap((s) => [s.wire, ...s.clients.values()]).map((w) => w.ping()));
  }

  // --- answers ------------------------------------------------------------------------------------

  async answered(call) {
    const [a, b] = call.lists;
    const both = () => call.done(a) && call.done(b);
    if (both() || call.o.open || call.o.confirm === false || call.o.reply === false) return;
    if (await this.lane.until(both, SILENT)) return;
    // An answer on one side only: the other one is due, however busy the machine is.  Silence on both: that is the answer.
    if (call.done(a) !== call.done(b)) await this.lane.until(both, 4 * LATE);
    else if (!(await this.lane.until(() => call.done(a) || call.done(b), UNHEARD[call.o.op] ?? 50))) call.silent = true;
    else await this.lane.until(both, LATE);
  }

  // Acks without a reply wait in a queue of nats-server's: one behind it that says nothing, but is answered.
  async heard(o) {
    const n = ++this.lane.next;
    const lists = this.lane.sides.map((side) => {
      side.wire.publish(`$JS.ACK.${o.s}.${side.fill(o.c)}.1.999999999.0.1.0`, `_INBOX.c.${n}`, "", "+WPI");
      return side.slot(n);
    });
    await this.lane.until(() => lists.every((l) => l.length > 0), SILENT);
    for (const side of this.lane.sides) side.slots.delete(n);
  }

  judge(call) {
    const { o, index } = call;
    if (o.op === "pull" && call.silent && !o.open) this.pulls.push(call);
    if (call.silent || o.open || o.confirm === false || o.reply === false) {
      this.pending.push(call);
      return;
    }
    const answers = this.lane.sides.map((side, i) => {
      if (o.as) this.#bind(side, o, call.lists[i][0]);
      const messages = compareMessages(call.lists[i], side.normaliser, o).concat(call.more?.[i] ?? []);
      if (/^STREAM\.(CREATE|UPDATE)\./.test(o.subj)) beginning(messages[0]?.data);
      if (this.live && /^CONSUMER\.(CREATE|DURABLE|RESET)/.test(o.subj)) underWay(messages[0]?.data);
      if (side.names.size && o.body?.offset > 0 && /^CONSUMER\.(NAMES|LIST)/.test(o.subj)) someOf(messages[0]?.data);
      return messages;
    });
    call.lists.forEach((list, i) => (this.lane.sides[i].slots.delete(call.n), list));
    this.findings.answers(index, o, answers);
    this.#learn(o, answers);
  }

  #bind(side, o, message) {
    const name = message && /"name":"([0-9A-Za-z_]+)","created"/.exec(message.data)?.[1];
    if (!name) return;
    side.names.set(o.as, name);
    side.normaliser.bind(o.as, name);
  }

  // Which streams and consumers there are to be looked at.
  #learn(o, [a]) {
    if (o.op !== "api") return;
    const t = o.subj.split(".");
    const r = a[0]?.data;
    if (!r || r.error) return;
    if (/^STREAM\.(CREATE|UPDATE)\./.test(o.subj)) this.streams.add(r.config?.name);
    if (r.config?.mirror || r.config?.sources) this.copies.add(r.config.name);
    if (/^(interest|workqueue)$/.test(r.config?.retention)) this.fleeting.add(r.config.name);
    if (t[0] === "CONSUMER" && r.stream_name) this.consumers.set(`${r.stream_name} ${r.name}`, [r.stream_name, r.name]);
    if (o.subj.startsWith("CONSUMER.DELETE.")) this.consumers.delete(`${t[2]} ${t[3].replaceAll("%", "<").replace(/<$/, ">")}`);
    if (t[0] === "STREAM" && t[1] === "DELETE") {
      this.streams.delete(t[2]);
      this.copies.delete(t[2]);
      this.fleeting.delete(t[2]);
      for (const [k, [s]] of this.consumers) if (s === t[2]) this.consumers.delete(k);
    }
  }

  // --- looking at everything ------------------------------------------------------------------------

  async ask(requests) {
    const calls = requests.map(([subj, body]) => this.send({ op: "api", subj, body }, -1));
    for (const c of calls) await this.answered(c);
    return calls;
  }

  // Deliveries go on by themselves: waits until both servers have nothing more to deliver.
  async settle() {
    const end = Date.now() + LATE;
    const soon = Date.now() + GOING;
    for (let round = 0; ; round++) {
      const names = [...this.consumers.values()].map(([s, c]) => [s, c.replace(/^<(\w+)>$/, "%$1%")]);
      const calls = await this.ask(names.map(([s, c]) => [`CONSUMER.INFO.${s}.${c}`]));
      const infos = this.lane.sides.map((_, i) => calls.map((c) => parse(c.lists[i][0])));
      const busy = infos.some((list) => list.some(deliverable));
      const other = names.filter((k, i) => JSON.stringify(progress(infos[0][i], this.apart.has(k.join()))) !== JSON.stringify(progress(infos[1][i], this.apart.has(k.join()))));
      if (!other.length && this.#logsEqual() && (!busy || round > 6) && (Date.now() > soon || (await this.#leftAlike()))) break;
      if (Date.now() > end) {
        for (const k of other) this.apart.add(k.join());
        return false;
      }
      await new Promise((ok) => setTimeout(ok, Math.min(50, 1 << round)));
    }
    this.pulls = this.pulls.filter((c) => !c.done(c.lists[0]) || !c.done(c.lists[1]));
    return true;
  }

  // What goes without being asked for (no acks) goes a moment after it was delivered: here when that is on disk.
  async #leftAlike() {
    const calls = await this.ask([...this.fleeting].map((s) => [`STREAM.INFO.${s}`]));
    const [a, b] = this.lane.sides.map((_, i) => calls.map((c) => parse(c.lists[i][0])?.state?.messages).join());
    return a === b;
  }

  // Copies go on by themselves too: waits until they are alike, and moved, or did not move for some looks.  Where they
  // differ and a rule explains it, they are waited for once.  Then they are compared: a difference is seen where it begins.
  async follow(index) {
    const end = Date.now() + LATE;
    let calls;
    let last = "";
    for (let still = 0, round = 0; Date.now() < end; round++) {
      calls = await this.ask([...this.copies].map((s) => [`STREAM.INFO.${s}`, { deleted_details: true }]));
      const [a, b] = this.lane.sides.map((_, i) => JSON.stringify(calls.map((c) => reached(parse(c.lists[i][0])))));
      const both = a === b ? a : `${a} ${b}`;
      still = both === last ? still + 1 : 0;
      last = both;
      if (still >= 4 ? a === b || both === this.reached : still >= 1 && a === b && a !== this.reached) break;
      await new Promise((ok) => setTimeout(ok, Math.min(50, 4 << round)));
    }
    this.reached = last;
    for (const c of calls) if (!this.findings.over) this.findings.answers(index, { ...c.o, op: "check" }, c.lists.map((l, i) => compareMessages(l, this.lane.sides[i].normaliser, c.o)));
  }

  #logsEqual() {
    const [a, b] = this.lane.sides;
    for (const [sid, list] of a.subs) if (list.length !== b.subs.get(sid)?.length) return false;
    return a.advisories.length === b.advisories.length && told(a) === told(b);
  }

  // Each request and subscriber got as many messages as on the other server.
  #asMuch() {
    const [a, b] = this.lane.sides;
    const count = (list) => list?.filter((m) => m.reply).length;
    return [...a.subs].every(([sid, list]) => count(list) === count(b.subs.get(sid)));
  }

  async check(index, settled) {
    if (!settled) await this.settle();
    const list = [["STREAM.NAMES"]];
    for (const s of this.streams) list.push([`STREAM.INFO.${s}`, { subjects_filter: ">", deleted_details: true }], [`CONSUMER.LIST.${s}`]);
    list.push(["INFO"]);
    const end = Date.now() + LATE / 2;
    let calls;
    // What goes on by itself (expiry, redelivery, advisories) may be a moment behind on one side.
    for (let round = 0; ; round++) {
      calls = await this.ask(list);
      const texts = this.lane.sides.map((_, i) => calls.map((c) => c.lists[i].map((m) => blur(m.data, this.copies.size > 0)).join()).join());
      if ((texts[0] === texts[1] && this.#logsEqual()) || Date.now() > end) break;
      await new Promise((ok) => setTimeout(ok, Math.min(200, 5 << round)));
      if (round > 12) break;
    }
    // Where as much came on both, what came tells more than the numbers that follow from it.
    if (this.#logsEqual() && this.#asMuch()) this.deliveries(index);
    for (const c of calls) {
      if (this.findings.over) return;
      const answers = c.lists.map((l, i) => compareMessages(l, this.lane.sides[i].normaliser, c.o));
      this.#sum(answers[0][0]?.data);
      this.findings.answers(index, { ...c.o, op: "check", sums: this.sums }, answers);
    }
    if (!this.findings.over) this.deliveries(index);
  }

  // What the streams of this check hold together, for the account's own sum.
  #sum(r) {
    if (r?.streams !== undefined) this.sums = { file: 0, memory: 0 };
    if (r?.state && r.config) this.sums[r.config.storage] += r.state.bytes;
  }

  // Everything that came by itself since the last look.
  deliveries(index) {
    const [a, b] = this.lane.sides;
    for (const [sid, list] of a.subs) {
      const other = b.subs.get(sid) ?? [];
      const answers = [list.splice(0), other.splice(0)].map((l, i) => bySource(l.map((m) => this.lane.sides[i].normaliser.message(m, { json: false }))));
      this.findings.answers(index, { op: "deliveries", sid: sid > 1000 ? "pull" : "sub" }, answers);
      if (this.findings.over) return;
    }
    this.findings.answers(index, { op: "advisories" }, this.lane.sides.map((s) => advisories(s.advisories.splice(0), s.normaliser, s.sent)));
    if (a.asked && !this.findings.over) this.findings.answers(index, { op: "audits" }, this.lane.sides.map(audits));
  }

  // Answers to what seemed to be met with silence.
  leftovers() {
    for (const c of this.pending) {
      if (c.o.op === "pull" || this.findings.over) continue;
      const answers = c.lists.map((l, i) => compareMessages(l, this.lane.sides[i].normaliser, c.o));
      this.findings.answers(c.index, c.o, answers);
    }
  }

  async restart(o, index) {
    await this.check(index);
    if (this.findings.over) return;
    this.subs.clear();
    this.pulls = [];
    for (const s of this.lane.sides) s.subs.clear();
    await this.lane.pair.restart(o.how === "kill" ? "SIGKILL" : "SIGTERM");
    await this.lane.reopen();
    await this.check(index);
  }

  #deletions() {
    return this.lane.sides.map((side) => side.advisories.filter((m) => m.subject.includes(".STREAM.DELETED.")).length);
  }

  // Leaves the account empty for the next history.
  async clean() {
    for (const side of this.lane.sides) for (const sid of side.subs.keys()) side.wire.unsubscribe(sid);
    for (let round = 0; round < 20; round++) {
      const [names] = await this.ask([["STREAM.NAMES"]]);
      const lists = names.lists.map((l) => parse(l[0])?.streams ?? []);
      const all = new Set(lists.flat());
      if (!all.size) return;
      const told = this.#deletions();
      await this.ask([...all].map((s) => [`STREAM.DELETE.${s}`]));
      // What is told of it late would be the next history's.
      await this.lane.until(() => this.#deletions().every((n, i) => n >= told[i] + lists[i].length), LATE / 8);
    }
    throw new Error("the account cannot be emptied");
  }
}

// When the answer is complete.
const ENDS = {
  get: (o) => {
    const many = o.body && typeof o.body === "object" && (o.body.batch > 0 || o.body.multi_last);
    if (!many) return undefined;
    return (list) => list.length > 0 && /^NATS\/1\.0 \d/.test(list.at(-1).hdr);
  },
  pull: (o) => {
    const b = o.body && typeof o.body === "object" ? o.body : {};
    const batch = Number(typeof o.body === "string" && /^\d+$/.test(o.body) ? o.body : b.batch) || 1;
    return (list) => {
      const last = list.at(-1);
      if (!last) return false;
      if (/^NATS\/1\.0 [2345]/.test(last.hdr) && !last.reply) return true;
      return !b.max_bytes && list.filter((m) => m.reply).length >= batch;
    };
  },
  ack: (o) => (o.data?.startsWith("+NXT") ? (list) => list.length > 0 : undefined),
};

// A consumer that delivers while it answers: how far it is, is compared when it has settled.
function underWay(info) {
  for (const k of ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_waiting", "num_pending"]) if (info?.[k] !== undefined) info[k] = "<under way>";
  if (info?.priority_groups) info.priority_groups = info.priority_groups.map((g) => g.group);
}

// How far a copy is that begins or begins anew, is seen when it has followed.
function beginning(info) {
  if (info?.mirror) info.mirror = info.mirror.name;
  if (info?.sources) info.sources = info.sources.map((x) => x.name).sort();
}

// Names that a server made up stand anywhere in the order: which ones a page leaves out is chance.
function someOf(page) {
  if (page?.consumers) page.consumers = page.consumers.length;
}

// Two consumers may share a deliver subject: each has its order, the two have none.
function bySource(list) {
  const from = (m) => /^\$JS\.ACK\.([^.]+\.[^.]+)/.exec(m.reply ?? "")?.[1] ?? "";
  return new Set(list.map(from).filter(Boolean)).size < 2 ? list : list.sort((a, b) => (from(a) < from(b) ? -1 : from(a) > from(b) ? 1 : 0));
}

function parse(m) {
  try {
    return JSON.parse(m.data);
  } catch {
    return undefined;
  }
}

// Whether a consumer would go on delivering by itself.
function deliverable(info) {
  if (!info || info.error || info.paused || !info.num_pending) return false;
  const max = info.config.max_ack_pending;
  if (max > 0 && info.num_ack_pending >= max) return false;
  return info.num_waiting > 0 || info.push_bound === true;
}
// How far it is; apart: the places that a rule may have explained are not worth waiting for.
function progress(info, apart) {
  if (!info) return null;
  if (info.error) return info.error.err_code;
  const places = apart ? [] : [info.delivered.stream_seq, info.ack_floor.stream_seq];
  return [info.delivered.consumer_seq, ...places, info.num_ack_pending, info.num_pending, info.num_waiting, info.push_bound];
}
// How far a copy is.
function reached(info) {
  const { messages, first_seq, last_seq } = info?.state ?? {};
  return [messages, first_seq, last_seq, [info?.mirror, ...(info?.sources ?? [])].map((x) => x && JSON.stringify([x.name, x.lag, x.active >= 0, x.error?.err_code])).sort()];
}
// An answer without its times, to see whether looking again is worth it.  Where copies are, how many consumers there are differs (a row).
function blur(text, copies) {
  if (copies) text = text.replace(/"consumers":\d+/, "");
  return text.replace(/"\d{4}-\d\d-\d\dT[^"]*"|"total":\d+,"errors":\d+|"(name|consumers)":\["?[^,\]]*|"(pause_remaining|active)":\d+/g, "");
}
