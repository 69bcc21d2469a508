// requirements_test.mjs: requirements.mjs notices what it must, in a tree of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "requirements.mjs");
const top = mkdtempSync(path.join(tmpdir(), "mayfly-requirements-"));
const put = (name, text) => {
  mkdirSync(path.dirname(path.join(top, name)), { recursive: true });
  writeFileSync(path.join(top, name), text);
};
const table = () => readFileSync(path.join(top, "docs/reports/requirements.tsv"), "utf8");
const ids = [["R000", 89], ["R001", 17], ["R003", 35], ["R004", 20]]
  .flatMap(([s, n]) => Array.from({ length: n }, (_, i) => `${s}-${String(i + 1).padStart(2, "0")}`));

// A tree whose rows are met elsewhere, but for those given.
function tree(states = {}) {
  rmSync(top, { recursive: true, force: true });
  put("docs/reports/requirements.tsv", `# head\n${ids.map((id) => `${id}\ttext of ${id}\t${states[id] ?? "Elsewhere."}`).join("\n")}\n`);
  put("test/unit/test_a.c", "static void test_plain(void)\n{\n}\n");
  put("bench/b.mjs", "");
}

function run(...args) {
  const r = spawnSync(process.execPath, [script, ...args], { env: { ...process.env, REQUIREMENTS_TOP: top }, encoding: "utf8" });
  return { rc: r.status, out: `${r.stdout}${r.stderr}` };
}
function passes(...args) {
  const r = run(...args);
  assert.equal(r.rc, 0, r.out);
  return r.out;
}
function fails(want, ...args) {
  const r = run(...args);
  assert.equal(r.rc, 1, r.out);
  assert.match(r.out, want);
}

const tests = {
  "a written report passes the check"() {
    tree();
    passes();
    assert.match(passes("--check"), /161 requirements: 0 with tests, 161 met elsewhere, 0 open/);
  },
  "tests are found by name, in C and in scripts, and a name may hold two"() {
    tree({ "R000-01": "test", "R001-05": "test", "R004-20": "test" });
    put("test/unit/test_a.c", "static void test_R000_01_R001_05_fills(void)\n{\n}\n");
    put("test/interop/x.mjs", 'check("R004_20_nobody_cleans", () => {});\n');
    passes();
    assert.match(passes("--check"), /: 3 with tests/);
    assert.match(readFileSync(path.join(top, "docs/reports/requirements.md"), "utf8"), /R004-20 \| text of R004-20 \| `R004_20_nobody_cleans` \(test\/interop\/x.mjs\)/);
  },
  "a row without test or reason fails"() {
    tree({ "R000-07": "test" });
    fails(/R000-07 has no test: name one R000_07_/);
  },
  "an open row fails, unless open rows are allowed"() {
    tree({ "R000-07": "open" });
    passes();
    fails(/R000-07 is open/, "--check");
    assert.match(passes("--check", "--allow-open"), /, 1 open/);
  },
  "an open row with a test fails until the table says test"() {
    tree({ "R000-07": "open" });
    passes();
    put("test/unit/test_a.c", "static void test_R000_07_it_works(void)\n{\n}\n");
    fails(/R000-07 is listed as open but has a test/, "--check", "--allow-open");
    passes();
    assert.match(table(), /^R000-07\ttext of R000-07\ttest$/m);
    passes("--check");
  },
  "a test that goes makes its row fail, not open"() {
    tree({ "R000-07": "test" });
    fails(/R000-07 has no test/);
    assert.match(table(), /^R000-07\ttext of R000-07\ttest$/m);
  },
  "a test of a row that does not exist fails"() {
    tree();
    put("test/unit/test_a.c", "static void test_R002_01_typo(void)\n{\n}\n");
    fails(/there is no R002-01/);
  },
  "a stale report fails"() {
    tree();
    passes();
    put("docs/reports/requirements.md", "old");
    fails(/requirements.md is stale/, "--check");
  },
  "a missing, doubled or broken row fails"() {
    tree();
    put("docs/reports/requirements.tsv", table().replace(/^R003-03\t.*\n/m, ""));
    fails(/R003-04 where R003-03 is expected/);
    tree({ "R000-02": "" });
    fails(/R000-02: three columns are needed/);
  },
  "an unknown argument is refused"() {
    assert.equal(run("--chek").rc, 2);
  },
};

let failed = 0;
for (const [name, fn] of Object.entries(tests)) {
  try {
    fn();
    console.log(`ok requirements: ${name}`);
  } catch (e) {
    failed++;
    console.log(`not ok requirements: ${name}\n    ${e.message.split("\n").join("\n    ")}`);
  }
}
rmSync(top, { recursive: true, force: true });
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
