// proxy.mjs: a TCP proxy between the two ends of a leaf link.  It keeps each frame of both directions, and it can cut the link, swallow what
// is sent, or be slow.  up: from the dialling end to the accepting end; down: the other way.
import net from "node:net";
import { until } from "../../interop/lib/wait.mjs";
import { Frames } from "./frames.mjs";
import { freePort } from "./ports.mjs";

export class Proxy {
  // opaque: the bytes are not frames (TLS, compression).
  static async open(to, { opaque = false } = {}) {
    const p = new Proxy();
    Object.assign(p, { to, opaque, links: [], swallowing: false, delayMs: 0 });
    p.port = await freePort();
    await p.restore();
    return p;
  }

  async restore() {
    this.listener = net.createServer({ noDelay: true }, (s) => this.#accept(s));
    await new Promise((ok, bad) => this.listener.once("error", bad).listen(this.port, "127.0.0.1", ok));
  }

  #accept(dialler) {
    const acceptor = net.connect({ host: "127.0.0.1", port: this.to, noDelay: true });
    const link = { dialler, acceptor, up: new Frames(), down: new Frames(), bytes: { up: 0, down: 0 }, open: true };
    this.links.push(link);
    this.#pipe(link, dialler, acceptor, "up");
    this.#pipe(link, acceptor, dialler, "down");
  }

  #pipe(link, from, to, way) {
    const end = () => {
      link.open = false;
      from.destroy();
      to.destroy();
    };
    from.on("error", () => {});
    from.on("close", end);
    from.on("data", (d) => {
      link.bytes[way] += d.length;
      if (!this.opaque) link[way].push(d);
      if (this.swallowing) return;
      if (this.delayMs) setTimeout(() => to.writable && to.write(d), this.delayMs);
      else if (to.writable) to.write(d);
    });
  }

  // Nothing comes through and nobody can dial, until restore().
  async cut() {
    const closed = new Promise((ok) => this.listener.close(ok));
    for (const l of this.links) {
      l.dialler.destroy();
      l.acceptor.destroy();
    }
    await closed;
  }
  // The connections end; the next one may come at once.
  drop() {
    for (const l of this.links) {
      l.dialler.destroy();
      l.acceptor.destroy();
    }
  }
  async close() {
    if (this.listener.listening) await this.cut();
  }

  get alive() {
    return this.links.filter((l) => l.open);
  }
  // All frames of one way, of all connections in their order.
  frames(way) {
    return this.links.flatMap((l) => l[way].list);
  }
  // Lines of one way that match.
  lines(way, pattern) {
    return this.frames(way).map((f) => f.line).filter((l) => pattern.test(l));
  }
  seen(way, pattern, what = `${way} ${pattern}`) {
    return until(what, () => this.frames(way).find((f) => pattern.test(f.line))).catch((e) => {
      const all = this.frames(way).map((f) => f.line.slice(0, 120));
      throw new Error(`${e.message}; ${way} had ${all.length} frames, the last: ${JSON.stringify(all.slice(-12))}`);
    });
  }
}
