// frames.mjs: bytes of a leaf link as frames: { verb, args, line, json, payload, at }.
const PAYLOAD = /^(LMSG|HMSG|PUB|HPUB)$/i;

export class Frames {
  constructor() {
    this.list = [];
    this.rest = Buffer.alloc(0);
  }

  push(bytes) {
    this.rest = this.rest.length ? Buffer.concat([this.rest, bytes]) : Buffer.from(bytes);
    while (this.#one());
  }

  // Takes one frame off the bytes; false: it is incomplete.
  #one() {
    const end = this.rest.indexOf("\r\n");
    if (end < 0) return false;
    const line = this.rest.subarray(0, end).toString("latin1");
    const [verb, ...args] = line.trim().split(/\s+/);
    const frame = { verb: verb.toUpperCase(), args, line: line.trimEnd(), at: Date.now() };
    let used = end + 2;
    if (PAYLOAD.test(verb)) {
      const size = Number(args.at(-1));
      if (this.rest.length < used + size + 2) return false;
      frame.payload = this.rest.subarray(used, used + size).toString("latin1");
      used += size + 2;
    }
    if (frame.verb === "INFO" || frame.verb === "CONNECT") frame.json = JSON.parse(line.slice(line.indexOf("{")));
    this.rest = this.rest.subarray(used);
    this.list.push(frame);
    return true;
  }
}
