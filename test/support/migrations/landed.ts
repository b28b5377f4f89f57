import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** What a migration brings to a database: its own statements, or a file of functions that it includes. */
export interface Landed {
  /** The number of the migration. */
  readonly by: number
  /** The version that was being made when it was written down. */
  readonly version: string
  /** Of what counts: neither comments nor white space. */
  readonly digest: string
  /** Within `src/storage`. */
  readonly file: string
}

/** What is wrong with one file, and whether it can be written down as it is now, because no version has brought it. */
export interface Edit {
  readonly sentence: string
  readonly isOpen: boolean
}

const ENGINES = ['postgres', 'sqlite']
const INCLUDE = /^-- include (\S+)$/gm
const LINE = /^(\d{4}) (\S+) (\S+) (\S+)$/
const DIGEST_LENGTH = 16

/** Writes down what may be. */
export const LANDED_COMMAND = 'npx vitest run --project=tests src/storage/postgres/landed-migrations.test.ts -u'
const UNLESS_UNRELEASED = `unless no released version has that migration, nor any database that matters. Then run: ${LANDED_COMMAND}`

/** What the migrations under this folder, which ends in `src/storage/`, bring now. Of functions only what the newest brings. */
export function readLanded(storage: URL, version: string): Landed[] {
  const found = new Map<string, Landed>()
  for (const engine of ENGINES) {
    const folder = new URL(`${engine}/migrations/`, storage)
    for (const name of readdirSync(folder).sort()) {
      const sql = readFileSync(new URL(name, folder), 'utf8')
      const by = Number(name.slice(0, 4))
      const note = (file: string, text: string) => found.set(file, { by, version, digest: digestOf(text), file })
      note(`${engine}/migrations/${name}`, sql)
      for (const [, file = ''] of sql.matchAll(INCLUDE)) {
        const included = new URL(`${engine}/${file}`, storage)
        if (existsSync(included)) note(`${engine}/${file}`, readFileSync(included, 'utf8'))
      }
    }
  }
  return [...found.values()]
}

export function parseLanded(text: string): Landed[] {
  return text.split('\n').flatMap((line) => {
    const [, by, version, digest, file] = LINE.exec(line) ?? []
    return by && version && digest && file ? [{ by: Number(by), version, digest, file }] : []
  })
}

export function printLanded(landed: readonly Landed[]): string {
  return landed
    .map(({ by, version, digest, file }) => `${String(by).padStart(4, '0')} ${version} ${digest} ${file}\n`)
    .sort()
    .join('')
}

/** With what is new, and with what the newest migration brings now while no version has brought it. */
export function addLanded(known: readonly Landed[], present: readonly Landed[], unreleased: string | null): Landed[] {
  const open = openOf(known, present, unreleased)
  const kept = known.filter((one) => !open.has(one))
  return [...kept, ...present.filter((one) => !kept.some((other) => isSame(one, other)))]
}

/** What of the known was changed or taken away, so that databases that have it would differ from those made now. */
export function findEdits(known: readonly Landed[], present: readonly Landed[], unreleased: string | null): Edit[] {
  const open = openOf(known, present, unreleased)
  const gone = known.filter(({ file }) => !present.some((one) => one.file === file))
  return [
    ...gone.map((one) => ({ sentence: tellGone(one, open.has(one)), isOpen: open.has(one) })),
    ...present.flatMap((one) => {
      const before = known.find((other) => isSame(one, other))
      if (before?.digest === one.digest) return []
      if (before) return [{ sentence: tellChanged(before, open.has(before)), isOpen: open.has(before) }]
      const later = known.find(({ file, by }) => file === one.file && by > one.by)
      return [later ? { sentence: tellLeftOut(later), isOpen: false } : { sentence: tellNew(one), isOpen: true }]
    }),
  ]
}

/** What may still be changed: the newest migration of all, written down for the version that is being made. */
function openOf(known: readonly Landed[], present: readonly Landed[], unreleased: string | null): Set<Landed> {
  const newest = Math.max(...known.map(({ by }) => by), ...present.map(({ by }) => by))
  return new Set(known.filter(({ by, version }) => by === newest && version === unreleased))
}

function isSame(one: Landed, other: Landed): boolean {
  return one.file === other.file && one.by === other.by
}

function isMigration({ file }: Landed): boolean {
  return file.includes('/migrations/')
}

function tellGone({ file }: Landed, isOpen: boolean): string {
  const gone = `src/storage/${file} is gone`
  return isOpen
    ? `${gone}: put it back, ${UNLESS_UNRELEASED}`
    : `${gone}, and there are databases that have it: put it back.`
}

function tellChanged(before: Landed, isOpen: boolean): string {
  const { file, by } = before
  const mend = isMigration(before)
    ? 'put it back, and write a new migration with the change'
    : 'write a new migration that includes it'
  return isOpen
    ? `src/storage/${file} was changed since migration ${by} was written down: ${mend}, ${UNLESS_UNRELEASED}`
    : `src/storage/${file} was changed, and databases that have migration ${by} keep what it was: ${mend}. Then run: ${LANDED_COMMAND}`
}

function tellLeftOut({ file, by }: Landed): string {
  return `src/storage/${file} is no longer included by migration ${by}, and nobody knows what those before it have brought: include it there again.`
}

function tellNew({ file, by }: Landed): string {
  return `src/storage/${file}, which migration ${by} brings, is not written down yet. Run: ${LANDED_COMMAND}`
}

function digestOf(sql: string): string {
  return createHash('sha256').update(tokensOf(sql).join('\n')).digest('hex').slice(0, DIGEST_LENGTH)
}

/** A comment counts only where we read it ourselves, and what is quoted counts as it is. */
function tokensOf(sql: string): string[] {
  const read = sql.replaceAll(INCLUDE, ';include "$1";').replaceAll(/^-- breaking: yes$/gm, ';breaking;')
  const tokens = read.match(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\w+|[^\w\s]/g) ?? []
  return tokens.filter((token) => !/^(?:--|\/\*)/.test(token))
}
