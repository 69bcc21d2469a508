#!/usr/bin/env node
// nats_standin.mjs: `nats req SUBJECT BODY` and `nats pub SUBJECT BODY` for examples; the answer's body is printed.
// As the nats CLI: the address is in NATS_URL, -H 'Name: value' adds a header.
import fs from "node:fs";
import { connect, headers } from "@nats-io/transport-node";

const [verb, ...rest] = process.argv.slice(2);
const h = headers();
const words = [];
for (let i = 0; i < rest.length; i++) {
  if (rest[i] !== "-H") words.push(rest[i]);
  else {
    const [name, value] = rest[++i].split(/:\s*/);
    h.set(name, value);
  }
}
if (!["req", "pub"].includes(verb) || words.length !== 2) {
  process.stderr.write("usage: nats req|pub [-H 'Name: value'] SUBJECT BODY\n");
  process.exit(2);
}
const nc = await connect({ servers: process.env.NATS_URL.replace(/^\w+:\/\//, ""), reconnect: false });
if (verb === "pub") nc.publish(words[0], words[1], { headers: h });
else fs.writeSync(1, `${(await nc.request(words[0], words[1], { headers: h, timeout: 60000 })).string()}\n`);
await nc.drain();
