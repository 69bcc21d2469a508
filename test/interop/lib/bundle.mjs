// bundle.mjs: nats-core as one script for a browser.  The package ships CommonJS files; this wraps
// each of them in a function and gives them a require().
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(import.meta.url);

// A script that sets globalThis[NAME] to the exports of package NAME_OF_PACKAGE.
export function bundle(entry, name) {
  const modules = new Map();
  const main = add(require.resolve(entry), modules);
  const parts = [...modules.values()].map((m) => `${JSON.stringify(m.id)}: [${JSON.stringify(m.deps)}, function (module, exports, require) {\n${m.text}\n}]`);
  return `(() => {
const files = {\n${parts.join(",\n")}\n};
const loaded = {};
function load(id) {
  if (loaded[id]) return loaded[id].exports;
  const module = (loaded[id] = { exports: {} });
  const [deps, run] = files[id];
  run.call(module.exports, module, module.exports, (name) => deps[name] === undefined ? {} : load(deps[name]));
  return module.exports;
}
globalThis[${JSON.stringify(name)}] = load(${JSON.stringify(main)});
})();`;
}

function add(file, modules) {
  if (modules.has(file)) return modules.get(file).id;
  const m = { id: String(modules.size), deps: {}, text: fs.readFileSync(file, "utf8") };
  modules.set(file, m);
  const from = createRequire(file);
  for (const [, wanted] of m.text.matchAll(/\brequire\(["']([^"']+)["']\)/g)) {
    const found = from.resolve(wanted);
    if (path.isAbsolute(found)) m.deps[wanted] = add(found, modules); // Node's own modules stay out
  }
  return m.id;
}
