// tar.mjs: backups as nats-server up to 2.14 wrote them: its files, as a tar inside S2.  nats-server 2.15 reads them but
// writes another format, so they are made here from the folder of a server that was stopped.
import fs from "node:fs";
import path from "node:path";
import { framed } from "./archive.mjs";

const octal = (n, len) => n.toString(8).padStart(len - 1, "0") + "\0";

export function header(name, size, type) {
  const h = Buffer.alloc(512);
  const put = (text, at) => h.write(text, at, "latin1");
  put(name.slice(0, 100), 0);
  put(octal(0o600, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(1700000000, 12), 136);
  put(" ".repeat(8), 148);
  put(type, 156);
  put("ustar\x0000", 257);
  put("nats", 265);
  put("nats", 297);
  put(`${octal(h.reduce((a, b) => a + b, 0), 7)} `, 148);
  return h;
}
const padded = (data) => Buffer.concat([data, Buffer.alloc(-data.length & 511)]);
function record(key, value) {
  const rest = ` ${key}=${value}\n`;
  let n = rest.length + 1;
  while (`${n}${rest}`.length !== n) n = `${n}${rest}`.length;
  return `${n}${rest}`;
}

// files: [name, bytes]; each has an extended header before it, as Go's writer does it.
export function tar(files, { end = true, type = "0" } = {}) {
  const parts = files.flatMap(([name, bytes]) => {
    const data = Buffer.from(bytes);
    const pax = Buffer.from(record("mtime", "1700000000.123456789") + (name.length > 100 ? record("path", name) : ""));
    return [header(`PaxHeaders.0/${path.basename(name)}`, pax.length, "x"), padded(pax), header(name, data.length, type), padded(data)];
  });
  return Buffer.concat([...parts, Buffer.alloc(end ? 1024 : 0)]);
}

// The files of a stream, in the order nats-server wrote them.
export function streamFiles(dir) {
  const read = (name) => [name, fs.readFileSync(path.join(dir, name))];
  const number = (f) => Number(f.split(".")[0]);
  const blocks = fs.readdirSync(path.join(dir, "msgs")).filter((f) => f.endsWith(".blk")).sort((a, b) => number(a) - number(b));
  const files = [read("meta.inf"), read("meta.sum"), ...blocks.map((f) => read(`msgs/${f}`))];
  if (fs.existsSync(path.join(dir, "msgs/index.db"))) files.push(read("msgs/index.db"));
  const obs = path.join(dir, "obs");
  for (const name of fs.existsSync(obs) ? fs.readdirSync(obs).sort() : [])
    for (const f of ["meta.inf", "meta.sum", "o.dat"]) files.push(read(`obs/${name}/${f}`));
  return files;
}
export const backup = (files, options) => framed(tar(files, options));
