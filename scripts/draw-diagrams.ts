import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import {
  DIAGRAM_FOLDER,
  type DiagramBlock,
  hashIn,
  pictureFile,
  SCHEMES,
  type Scheme,
  sourceHash,
} from '../site/build/diagrams.ts'
import { openBrowser, whyNoBrowser } from '../test/support/browser/chromium.ts'
import { findAllDiagrams } from './check-diagrams.ts'
import { PLAIN_SVG } from './diagrams/plain-svg.ts'
import { themeOf } from './diagrams/themes.ts'
import { ROOT } from './source-tree.ts'

/**
 * `npm run diagrams`: draws a light and a dark picture of each Mermaid block in docs, into docs/diagrams. Mermaid is not a
 * dependency, because it and its own dependencies would be the largest part of what we install:
 *
 *   npm install --prefix /tmp/mermaid mermaid && NUNCIO_DIAGRAMS_MERMAID=/tmp/mermaid npm run diagrams
 */
const MERMAID = 'node_modules/mermaid/dist/mermaid.min.js'

if (import.meta.main) await drawAll()

async function drawAll(): Promise<void> {
  const folder = process.env['NUNCIO_DIAGRAMS_MERMAID']
  const obstacle = obstacleTo(folder)
  if (folder === undefined || obstacle !== null) {
    console.error(obstacle)
    process.exitCode = 1
    return
  }
  const blocks = findAllDiagrams()
  mkdirSync(join(ROOT, DIAGRAM_FOLDER), { recursive: true })
  removeOthers(blocks)
  const stale = process.argv.includes('--all') ? blocks : blocks.filter((block) => !isFresh(block))
  const browser = await openBrowser()
  try {
    const page = await browser.newPage()
    for (const block of stale) for (const scheme of SCHEMES) await draw(page, { block, scheme, folder })
  } finally {
    await browser.close()
  }
}

function obstacleTo(folder: string | undefined): string | null {
  if (folder === undefined) return 'Set NUNCIO_DIAGRAMS_MERMAID to the folder that Mermaid was installed in.'
  if (!existsSync(join(folder, MERMAID))) return `There is no ${MERMAID} in ${folder}: install Mermaid there.`
  return whyNoBrowser()
}

interface Drawing {
  readonly block: DiagramBlock
  readonly scheme: Scheme
  readonly folder: string
}

async function draw(page: Page, { block, scheme, folder }: Drawing): Promise<void> {
  await page.setContent('<!doctype html><body></body>')
  await page.addScriptTag({ path: join(folder, MERMAID) })
  const { source, title } = block
  const given = JSON.stringify({ source, title, theme: themeOf(scheme), hash: sourceHash(block) })
  const svg: string = await page.evaluate(`(${PLAIN_SVG})(${given})`)
  const file = pictureFile(block, scheme)
  writeFileSync(join(ROOT, file), `${svg}\n`)
  console.log(`${file}, ${(statSync(join(ROOT, file)).size / 1000).toFixed(1)} kB`)
}

function isFresh(block: DiagramBlock): boolean {
  return SCHEMES.every((scheme) => {
    const file = join(ROOT, pictureFile(block, scheme))
    return existsSync(file) && hashIn(readFileSync(file, 'utf8')) === sourceHash(block)
  })
}

/** Removes pictures of deleted blocks. */
function removeOthers(blocks: readonly DiagramBlock[]): void {
  const wanted = new Set(blocks.flatMap((block) => SCHEMES.map((scheme) => pictureFile(block, scheme))))
  for (const name of readdirSync(join(ROOT, DIAGRAM_FOLDER))) {
    if (!wanted.has(`${DIAGRAM_FOLDER}/${name}`)) rmSync(join(ROOT, DIAGRAM_FOLDER, name))
  }
}
