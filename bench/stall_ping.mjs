// stall_ping.mjs: the thread that pings: one PING after the other, a millisecond between them, each wait noted.
import net from "node:net";
import { parentPort, workerData } from "node:worker_threads";

const now = () => Number(process.hrtime.bigint()) / 1e6;
const waits = [];
let sent = 0, ended = false;
const socket = net.connect({ host: "127.0.0.1", port: workerData.port });
socket.setNoDelay(true);
const ping = () => {
  sent = now();
  socket.write("PING\r\n");
};
socket.on("data", (d) => {
  if (!d.includes("PONG")) return;
  waits.push(now() - sent);
  if (waits.length === 1) parentPort.postMessage("ready");
  if (ended) {
    parentPort.postMessage(waits.slice(1).sort((a, b) => a - b)); // the first one waited for the connection
    socket.destroy();
    parentPort.close();
  } else setTimeout(ping, 1);
});
socket.on("connect", () => {
  socket.write('CONNECT {"verbose":false,"protocol":1}\r\n');
  ping();
});
parentPort.on("message", () => (ended = true)); // after the PONG that is awaited
