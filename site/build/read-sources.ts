import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path/posix'
import { EXAMPLES, HOME, SECTIONS } from './sections.ts'

/** A page before it is rendered. */
export interface Source {
  /** From the project's root, with forward slashes. */
  readonly file: string
  /** The address at which the service shows it. */
  readonly address: string
  readonly title: string
  readonly markdown: string
  /** Null: only reachable by links. */
  readonly section: string | null
}

interface Sources {
  /** In reading order; pages without a section last. */
  readonly pages: readonly Source[]
  /** Files without a section. They are shown at the end of the reference. */
  readonly homeless: readonly string[]
}

const LANGUAGE_OF: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.py': 'python',
  '.php': 'php',
  '.go': 'go',
  '.sh': 'sh',
}
const WHERE_THE_HOMELESS_GO = 'Reference'

export function readSources(root: string): Sources {
  const there = globSync('docs/**/*.md', { cwd: root }).map((file) => file.replaceAll('\\', '/'))
  const taken = new Set<string>()
  const bySection = SECTIONS.map(({ title, folder, first }) => {
    const named = first.filter((file) => existsSync(join(root, file)))
    for (const file of named) taken.add(file)
    return { title, folder, named }
  })
  const sections = bySection.map(({ title, folder, named }) => {
    const others = folder === null ? [] : there.filter((file) => dirname(file) === folder && !taken.has(file))
    for (const file of others) taken.add(file)
    const pages = others.map((file) => readPage(root, file, title)).sort(byTitle(folder))
    return { title, pages: [...named.map((file) => readPage(root, file, title)), ...pages] }
  })
  const homeless = there.filter((file) => !taken.has(file)).sort()
  for (const { title, pages } of sections) {
    if (title === WHERE_THE_HOMELESS_GO) pages.push(...homeless.map((file) => readPage(root, file, title)))
  }
  return { pages: [...sections.flatMap(({ pages }) => pages), ...readExamples(root)], homeless }
}

/** Decisions are numbered, and read in that order. */
function byTitle(folder: string | null) {
  return (one: Source, other: Source) =>
    folder === 'docs/decisions' ? one.file.localeCompare(other.file) : one.title.localeCompare(other.title)
}

function readPage(root: string, file: string, section: string): Source {
  const markdown = readFileSync(join(root, file), 'utf8')
  const [, title = basename(file, '.md')] = /^# (.+)$/m.exec(markdown) ?? []
  return { file, address: addressOf(file), title: title.replaceAll('`', ''), markdown, section }
}

function readExamples(root: string): Source[] {
  return globSync(`${EXAMPLES}/*`, { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .flatMap((file) => {
      const language = LANGUAGE_OF[extname(file)]
      if (language === undefined) return []
      const title = basename(file)
      const text = readFileSync(join(root, file), 'utf8').trimEnd()
      const markdown = `# ${title}\n\nAn example of [sending from a program](../guides/client.md).\n\n\`\`\`\`${language}\n${text}\n\`\`\`\`\n`
      return [{ file, address: addressOf(file), title, markdown, section: null }]
    })
}

/** `docs/guides/tokens.md` → `/docs/guides/tokens`, `client/README.md` → `/docs/client`. */
function addressOf(file: string): string {
  if (file === HOME) return '/docs/'
  const path = file.replace(/^docs\//, '').replace(/\/README\.md$|\.md$/, '')
  return `/docs/${path.toLowerCase()}`
}
