// raw.mjs: a NATS client that speaks exactly the bytes a scenario writes.
import net from "node:net";
import tls from "node:tls";
import { until } from "./wait.mjs";

export class Raw {
  // tls: options for a TLS socket from the first byte on.
  static async open(port, options = {}) {
    const r = new Raw();
    const at = { host: "127.0.0.1", port, localAddress: options.localAddress };
    r.attach(options.tls ? tls.connect({ ...at, ...options.tls }) : net.connect(at));
    if (!options.silent) r.info = JSON.parse((await r.expect(/^INFO ({.*}) ?\r\n/))[1]);
    return r;
  }

  attach(socket) {
    this.socket = socket;
    this.buf ??= "";
    this.ended = false;
    socket.on("data", (d) => this.take(d.toString("latin1")));
    socket.on("error", (e) => (this.error = e));
    socket.on("close", () => (this.ended = true));
  }

  // The server's own PINGs, the first two seconds after CONNECT, are left out unless `pings` is set.
  take(text) {
    this.buf += text;
    if (!this.pings) this.buf = this.buf.replace(/(^|\n)PING\r\n/g, "$1");
  }

  // Continues on the same socket with TLS, as clients do after INFO.
  async upgrade(options) {
    const plain = this.socket;
    plain.removeAllListeners("data");
    plain.removeAllListeners("close");
    const secure = tls.connect({ socket: plain, ...options });
    this.attach(secure);
    await new Promise((ok, bad) => {
      secure.once("secureConnect", ok);
      secure.once("error", bad);
      secure.once("close", () => bad(new Error("closed in the handshake")));
    });
  }

  send(...lines) {
    this.socket.write(lines.map((l) => l + "\r\n").join(""), "latin1");
  }
  sendBytes(text) {
    this.socket.write(text, "latin1");
  }

  // CONNECT and a round trip.
  async connect(options = {}) {
    this.send(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, protocol: 1, ...options })}`);
    await this.ping();
    return this;
  }

  // Waits for pattern, consumes up to its end, returns the match.
  async expect(pattern, ms) {
    const m = await until(`${pattern}`, () => {
      const hit = this.buf.match(pattern);
      if (!hit && this.ended)
        throw new Error(`closed while waiting for ${pattern}; had: ${JSON.stringify(this.buf.slice(-400))}`);
      return hit;
    }, ms).catch((e) => {
      throw new Error(`${e.message}; had: ${JSON.stringify(this.buf.slice(-400))}`);
    });
    this.buf = this.buf.slice(m.index + m[0].length);
    return m;
  }

  // Everything up to a PONG: after it, all that was sent before has been handled.
  async ping() {
    this.send("PING");
    const m = await this.expect(/^([^]*?)PONG\r\n/);
    return m[1];
  }

  // Waits for the end and returns what came before it.
  async closed(ms) {
    await until("the connection to close", () => this.ended, ms);
    return this.buf;
  }

  close() {
    this.socket.destroy();
  }
}
