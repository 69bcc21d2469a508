// ping_thread.mjs: the thread that pings: one PING after the other, a millisecond between them (see pinger.mjs).
import fs from "node:fs";
import net from "node:net";
import { parentPort, workerData } from "node:worker_threads";

const now = () => Number(process.hrtime.bigint()) / 1e6;
const stat = fs.openSync(`/proc/${workerData.pid}/task/${workerData.pid}/schedstat`, "r");
const line = Buffer.alloc(100);
const ran = () => Number(line.toString("latin1", 0, fs.readSync(stat, line, 0, 100, 0)).split(" ")[0]) / 1e6;
let waits = [], cpu = [];
let sent = 0, before = 0, ready = false, asked = false;
const socket = net.connect({ host: "127.0.0.1", port: workerData.port });
socket.setNoDelay(true);
const ping = () => {
  before = ran();
  sent = now();
  socket.write("PING\r\n");
};
const byNumber = (a, b) => a - b;
socket.on("data", (d) => {
  if (!d.includes("PONG")) return;
  if (ready) {
    waits.push(now() - sent);
    cpu.push(ran() - before);
  } else parentPort.postMessage("ready"); // the first one waited for the connection
  ready = true;
  if (asked) {
    parentPort.postMessage({ waits: waits.sort(byNumber), cpu: cpu.sort(byNumber) });
    waits = [];
    cpu = [];
    asked = false;
  }
  setTimeout(ping, 1);
});
socket.on("error", () => parentPort.close()); // the server went: who asks is told by its end
socket.on("connect", () => {
  socket.write('CONNECT {"verbose":false,"protocol":1}\r\n');
  ping();
});
parentPort.on("message", () => (asked = true)); // answered with the PONG that is awaited
