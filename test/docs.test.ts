import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path/posix'
import { describe, it } from 'vitest'
import packageFile from '../package.json' with { type: 'json' }
import { listPaths, ROOT, readTree } from '../scripts/source-tree.ts'
import { FROM_FILES } from '../src/config/read-secret-files.ts'
import { SETTINGS } from '../src/config/settings.ts'
import { successBody } from '../src/contract/replies.ts'
import { firstCurl } from '../src/server/first-run/startup-banner.ts'
import { CONNECTIONS_OF_A_PROCESS, PURPOSES } from '../src/storage/postgres/connection/connection-purposes.ts'
import { commandFaults } from './support/commands/command-faults.ts'

const pages = readTree('*.md', 'docs/**/*.md', '{src/**,client,deploy/npm}/README.md')
const readme = pages.get('README.md') ?? ''
const fileNames = new Set(
  listPaths('{bench,client,console,docs,scripts,site,src,test}/**/*.*').map((path) => basename(path)),
)

interface Block {
  readonly language: string
  readonly text: string
}

// Tests, benchmarks and diagrams may use servers and folders named in these variables. The service reads none of them.
const OF_TESTS_AND_BENCHES = [
  'NUNCIO_TEST_POSTGRES_URL',
  'NUNCIO_TEST_POSTGRES_BIN',
  'NUNCIO_BENCH_POSTGRES_URL',
  'NUNCIO_BENCH_REDIS_URL',
  'NUNCIO_DIAGRAMS_MERMAID',
]

describe('the pages for people', () => {
  it.each([...pages.keys()])('%s has only valid links', (page) => {
    const missing = linksOf(pages.get(page) ?? '').filter((link) => !leadsSomewhere(page, link))

    assert.deepEqual(missing, [])
  })

  it.each([...pages.keys()])('%s names only existing files', (page) => {
    const text = pages.get(page) ?? ''
    const missing = filesNamedIn(text).filter(
      (file) =>
        !(file.includes('/')
          ? ['', 'src', dirname(page)].some((folder) => isThere(join(folder, file)))
          : fileNames.has(file)),
    )

    assert.deepEqual(missing, [])
  })

  it.each([...pages.keys()])('%s shows only existing commands', (page) => {
    const faults = commandLinesOf(pages.get(page) ?? '').flatMap((line) => commandFaults(line))

    assert.deepEqual(faults, [])
  })

  it.each([...pages.keys()])('%s names only existing scripts and settings', (page) => {
    const text = pages.get(page) ?? ''
    const scripts = [...text.matchAll(/\bnpm run (?:-s )?([a-z]+(?::[a-z0-9]+(?:-[a-z]+)*)*)/g)].map(
      ([, name = '']) => name,
    )
    const settings = [...text.matchAll(/\bNUNCIO_[A-Z_]+[A-Z]\b/g)].map(([name]) => name)
    const known = new Set<string>([
      ...OF_TESTS_AND_BENCHES,
      ...Object.keys(packageFile.scripts),
      ...Object.values(SETTINGS).map(({ name }) => name),
      ...FROM_FILES.map(({ name }) => `${name}_FILE`),
    ])

    assert.deepEqual(
      [...scripts, ...settings].filter((name) => !known.has(name)),
      [],
    )
  })

  it.each([...pages.keys()])(
    '%s names files of this version, and installs nothing under a name that is unregistered on npm',
    (page) => {
      const text = pages.get(page) ?? ''
      const versions = [...text.matchAll(/\bnuncio(?:-client)?[-_:](\d+\.\d+\.\d+)/g)].map(([, version]) => version)

      assert.deepEqual(
        versions.filter((version) => version !== packageFile.version),
        [],
      )
      assert.doesNotMatch(text, /\b(?:npx|npm (?:i|install|exec|add))(?: -\S+)* (?:nuncio|@nuncio\/client)\b/)
    },
  )
})

