// doc_tool.mjs [--write]: the tables of docs/tool.md beside the tool's own list of commands and flags.  Each row has its commands in the
// first cell and their flags in the second.  --write puts the flags of the tool beside MAYFLYD into the rows; commands are added by hand.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const page = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/tool.md");
const ROW = /^\| (`[^|]+`) \| ([^|]*)\|/gm;
const OWN = "check"; // reads its flags itself: they are not in the list

// { commands, common }: command -> flags, and the flags of all commands, from the completion of bash.
export function toolCommands(tool) {
  const said = spawnSync(tool, ["completion", "bash"], { encoding: "utf8" }).stdout;
  const list = (name) => new RegExp(`^${name}='([^']*)'`, "m").exec(said)[1];
  const flags = (text) => text.split(/[\s]+/).filter((f) => f.startsWith("--"));
  return {
    commands: new Map(list("_mayfly_list").split("\n").filter(Boolean).map((l) => l.split("|")).map(([name, rest]) => [name, flags(rest)])),
    common: flags(list("_mayfly_global")),
  };
}

const flagsIn = (text) => [...text.matchAll(/`(--[a-z-]+)`/g)].map((m) => m[1]);
const names = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map((m) => /^[a-z-]+(?: [a-z-]+)*/.exec(m[1])[0]);
const parts = (text) => text.split(/^(?=## (?:Commands|Flags of all commands|Exit codes)$)/m);

// The same as toolCommands(), as the page has it.
export function pageCommands(text = fs.readFileSync(page, "utf8")) {
  const [, tables, shared] = parts(text);
  const commands = new Map([...tables.matchAll(ROW)].flatMap(([, cell, flags]) => names(cell).map((n) => [n, flagsIn(flags)])));
  return { commands, common: [...shared.matchAll(/^\| (`[^|]*)\|/gm)].flatMap((m) => flagsIn(m[1])) };
}

// A list of differences in words; flags of `check` are not compared.
export function toolDifferences(tool) {
  const [real, shown] = [toolCommands(tool), pageCommands()];
  const bad = [];
  const compare = (what, want, got) => {
    for (const x of want) if (!got.includes(x)) bad.push(`${what}: the page lacks ${x}`);
    for (const x of got) if (!want.includes(x)) bad.push(`${what}: the tool has no ${x}`);
  };
  compare("commands", [...real.commands.keys()], [...shown.commands.keys()]);
  for (const [name, flags] of real.commands) if (name !== OWN && shown.commands.has(name)) compare(name, flags, shown.commands.get(name));
  compare("flags of all commands", real.common, shown.common);
  return bad;
}

function write(tool) {
  const { commands } = toolCommands(tool);
  const [head, tables, ...rest] = parts(fs.readFileSync(page, "utf8"));
  const filled = tables.replace(ROW, (row, cell) => {
    const flags = commands.get(names(cell)[0]);
    return !flags || names(cell)[0] === OWN ? row : `| ${cell} | ${flags.map((f) => `\`${f}\` `).join("")}|`;
  });
  fs.writeFileSync(page, [head, filled, ...rest].join(""));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tool = path.join(path.dirname(path.resolve(process.env.MAYFLYD ?? "build/mayflyd")), "mayfly");
  if (process.argv.includes("--write")) write(tool);
  const bad = toolDifferences(tool);
  for (const b of bad) console.log(b);
  process.exit(bad.length > 0 ? 1 : 0);
}
