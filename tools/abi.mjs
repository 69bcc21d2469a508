#!/usr/bin/env node
// abi.mjs BUILD [--write]: what programs that are linked with libmayfly rely on, compared with src/mayfly.abi.
//
// The file has the soname, the exported symbols, the declarations of include/mayfly.h, and the size, offsets and
// values behind them.  A line that is new needs nothing but --write.  A line that changes or disappears breaks programs
// linked before: the soname in src/local.mk has to rise with it.  Ends with `N passed, N failed`.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const top = join(dirname(fileURLToPath(import.meta.url)), '..')
const [build, flag] = process.argv.slice(2)
if (!build || (flag && flag !== '--write')) {
  console.error('usage: tools/abi.mjs BUILD [--write]')
  process.exit(2)
}
const file = join(top, 'src/mayfly.abi')
const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' })

const defined = (text) => text.split('\n').map((l) => l.trim().split(/\s+/)).filter((f) => f.length === 3 && f[1] !== 'a').map((f) => f[2])
// Programs made with sanitizers or gcov have symbols of those as well.
const ours = (names) => names.filter((n) => !/^(__|_fini$|_init$|_edata$|_end$|mangle_path$)/.test(n)).sort()

function declarations(header) {
  const text = header.replace(/\/\*[^]*?\*\//g, ' ').replace(/^\s*#.*(\\\n.*)*$/gm, ' ').replace(/extern "C" \{/, ' ').replace(/\bMAYFLY_API\b/g, ' ')
  const found = []
  let depth = 0, from = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '{') depth++
    if (text[i] === '}') depth--
    if (text[i] === ';' && depth === 0) {
      found.push(text.slice(from, i).replace(/\s+/g, ' ').trim())
      from = i + 1
    }
  }
  return found
}

// The names of a struct's members: `uint64_t a, b`, `char text[512]`, `void (*log)(void *arg)`.
const members = (body) => body.split(';').map((m) => m.trim()).filter(Boolean).flatMap((m) => {
  const call = m.match(/\(\*(\w+)\)/)
  return call ? [call[1]] : m.split(',').map((one) => one.match(/(\w+)(\[\d+\])?$/)[1])
})

function layout(list) {
  const dir = mkdtempSync(join(tmpdir(), 'mayfly-abi-'))
  const lines = []
  for (const d of list) {
    const s = d.match(/^struct (\w+) \{(.*)\}$/), e = d.match(/^enum (\w+) \{(.*)\}$/)
    if (s) {
      lines.push(`printf("size struct ${s[1]} %zu\\n", sizeof(struct ${s[1]}));`)
      for (const m of members(s[2])) lines.push(`printf("offset struct ${s[1]}.${m} %zu\\n", offsetof(struct ${s[1]}, ${m}));`)
    }
    if (e) for (const v of e[2].split(',').map((x) => x.trim().split(/\s*=/)[0])) lines.push(`printf("value ${v} %d\\n", (int)${v});`)
  }
  try {
    writeFileSync(join(dir, 'a.c'), `#include "mayfly.h"\n#include <stdio.h>\nint main(void)\n{\n${lines.join('\n')}\n}\n`)
    run(process.env.CC ?? 'cc', '-I', join(top, 'include'), '-o', join(dir, 'a'), join(dir, 'a.c'))
    return run(join(dir, 'a')).trim().split('\n')
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const so = join(build, 'libmayfly.so')
const exported = ours(defined(run('nm', '-D', '--defined-only', so)))
const inArchive = ours(defined(run('nm', '-g', '--defined-only', join(build, 'libmayfly.a'))))
const soname = run('readelf', '-d', so).match(/soname: \[(.*)\]/)[1]
const list = declarations(readFileSync(join(top, 'include/mayfly.h'), 'utf8'))
const functions = list.map((d) => d.match(/(\w+)\(/)).filter((m, i) => m && !list[i].startsWith('struct mayfly_')).map((m) => m[1]).sort()
const now = [`soname ${soname}`, ...exported.map((s) => `symbol ${s}`), ...list.map((d) => `declaration ${d}`), ...layout(list)]

let passed = 0, failed = 0
const check = (name, wrong) => {
  if (wrong.length === 0) passed++
  else failed++
  console.log(wrong.length === 0 ? `ok ${name}` : `not ok ${name}\n  ${wrong.join('\n  ')}`)
}
if (flag) writeFileSync(file, now.join('\n') + '\n')
const before = readFileSync(file, 'utf8').trim().split('\n')
check('only mayfly_* is exported', exported.filter((s) => !s.startsWith('mayfly_')))
check('the archive defines the same', [...inArchive.filter((s) => !exported.includes(s)), ...exported.filter((s) => !inArchive.includes(s))])
check('every function of mayfly.h is exported, and nothing else', [...functions.filter((s) => !exported.includes(s)), ...exported.filter((s) => !functions.includes(s))])
check('nothing that programs rely on has changed (else raise SONAME in src/local.mk, then --write)', before.filter((l) => !now.includes(l)))
check('what is new is in src/mayfly.abi (tools/abi.mjs BUILD --write)', now.filter((l) => !before.includes(l)))
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
