// house.mjs [ROOT] [--list] [--check]: figures of how readable the tree is: names, sentences, sizes, includes.
// docs/reports/house.md keeps the figures of dated runs.  --list shows the sentences.  --check prints findings alone and
// exits with 1 if comments of src/ have such sentences or cite what is not in the tree, or if more than one static
// function in a hundred has a name of one word.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = process.argv.slice(2).find((a) => !a.startsWith('--')) ?? '.'
const files = execFileSync('git', ['-C', root, 'ls-files', 'src', 'include', 'docs', 'README.md', 'CONTRIBUTING.md'])
    .toString().split('\n').filter((f) => f !== '')
const read = (f) => readFileSync(join(root, f), 'utf8')
const median = (v) => v.sort((a, b) => a - b)[Math.floor(v.length / 2)] ?? 0
const c = files.filter((f) => /\.[ch]$/.test(f))

// Names of static functions: a definition begins in column one.
const statics = c.flatMap((f) => [...read(f).matchAll(/^static (?!inline\b)[^;={(]*?\b(\w+)\([^;{]*\)\s*\{/gms)].map((m) => m[1]))
const oneWord = statics.filter((n) => !n.includes('_'))

// Sentences of comments and prose that begin with who or what and are no questions.
const comments = c.flatMap((f) => read(f).match(/\/\*[\s\S]*?\*\/|\/\/.*$/gm) ?? [])
const prose = files.filter((f) => f.endsWith('.md') && !f.startsWith('docs/reports/')).map((f) => read(f).replace(/```[\s\S]*?```/g, ''))
const riddlesOf = (texts) => texts.map((t) => t.replace(/[\s*]+/g, ' '))
    .flatMap((t) => t.match(/(?:^|[.:;|] |\/ )(?:Who|What|That which|Those who) [a-z][^.?]*[.?]/g) ?? []).filter((s) => !s.endsWith('?'))

const riddles = riddlesOf([...comments, ...prose])

// Fields of structs: semicolons at the first level of braces; a line may declare several.
const structs = c.flatMap((f) => [...read(f).replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/^struct (\w+) \{\n([\s\S]*?)^\}/gm)]
    .map((m) => ({ name: m[1], file: f, n: m[2].split(';').slice(0, -1).reduce((n, l) => n + (/\(/.test(l) ? 1 : l.split(',').length), 0) })))
    .sort((a, b) => b.n - a.n)

// Depth of includes among our own headers.
const owned = new Set(c)
const includes = new Map(c.map((f) => [f, [...read(f).matchAll(/^#include "([^"]+)"/gm)]
    .flatMap((m) => [`src/${m[1]}`, `include/${m[1]}`, f.replace(/[^/]*$/, m[1])].filter((h) => owned.has(h)).slice(0, 1))]))
const depths = new Map()
const depth = (f, path = new Set()) => {
    if (depths.has(f) || path.has(f)) return depths.get(f) ?? 0
    const d = Math.max(0, ...includes.get(f).map((h) => 1 + depth(h, new Set([...path, f]))))
    depths.set(f, d)
    return d
}
const all = c.map((f) => depth(f))
const lines = c.map((f) => read(f).split('\n').length - 1)
const dangling = c.flatMap((f) => read(f).match(/facts\/[a-z]|\b[Rr](?:ow|ule)s? [0-9]+( to| and|,)/g) ?? [])

if (process.argv.includes('--check')) {
    const found = [...riddlesOf(comments).map((s) => `a sentence begins with who or what: ${s.slice(2, 90)}`),
        ...dangling.map((s) => `a reference to what is not in the tree: ${s}`),
        ...(oneWord.length * 100 > statics.length ? [`static functions of one word: ${oneWord.join(' ')}`] : [])]
    for (const s of found) console.log(`src: ${s}`)
    process.exit(found.length > 0 ? 1 : 0)
}
console.log(`static functions          ${statics.length}, of one word ${oneWord.length} (${(100 * oneWord.length / statics.length).toFixed(1)} %), median name ${median(statics.map((n) => n.length))} letters`)
console.log(`who/what sentences        ${riddles.length}`)
console.log(`references out of tree    ${dangling.length}`)
console.log(`largest structs           ${structs.slice(0, 5).map((s) => `${s.name} ${s.n}`).join(', ')}`)
console.log(`include depth             median ${median([...all])}, most ${Math.max(...all)}`)
console.log(`files                     ${c.length}, median ${median([...lines])} lines, longest ${Math.max(...lines)}`)
if (process.argv.includes('--list')) console.log(riddles.join('\n'))
