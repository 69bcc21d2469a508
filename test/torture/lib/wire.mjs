// wire.mjs: a NATS client on a raw socket: pipelined requests, each with its own answer, and no retries of its own.
import net from "node:net";
import { LIMIT_MS, after } from "./awake.mjs";

export class Wire {
  // name: unique among the clients of a server, part of the reply subjects.
  static open(port, name, ms = LIMIT_MS) {
    return new Promise((ok, bad) => {
      const w = new Wire(name);
      w.socket = net.connect({ host: "127.0.0.1", port });
      w.socket.setNoDelay(true);
      const done = after(ms, () => w.socket.destroy(new Error(`no PONG in ${ms} ms`)));
      w.socket.on("data", (d) => w.#take(d));
      w.socket.on("error", (e) => (w.error = e));
      w.socket.on("close", () => {
        done();
        w.closed = true;
        for (const f of w.waiting.values()) f(null);
        w.waiting.clear();
        w.pongs.splice(0).forEach((f) => f(false));
        bad(w.error ?? new Error(`closed: ${w.said ?? "no word"}`));
      });
      w.pongs.push((well) => {
        done();
        if (well) ok(w);
      });
      w.write('CONNECT {"verbose":false,"headers":true,"no_responders":true,"protocol":1}\r\n' + `SUB _R.${name}.* 1\r\nPING\r\n`);
    });
  }

  constructor(name) {
    this.name = name;
    this.waiting = new Map(); // number of a request: function of its answer, null when the connection ended
    this.pongs = []; // who waits for one, in order
    this.subs = new Map(); // sid: function of a message
    this.next = 1;
    this.sid = 1;
    this.rest = Buffer.alloc(0);
    this.out = [];
  }

  // What is written in one turn goes out as one piece.
  write(data) {
    if (this.out.push(data) === 1)
      queueMicrotask(() => {
        const all = this.out.map((x) => (typeof x === "string" ? Buffer.from(x, "latin1") : x));
        this.out = [];
        if (!this.closed) this.socket.write(all.length === 1 ? all[0] : Buffer.concat(all));
      });
  }

  publish(subject, body = "", header = null, reply = "") {
    const b = Buffer.isBuffer(body) ? body : Buffer.from(body, "latin1");
    if (header === null) this.write(`PUB ${subject} ${reply} ${b.length}\r\n`);
    else {
      const h = `NATS/1.0\r\n${header.map((l) => `${l}\r\n`).join("")}\r\n`;
      this.write(`HPUB ${subject} ${reply} ${h.length} ${h.length + b.length}\r\n${h}`);
    }
    this.write(b);
    this.write("\r\n");
  }

  // done(MESSAGE or null): called once.
  ask(subject, body, header, done) {
    if (this.closed) return done(null);
    const n = this.next++;
    done.subject = subject;
    this.waiting.set(String(n), done);
    this.publish(subject, body, header, `_R.${this.name}.${n}`);
  }
  // The answer, or null when there is none within `ms` or the connection ended.
  request(subject, body = "", header = null, ms = LIMIT_MS) {
    return new Promise((ok) => {
      const done = after(ms, () => ok(null));
      this.ask(subject, body, header, (m) => {
        done();
        ok(m);
      });
    });
  }
  // The same of JetStream's API: the parsed document, or null.
  async api(op, body = "", ms = LIMIT_MS) {
    const m = await this.request(`$JS.API.${op}`, typeof body === "string" ? body : JSON.stringify(body), null, ms);
    if (m === null) return null;
    return m.status ? { error: { code: m.status, description: "no responders" } } : JSON.parse(m.text());
  }

  subscribe(subject, take, group = "") {
    const sid = String(++this.sid);
    this.subs.set(sid, take);
    this.write(`SUB ${subject} ${group} ${sid}\r\n`);
    return sid;
  }
  unsubscribe(sid) {
    this.subs.delete(sid);
    this.write(`UNSUB ${sid}\r\n`);
  }

  // True when all that was sent before was worked off and what it brought is here; false when that takes longer than `ms`.
  flush(ms = LIMIT_MS) {
    return new Promise((ok) => {
      if (this.closed) return ok(false);
      const done = after(ms, () => ok(false));
      this.pongs.push((well) => {
        done();
        ok(well);
      });
      this.write("PING\r\n");
    });
  }

  close() {
    this.socket.destroy();
  }

  #take(data) {
    let b = this.rest.length ? Buffer.concat([this.rest, data]) : data;
    let at = 0;
    for (;;) {
      const eol = b.indexOf(10, at);
      if (eol < 0) break;
      const line = b.latin1Slice(at, eol - 1);
      const c = b[at];
      if (c === 77 || c === 72) {
        // MSG subject sid [reply] total, HMSG subject sid [reply] header total
        const f = line.split(" ");
        const total = Number(f.at(-1));
        const end = eol + 1 + total;
        if (b.length < end + 2) break;
        const head = c === 72 ? Number(f.at(-2)) : 0;
        const reply = f.length === (c === 72 ? 6 : 5) ? f[3] : "";
        this.#message(f[1], f[2], reply, b.subarray(eol + 1, eol + 1 + head), b.subarray(eol + 1 + head, end));
        at = end + 2;
        continue;
      }
      at = eol + 1;
      if (line === "PING") this.write("PONG\r\n");
      else if (line === "PONG") this.pongs.shift()?.(true);
      else if (line.startsWith("-ERR")) this.said = line;
    }
    this.rest = at < b.length ? Buffer.from(b.subarray(at)) : Buffer.alloc(0);
  }

  #message(subject, sid, reply, head, body) {
    const m = new Message(subject, reply, head, body);
    if (sid !== "1") return this.subs.get(sid)?.(m);
    const n = subject.slice(subject.lastIndexOf(".") + 1);
    const done = this.waiting.get(n);
    this.waiting.delete(n);
    done?.(m);
  }
}

class Message {
  constructor(subject, reply, head, body) {
    this.subject = subject;
    this.reply = reply;
    this.head = head.latin1Slice();
    this.body = Buffer.from(body); // the buffer of the socket is used again
    this.status = Number(this.head.match(/^NATS\/1\.0 (\d+)/)?.[1] ?? 0);
  }
  header(name) {
    const i = this.head.indexOf(`\r\n${name}: `);
    return i < 0 ? undefined : this.head.slice(i + name.length + 4, this.head.indexOf("\r\n", i + 2));
  }
  text() {
    return this.body.latin1Slice();
  }
}
