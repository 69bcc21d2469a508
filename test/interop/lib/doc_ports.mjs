// doc_ports.mjs: the ports of a page on a machine without network namespaces.  Each port that the page names, and the defaults,
// is moved to a free one inside of the page's programs (c/doc_ports.c), so commands and output stay as they stand on the page.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const DEFAULTS = ["4222", "8222", "6379"];
const NAMED = /(?:127\.0\.0\.1|localhost|\*|\s-[pm]|--port) ?:?(\d{4,5})\b/g;

// Free ports, held until all are chosen so that no two are equal.
async function freePorts(count) {
  const held = await Promise.all(Array.from({ length: count }, () => new Promise((ok, bad) => {
    const s = net.createServer().on("error", bad).listen(0, "127.0.0.1", () => ok(s));
  })));
  const ports = held.map((s) => s.address().port);
  await Promise.all(held.map((s) => new Promise((ok) => s.close(ok))));
  return ports;
}

// A program in Go does not use the C library: its ports are moved in its arguments.
const goWrapper = (program, moved) => `#!/bin/bash
declare -A to=(${[...moved].map(([f, t]) => `[${f}]=${t}`).join(" ")})
args=()
for a in "$@"; do args+=("\${to[$a]:-$a}"); done
exec ${program} "\${args[@]}"
`;

// movePorts(DIR, TEXT, ENV): { env, real }: the environment of the page's programs, and the port behind one of the page.
export async function movePorts(dir, text, env) {
  const named = [...new Set([...DEFAULTS, ...[...text.matchAll(NAMED)].map((m) => m[1])])];
  const free = await freePorts(named.length);
  const moved = new Map(named.map((p, i) => [p, free[i]]));
  const library = path.join(dir, ".bin/doc_ports.so");
  execFileSync(process.env.CC ?? "cc", ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, path.join(here, "../c/doc_ports.c"), "-ldl"]);
  const go = path.join(dir, ".bin/nats-server");
  if (fs.existsSync(go)) {
    const program = fs.realpathSync(go);
    fs.rmSync(go);
    fs.writeFileSync(go, goWrapper(program, moved), { mode: 0o755 });
  }
  return {
    env: {
      ...env,
      LD_PRELOAD: library,
      DOC_PORTS: [...moved].map(([f, t]) => `${f}=${t}`).join(","),
      ASAN_OPTIONS: [env.ASAN_OPTIONS, "verify_asan_link_order=0"].filter(Boolean).join(":"),
    },
    real: (port) => moved.get(String(port)) ?? port,
  };
}
