import { basename, dirname } from 'node:path'
import { type Finding, report } from './finding.ts'
import { lineAt, parseSource } from './parse-source.ts'
import { listPaths, readTree, type Tree } from './source-tree.ts'

const FOLDERS = '{src,client,console,site,test,bench,scripts,extras}/**'

// These words say that something is shared or busy, not what it is. A shared thing gets its own name and file.
const EMPTY_WORDS = ['util', 'utils', 'helper', 'helpers', 'common', 'lib', 'misc', 'model', 'models']
// Empty as the noun itself (`lane-manager.ts`), not as a word in front of it (`service-lock.ts`).
const EMPTY_NOUNS = ['manager', 'processor']
// Harmless as one word of several (`media-types.ts`), empty as the whole name.
const EMPTY_NAMES = ['types', 'interfaces']

// People or tools expect this spelling.
const SPELT_OTHERWISE = ['README.md', 'CHANGELOG.md', 'NOTES.md', 'LICENSE', 'Dockerfile']

const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

if (import.meta.main) {
  const code = readTree(`${FOLDERS}/*.{ts,tsx,mjs,js,css,sql}`)
  report([...listPaths(FOLDERS).flatMap(findNames), ...findUnnumberedTodos(code)])
}

/** What is wrong with the last part of a path; the folders above it are paths of their own. */
export function findNames(path: string): Finding[] {
  const name = basename(path)
  if (SPELT_OTHERWISE.includes(name) || /(?:^|\/)(?:\.|fixtures\/)/.test(path)) return []
  return [...notKebabCase(path, name), ...saysNothing(path, name), ...indexOfNoAdapter(path, name)]
}

function notKebabCase(file: string, name: string): Finding[] {
  if (name.split('.').every((part) => KEBAB_CASE.test(part))) return []
  return [
    { file, problem: 'is not in kebab-case', remedy: 'name it after the one thing it exports, like accept-message.ts' },
  ]
}

function saysNothing(file: string, name: string): Finding[] {
  const [whole = ''] = name.split('.')
  const words = whole.split('-')
  const empty =
    words.find((word) => EMPTY_WORDS.includes(word)) ??
    words.slice(-1).find((word) => EMPTY_NOUNS.includes(word)) ??
    EMPTY_NAMES.find((word) => word === whole)
  if (empty === undefined) return []
  return [{ file, problem: `has a name that says nothing, "${empty}"`, remedy: 'name what it holds or does' }]
}

// `index.ts` hides what a file is, except where the folder is one thing: an adapter.
function indexOfNoAdapter(file: string, name: string): Finding[] {
  const isAdapter = /^src\/(?:channels|storage)\/[^/]+$/.test(dirname(file))
  if (name !== 'index.ts' || isAdapter || !file.startsWith('src/')) return []
  return [{ file, problem: 'is an index outside an adapter', remedy: 'name it after the one thing it exports' }]
}

export function findUnnumberedTodos(tree: Tree): Finding[] {
  return [...tree].flatMap(([file, text]) =>
    commentsOf(file, text).flatMap(({ value, start }) =>
      [...value.matchAll(/\bTODO\b(?!\s*\(?#\d)/g)].map(({ index }) => ({
        file,
        line: lineAt(text, start + index),
        problem: 'has a TODO without an issue',
        remedy: 'write `TODO #12: …` with the number of its issue, or do it now',
      })),
    ),
  )
}

function commentsOf(file: string, text: string): readonly { value: string; start: number }[] {
  return /\.(?:tsx?|m?js)$/.test(file) ? parseSource(file, text).comments : [{ value: text, start: 0 }]
}
