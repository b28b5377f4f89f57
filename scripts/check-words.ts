import { type Finding, report } from './finding.ts'
import { lineAt } from './parse-source.ts'
import { readTree, type Tree } from './source-tree.ts'

// Words that say less than the field's own term, with the term to use instead. They are searched for in names, comments and texts.
const TERMS: Readonly<Record<string, string>> = {
  whoever: 'the caller, the worker, the reader',
  whom: 'the caller, the worker, the reader',
  nobody: 'no caller, no worker, not',
  somebody: 'a person, another process',
  anybody: 'any caller, a person',
  trouble: 'error, problem, failure',
  look: 'poll, check, query, reload',
  tell: 'notify, report, print, present',
  told: 'notified, reported',
  judge: 'check, validate, decide',
  judged: 'checked, decided',
  verdict: 'result',
  standing: 'status',
  insist: 'retry',
  hinder: 'block',
  hindered: 'blocked',
  patience: 'timeout, lock policy',
  patient: 'waiting',
  impatient: 'not waiting',
  wary: 'skipping locks',
  heed: 'apply, respect',
  gathering: 'coalescing window',
  gathers: 'collects',
  mend: 'fix, repair',
  mended: 'fixed, repaired',
  fate: 'result',
  lot: 'jitter, many',
  deed: 'activity',
  greet: 'validate',
  vouch: 'verify, guarantee',
  vouched: 'verified',
  foresee: 'predict',
  remembrance: 'checkpoint',
  stray: 'unknown, left over',
  weigh: 'discount, compare',
  doubted: 'possibly superseded',
  spread: 'distribute, fan out',
  housekeeping: 'maintenance',
  keeper: 'job',
  wakes: 'wake-up notifier',
  stretch: 'range',
  slot: 'connection index',
}
const BANNED = new Map(Object.entries(TERMS).flatMap(([word, term]) => formsOf(word).map((form) => [form, term])))

// Folders that still have some, with the highest number allowed. A number may only shrink. A folder without any has no entry
// here.
const LEFT: Readonly<Record<string, number>> = {
  'src/core': 1,
  'src/operations': 1,
  'src/storage/postgres': 3,
  'src/storage/queries': 1,
  test: 1,
  'test/conformance': 4,
  'test/journeys': 32,
  'test/simulation': 1,
  'test/support': 4,
}

// Plain English, or a name of other software, that says precisely what is meant.
const ALLOWED: readonly { readonly file: RegExp; readonly text: RegExp }[] = [
  { file: /^scripts\/check-words/, text: /[a-z]+/gi },
  // A reason code of lanes, which is part of the public interface.
  { file: /./, text: /'trouble'|`trouble`|"trouble"|^ {2}trouble: [[{(]/gm },
  // This means people, in the sentence about an unconfirmed message.
  { file: /./, text: /nobody knows/gi },
  // A keyword of CSS.
  { file: /^console/, text: /align="stretch"|align-items: stretch/g },
  // PostgreSQL's own names.
  { file: /./, text: /primary_slot_name|replication[ _]slots?/g },
  // Mermaid's own name.
  { file: /^scripts\/diagrams\/themes/, text: /look:/g },
  // A column that tests fill.
  { file: /\.test\.ts$/, text: /is_told/g },
]

const CODE = '{src,client,console,site,test,bench,scripts,deploy,extras}/**/*.{ts,tsx,mjs,js,css,sql}'

if (import.meta.main) report(findWords(readTree(CODE), LEFT))

/** Finds banned words, except those that a folder may still have. One finding for each folder with too many. */
export function findWords(tree: Tree, left: Readonly<Record<string, number>>): Finding[] {
  const found = [...tree].flatMap(([file, text]) => wordsIn(file, text))
  const folders = Object.keys(left).sort((a, b) => b.length - a.length)
  const folderOf = (file: string) => folders.find((folder) => file.startsWith(`${folder}/`)) ?? ''
  const perFolder = Map.groupBy(found, ({ file }) => folderOf(file))
  return [...perFolder].flatMap(([folder, findings]) => {
    const most = left[folder] ?? 0
    if (findings.length <= most) return []
    return folder === '' ? findings : [tooMany(folder, findings, most)]
  })
}

function tooMany(folder: string, findings: readonly Finding[], most: number): Finding {
  return {
    file: folder,
    problem: `holds ${findings.length} words that have a better term, more than ${most}`,
    remedy: 'take the entry of the folder out of LEFT to see each of them, and replace those that came in',
  }
}

function wordsIn(file: string, whole: string): Finding[] {
  const patterns = ALLOWED.filter((allowed) => allowed.file.test(file)).map(({ text }) => text)
  const text = patterns.reduce((left, pattern) => left.replace(pattern, (match) => ' '.repeat(match.length)), whole)
  return [...text.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)].flatMap(({ 0: part, index }) => {
    const word = part.toLowerCase()
    const term = BANNED.get(word)
    // "Look up" is the term for it.
    if (
      term === undefined ||
      (word.startsWith('look') &&
        /^[^a-z]*ups?\b|^Ups?/i.test(text.slice(index + part.length, index + part.length + 5)))
    )
      return []
    return [{ file, line: lineAt(whole, index), problem: `says "${word}"`, remedy: `say ${term}` }]
  })
}

function formsOf(word: string): readonly string[] {
  const stem = word.endsWith('y') ? word.slice(0, -1) : word
  if (word === 'look') return ['look', 'looks', 'looked']
  if (word === 'wakes' || word === 'gathers') return [word]
  return word.endsWith('ch') ? [word, `${stem}es`] : [word, `${stem}s`]
}
