// wire.mjs: a NATS connection for many small requests: writes are gathered, messages go to the log of
// their subscription.
import net from "node:net";

const HEAD = { verbose: false, pedantic: false, protocol: 1, headers: true, no_responders: true, echo: true };

export class Wire {
  // onData is called after each piece that came in, when its messages have been handed out.
  constructor(onData) {
    this.onData = onData;
    this.logs = new Map(); // sid -> function(message)
    this.pongs = [];
    this.out = "";
    this.rest = null;
    this.errors = [];
    this.ended = true;
  }

  async open(port, user) {
    this.socket = net.connect({ host: "127.0.0.1", port });
    this.socket.setNoDelay(true);
    this.socket.on("data", (d) => this.#take(d));
    this.socket.on("error", (e) => this.errors.push(String(e)));
    this.socket.on("close", () => {
      this.ended = true;
      for (const p of this.pongs.splice(0)) p();
      this.onData();
    });
    await new Promise((ok, bad) => {
      this.socket.once("connect", ok);
      this.socket.once("error", bad);
    });
    this.ended = false;
    this.rest = null;
    this.write(`CONNECT ${JSON.stringify({ ...HEAD, user, pass: "x" })}\r\n`);
    await this.ping();
    if (this.ended) throw new Error(`no connection as ${user}: ${this.errors}`);
  }

  close() {
    this.socket?.destroy();
  }

  write(text) {
    if (this.out === "") queueMicrotask(() => this.flush());
    this.out += text;
  }
  flush() {
    const text = this.out;
    this.out = "";
    if (text && !this.ended) this.socket.write(text, "latin1");
  }

  // What was written before has been read by the server when this resolves.
  ping() {
    this.write("PING\r\n");
    return new Promise((ok) => (this.ended ? ok() : this.pongs.push(ok)));
  }

  publish(subject, reply, hdr, data) {
    const to = reply ? `${subject} ${reply}` : subject;
    if (hdr) this.write(`HPUB ${to} ${hdr.length} ${hdr.length + data.length}\r\n${hdr}${data}\r\n`);
    else this.write(`PUB ${to} ${data.length}\r\n${data}\r\n`);
  }

  subscribe(subject, sid, take, queue = "") {
    this.logs.set(sid, take);
    this.write(`SUB ${subject} ${queue && queue + " "}${sid}\r\n`);
  }
  unsubscribe(sid) {
    if (this.logs.delete(sid)) this.write(`UNSUB ${sid}\r\n`);
  }

  #take(chunk) {
    let buf = this.rest ? Buffer.concat([this.rest, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const end = buf.indexOf(10, at);
      if (end < 0) break;
      const first = buf[at];
      if (first === 77 || first === 72) {
        // MSG subject sid [reply] size, HMSG subject sid [reply] head size
        const words = buf.latin1Slice(at, end - 1).split(" ");
        const head = first === 72 ? Number(words[words.length - 2]) : 0;
        const size = Number(words[words.length - 1]);
        const body = end + 1;
        if (buf.length < body + size + 2) break;
        const fixed = first === 72 ? 5 : 4;
        const message = {
          subject: words[1],
          reply: words.length > fixed ? words[3] : "",
          hdr: head ? buf.latin1Slice(body, body + head) : "",
          data: buf.latin1Slice(body + head, body + size),
        };
        at = body + size + 2;
        this.logs.get(Number(words[2]))?.(message);
        continue;
      }
      if (first === 80) {
        if (buf[at + 1] === 79) this.pongs.shift()?.();
        else this.write("PONG\r\n");
      } else if (first === 45) this.errors.push(buf.latin1Slice(at, end - 1));
      at = end + 1;
    }
    this.rest = at < buf.length ? buf.subarray(at) : null;
    this.onData();
  }
}
