// dials.mjs: what went over each connection that a client dialled, for a client that does not come back: was the
// server silent, or did the client stop dialling?
import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";

const KEPT = 40; // lines of one client
const WORDS = 6; // of one connection: INFO, CONNECT, PING, PONG, SUB; what comes later is of no use here
const owner = new AsyncLocalStorage(); // sockets belong to whoever was running when the client was made

diagnostics.subscribe("net.client.socket", ({ socket }) => owner.getStore()?.watch(socket));

const start = (bytes) => Buffer.from(bytes).toString("latin1", 0, 60).split("\r\n")[0].slice(0, 40);

// One client's connections.  Run connect() in run(), so that all its dials, the later ones too, are seen.
export class Dials {
  lines = [];
  count = 0;
  stalls = []; // when the client stood still after a login that broke off: { ms, trace }
  run(fn) {
    return owner.run(this, fn);
  }
  #note(text) {
    this.lines.push(`${new Date().toISOString().slice(14, 23)} ${text}`);
    if (this.lines.length > KEPT) this.lines.shift();
  }
  // nats.js takes all listeners off its sockets, so the events are seen where they are made.
  watch(socket) {
    const n = ++this.count;
    const ms = Date.now() - (this.brokeOff ?? Date.now());
    if (ms > 1000) this.stalls.push({ ms, trace: this.lines.slice(-14) });
    this.brokeOff = undefined;
    const last = (this.last = { open: false, told: false, gaveUp: false, words: 0 });
    const word = (who, bytes) => {
      if (bytes.length === 0 || last.words++ >= WORDS) return;
      if (who === "server" && /(^|\n)PONG\r\n/.test(Buffer.from(bytes).toString("latin1"))) last.told = true;
      this.#note(`${n} ${who}: ${start(bytes)}`);
    };
    const { emit, write, destroy } = socket;
    const seen = {
      connect: () => {
        last.open = true;
        socket.write = (bytes, ...rest) => { // only now: connect() takes such a thing back
          word("client", bytes);
          return write.call(socket, bytes, ...rest);
        };
      },
      end: () => (last.open = false),
      close: () => {
        if (last.words > 0 && !last.told && !last.gaveUp) this.brokeOff = Date.now();
        last.open = false;
      },
    };
    socket.emit = (event, ...rest) => {
      if (event === "data") word("server", rest[0]);
      else if (event in seen || event === "error") this.#note(`${n} ${event} ${rest[0]?.code ?? ""}`);
      seen[event]?.();
      return emit.call(socket, event, ...rest);
    };
    // With an error: the other side's.
    socket.destroy = (error, ...rest) => {
      if (last.open && !error) {
        this.#note(`${n} the client gives it up`);
        last.gaveUp = !last.told;
      }
      last.open = false;
      return destroy.call(socket, error, ...rest);
    };
  }
  // The server took the last connection and did not answer on it.
  silent() {
    return this.last !== undefined && !this.last.told && (this.last.open || this.last.gaveUp);
  }
}
