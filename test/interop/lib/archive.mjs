// archive.mjs: writes a stream's snapshot by hand, in nats-server's format, to hold what no publish could store.

// { config, state, bytes } for restore() of messages { subject, seq, time (ms) or ns (BigInt), hdr, data }.
export function archive(config, messages) {
  const iso = (ms) => new Date(ms ?? 0).toISOString();
  const [first, last] = [messages[0], messages.at(-1)];
  const state = { messages: messages.length, bytes: 0, first_seq: first.seq, first_ts: iso(first.time), last_seq: last.seq, last_ts: iso(last.time), consumer_count: 0 };
  const entries = messages.map((m) => entry(m.subject, m.ns ?? BigInt(m.time) * 1_000_000n, m.seq, m.hdr ?? "", m.data ?? ""));
  const plain = Buffer.concat([Buffer.from("NATSARC1"), entry("state.json", BigInt(last.time ?? 0) * 1_000_000n, 0, "", JSON.stringify(state)), ...entries, Buffer.alloc(5)]);
  return { config, state, bytes: framed(plain) };
}

// Bytes as an S2 stream that compresses nothing.
export function framed(plain) {
  const chunks = [];
  for (let i = 0; i < plain.length; i += 65536) chunks.push(chunk(plain.subarray(i, i + 65536)));
  return Buffer.concat([Buffer.from("\xff\x06\0\0S2sTwO", "latin1"), ...chunks]);
}

function entry(name, ns, seq, hdr, data) {
  const head = [varint(BigInt(name.length)), varint(BigInt.asUintN(64, (ns << 1n) ^ (ns >> 63n))), varint(BigInt(seq)), varint(BigInt(hdr.length)), varint(BigInt(data.length))];
  return Buffer.concat([...head, Buffer.from(name + hdr + data, "latin1")]);
}

export function varint(n) {
  const out = [];
  for (; n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return Buffer.from([...out, Number(n)]);
}

// An S2 chunk that is not compressed: type 1, length, masked CRC-32C, bytes.  packed: the same bytes as a block, type 0.
function chunk(data, packed) {
  const head = Buffer.alloc(8);
  head[0] = packed ? 0 : 1;
  head.writeUIntLE((packed ?? data).length + 4, 1, 3);
  const crc = crc32c(data);
  head.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0, 4);
  return Buffer.concat([head, packed ?? data]);
}

// A chunk of 18 bytes that unpacks to 4 MiB of zeros, the largest there may be: one zero, 64 of what was before it, and
// a repetition of that.
let bomb;
export const ZEROS = 4 << 20;
export function zeros() {
  const repeat = Buffer.from([0x1d, 0, 0, 0, 0]);
  repeat.writeUIntLE(ZEROS - 65 - 65540, 2, 3);
  bomb ??= chunk(Buffer.alloc(ZEROS), Buffer.concat([varint(BigInt(ZEROS)), Buffer.from([0, 0, 63 << 2 | 2, 1, 0]), repeat]));
  return bomb;
}

function crc32c(data) {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