describe('the pages about PostgreSQL', () => {
  it.each(['postgresql', 'scaling'])('%s.md says how many connections a process needs', (name) => {
    const page = pages.get(`docs/operating/${name}.md`) ?? ''

    assert.deepEqual(
      [...page.matchAll(/up to (\d+) connections/g)].map(([, count]) => Number(count)),
      [CONNECTIONS_OF_A_PROCESS],
    )
  })

  it('say of each connection what it is for', () => {
    const rows = (pages.get('docs/operating/postgresql.md') ?? '').matchAll(
      /^\| `nuncio ([^`]+)` \| (\d+) \| (.*) \|$/gm,
    )
    const found = [...rows].map(([, name = '', count, why]) => [name, Number(count), why] as const)

    for (const [name, { count, why }] of Object.entries(PURPOSES))
      assert.deepEqual(
        found.find(([listed]) => listed === name),
        [name, count, why],
      )
    assert.equal(
      found.reduce((sum, [, count]) => sum + count, 0),
      CONNECTIONS_OF_A_PROCESS,
    )
  })
})

describe('README', () => {
  it('has at most 130 lines', () => {
    assert.ok(readme.trimEnd().split('\n').length <= 130)
  })

  it('shows exactly the command that the first start prints', () => {
    const printed = firstCurl({ token: 'YOUR_TOKEN', number: '15550001000' }, 'http://127.0.0.1:8080')

    assert.deepEqual(blocksWith('curl '), [{ language: 'sh', text: printed }])
  })

  it('shows exactly the answer to it', () => {
    assert.deepEqual(
      blocksOf(readme).filter(({ language }) => language === 'json'),
      [{ language: 'json', text: JSON.stringify(successBody('QUEUED')) }],
    )
  })
})

describe('the check of commands', () => {
  it.each([
    ['a command that there is not', 'nuncio messages list'],
    ['an option that there is not', 'nuncio message list --colour red'],
    ['an option without its value', 'nuncio message list --limit'],
    ['a required option that is missing', 'nuncio token create --name shop'],
    ['an argument that is missing', 'nuncio message explain'],
    ['an argument too many', 'nuncio attention now'],
  ])('finds %s', (_, line) => {
    assert.equal(commandFaults(line).length, 1)
  })
})

function linksOf(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!isThere(target)) return false
  return anchor === undefined || anchorsOf(pages.get(target) ?? '').includes(anchor)
}

/** The anchors of headings, and of table rows that begin with a code, as in the documents that the service shows. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
  return [...headings, ...[...text.matchAll(/^\| `([a-z0-9_]+)` \|/gm)].map(([, code = '']) => code)]
}

/**
 * The names in backticks that mean a file, with or without its folder. Names of files that a reader is to write have an ellipsis,
 * a star or `0002`.
 */
function filesNamedIn(text: string): string[] {
  return [...text.matchAll(/`((?:[a-z-]+\/)*[a-z0-9-]+(?:\.[a-z]+)*\.(?:ts|mjs|sql))`/g)]
    .map(([, file = '']) => file)
    .filter((file) => !file.includes('0002-'))
}

function isThere(path: string): boolean {
  return existsSync(join(ROOT, path))
}

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)\n *```$/gm)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }))
}

function blocksWith(start: string): Block[] {
  return blocksOf(readme).filter(({ text }) => text.startsWith(start))
}

/** What a reader would type: lines of `sh` blocks, and those after a prompt in blocks that show output. */
function commandLinesOf(text: string): string[] {
  return blocksOf(text)
    .flatMap(({ language, text: block }) => {
      const lines = block
        .replaceAll(/ *\\\n */g, ' ')
        .split('\n')
        .map((line) => line.trim())
      return language === 'sh' ? lines : lines.flatMap((line) => (line.startsWith('$ ') ? line.slice(2) : []))
    })
    .map((line) => line.replace(/^(?:NUNCIO_[A-Z_]+=\S+ )+/, '').replace('npm run -s nuncio --', 'nuncio'))
    .filter((line) => line.startsWith('nuncio '))
}
