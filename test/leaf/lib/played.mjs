// played.mjs: a hub that the scenario plays: it says what it is told to, and nothing else.
import net from "node:net";
import { Raw } from "../../interop/lib/raw.mjs";
import { until } from "../../interop/lib/wait.mjs";

export class PlayedHub {
  static async open(t, { port = 0 } = {}) {
    const h = new PlayedHub();
    h.links = [];
    h.taken = 0;
    h.listener = net.createServer({ noDelay: true, allowHalfOpen: true }, (s) => {
      const r = new Raw();
      r.attach(s);
      h.links.push(r);
    });
    await new Promise((ok, bad) => h.listener.once("error", bad).listen(port, "127.0.0.1", ok));
    h.port = h.listener.address().port;
    t.after(() => {
      for (const l of h.links) l.close();
      return new Promise((ok) => h.listener.close(ok));
    });
    return h;
  }

  info(more = {}) {
    return `INFO ${JSON.stringify({ server_id: "NPLAYED", server_name: "PLAYED", version: "2.15.1", proto: 1, headers: true, max_payload: 1048576, client_id: 7, nonce: "abcdefghijklmno", info_on_connect: true, leafnode_urls: [`127.0.0.1:${this.port}`], ...more })} `;
  }
  answer(more = {}) {
    return this.info({ nonce: undefined, connect_info: true, remote_account: "ACC", ...more });
  }

  // The next connection that was not taken yet.
  async next() {
    await until("a server to dial", () => this.links.length > this.taken);
    return this.links[this.taken++];
  }
  // The same, with the whole handshake; first and second: more of each INFO.
  async link({ first, second } = {}) {
    const r = await this.next();
    r.send(this.info(first));
    r.connect = JSON.parse((await r.expect(/CONNECT ({.*})\r\n/))[1]);
    r.send(this.answer(second));
    return r;
  }
}
