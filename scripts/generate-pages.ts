import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Finding, report } from './finding.ts'
import { PAGES, type Page } from './pages.ts'
import { ROOT } from './source-tree.ts'

if (import.meta.main) {
  if (process.argv.includes('--check')) report(await findStalePages(ROOT, PAGES))
  else for (const file of await writePages(ROOT, PAGES)) console.log(`wrote ${file}`)
}

/** Writes the stale pages and returns their names. */
export async function writePages(root: string, pages: readonly Page[]): Promise<string[]> {
  const written: string[] = []
  for (const page of pages) {
    const text = await page.make()
    if (text === (await readPage(root, page))) continue
    await mkdir(dirname(join(root, page.file)), { recursive: true })
    await writeFile(join(root, page.file), text)
    written.push(page.file)
  }
  return written
}

export async function findStalePages(root: string, pages: readonly Page[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const page of pages) {
    const text = await readPage(root, page)
    if (text === (await page.make())) continue
    const problem = text === undefined ? 'is missing' : 'no longer says what the sources say'
    findings.push({ file: page.file, problem, remedy: 'run `npm run generate` and commit it' })
  }
  return findings
}

async function readPage(root: string, { file }: Page): Promise<string | undefined> {
  const path = join(root, file)
  return existsSync(path) ? readFile(path, 'utf8') : undefined
}
