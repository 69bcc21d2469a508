#!/usr/bin/env node
// nats_standin.mjs: `nats req [-H 'Name: value'] SUBJECT BODY` for examples, with nats.js; the answer's body is printed.
// As with the nats CLI the address is in NATS_URL.
import fs from "node:fs";
import { connect, headers } from "@nats-io/transport-node";

const words = process.argv.slice(2);
const h = headers();
if (words[1] === "-H") {
  const [, line] = words.splice(1, 2);
  h.set(...line.split(/:\s*/));
}
if (words[0] !== "req" || words.length !== 3) {
  process.stderr.write("usage: nats req [-H 'Name: value'] SUBJECT BODY\n");
  process.exit(2);
}
const nc = await connect({ servers: process.env.NATS_URL, reconnect: false });
fs.writeSync(1, `${(await nc.request(words[1], words[2], { headers: h, timeout: 60000 })).string()}\n`);
await nc.close();
