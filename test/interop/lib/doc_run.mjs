// doc_run.mjs: runs the blocks of one section of a guide, in their order, against one server.
//
//   js      one module: all of them behind each other, unchanged, in a process of its own
//   sh      by sh; `nats` is nats_standin.mjs, or nats_standin.c after useC()
//   c       compiled against libnats and run
//   python  by python3; `nats` is the installed package, else a stand-in that speaks the protocol
//   text    what was printed since the last such block
//   json    the last answer that was printed, in shape
//   conf    was given to the server at its start (see ttl_examples.mjs)
import assert from "node:assert/strict";
import { execFile, fork } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sameShape, sameText, shown } from "./doc.mjs";
import { tool } from "./tool.mjs";
import { LIMIT_MS, until, within } from "./wait.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);

export class Section {
  constructor(t, server, blocks) {
    this.blocks = blocks;
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-doc-"));
    t.after(() => fs.rmSync(this.dir, { recursive: true, force: true }));
    fs.symlinkSync(path.resolve(here, "../node_modules"), path.join(this.dir, "node_modules"));
    fs.symlinkSync(path.join(here, "nats_standin.mjs"), path.join(this.dir, "nats"));
    fs.symlinkSync(tool, path.join(this.dir, "mayfly"));
    this.env = { ...process.env, NATS_URL: server.url, MONITOR_URL: server.http, PATH: `${this.dir}:${process.env.PATH}`, NATS_TIMEOUT: `${LIMIT_MS}ms` };
    this.printed = []; // since the last text block: { text, value }
  }

  print(text, value) {
    this.printed.push({ text, value });
  }

  printAll(stdout) {
    for (const l of stdout.split("\n").filter((x) => x !== "")) this.print(l);
  }

  async run() {
    if (!this.blocks.some((b) => b.lang === "js")) {
      for (const b of this.blocks) await this.step(b);
      return;
    }
    const file = path.join(this.dir, "section.mjs");
    fs.writeFileSync(file, this.blocks.map((b, i) => (b.lang === "js" ? `await $doc(${i});\n${b.text}` : `await $doc(${i});\n`)).join("") + "process.exit(0);\n");
    await within(`the section ${this.blocks[0].heading}`, this.child(file), 4 * LIMIT_MS);
  }

  child(file) {
    const p = fork(file, [], { env: this.env, execArgv: ["--import", path.join(here, "doc_child.mjs")], silent: true });
    let said = "";
    let done;
    let failed;
    p.stderr.on("data", (d) => (said += d));
    p.on("message", (m) => {
      if (m.printed !== undefined) return this.print(m.printed, m.value);
      this.step(this.blocks[m.step]).then(() => p.send({ go: true }), (e) => {
        failed = e;
        p.kill("SIGKILL");
      });
    });
    return new Promise((ok, bad) => {
      done = (code) => (failed ? bad(failed) : code === 0 ? ok() : bad(new Error(`the section ended with ${code}: ${said}`)));
      p.on("close", done);
    });
  }

  async step(b) {
    try {
      await this[`run_${b.lang}`](b);
    } catch (e) {
      e.message = `the block at line ${b.line} of the guide: ${e.message}`;
      throw e;
    }
  }

  run_js() {} // its module goes on
  run_conf() {}

  async run_sh(b) {
    this.asked = b;
    this.printed = [];
    const { stdout } = await run("sh", ["-eu", "-c", b.text], { env: this.env, cwd: this.dir, timeout: LIMIT_MS });
    this.printAll(stdout);
  }

  async compile(source, program) {
    await run(process.env.CC ?? "cc", ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lnats"], { timeout: LIMIT_MS });
  }

  // `nats` is a program that uses nats.c from now on.
  async useC() {
    fs.rmSync(path.join(this.dir, "nats"));
    await this.compile(path.join(here, "../c/nats_standin.c"), path.join(this.dir, "nats"));
  }

  async run_c(b, more = "") {
    const name = path.join(this.dir, `block${b.line}`);
    fs.writeFileSync(`${name}.c`, b.text + more);
    await this.compile(`${name}.c`, name);
    const { stdout } = await run(name, [], { env: this.env, timeout: LIMIT_MS });
    this.printAll(stdout);
  }

  async run_python(b, more = "") {
    const file = path.join(this.dir, `block${b.line}.py`);
    fs.writeFileSync(file, b.text + more);
    const found = await run("python3", ["-c", "import nats"]).then(() => true, () => false);
    const env = { ...this.env, ...(!found && { PYTHONPATH: path.join(here, "python") }) };
    const { stdout } = await run("python3", [file], { env, timeout: LIMIT_MS });
    this.printAll(stdout);
  }

  // What comes by events may come a little later.
  async run_text(b) {
    const got = () => this.printed.map((p) => p.text).join("\n");
    await until("what is shown", () => sameText(b.text, got())).catch(() => assert.equal(got(), b.text.trimEnd()));
    this.printed = [];
  }

  // The status of a job is asked for until it is as shown.
  async run_json(b) {
    const look = () => {
      const last = this.printed.at(-1);
      assert.ok(last, "nothing was printed before this answer");
      sameShape(shown(b.text), last.value ?? JSON.parse(last.text));
      return true;
    };
    if (this.asked?.text.includes('"action":"status"'))
      await until("the state that is shown", async () => {
        await this.run_sh(this.asked);
        try {
          return look();
        } catch {
          return false;
        }
      }).catch(look);
    else look();
    this.printed = [];
    this.asked = undefined;
  }
}
