// ports.mjs: free ports below those that the kernel hands out by itself, so that none of them is taken meanwhile.
import net from "node:net";

const FIRST = 12000;
const COUNT = 18000;
const given = new Set();

const free = (port) =>
  new Promise((ok) => {
    const s = net.createServer().on("error", () => ok(false));
    s.listen(port, "127.0.0.1", () => s.close(() => ok(true)));
  });

export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port)) continue;
    given.add(port);
    if (await free(port)) return port;
  }
}
