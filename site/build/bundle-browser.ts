import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { viteBuild } from '../../scripts/vite-build.ts'
import type { Bundle } from './make-site.ts'

// In this order: the frame of a page, then its content, with narrow screens last.
const STYLES = ['frame.css', 'article.css']
const INTER = 'node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'
const SCRIPTS = ['theme', 'docs', 'try-call'] as const

/** The minified scripts and style sheet of the pages. Each script is complete: shared code is built into each. */
export async function bundleBrowser(root: string): Promise<Bundle> {
  const folder = join(root, 'site', 'browser')
  const scripts = await Promise.all(SCRIPTS.map((name) => buildScript(folder, name)))
  const files = [
    ...SCRIPTS.map((name, index) => [`${name}.js` as const, Buffer.from(scripts[index] ?? '')] as const),
    ['style.css', Buffer.concat(STYLES.map((name) => readFileSync(join(folder, name))))] as const,
    ['inter.woff2', readFileSync(join(root, INTER))] as const,
    ['icon.svg', readFileSync(join(root, 'console', 'public', 'icon.svg'))] as const,
  ]
  return new Map(files)
}

async function buildScript(folder: string, name: string): Promise<string> {
  const built = await viteBuild({
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: join(folder, `${name}.ts`), formats: ['iife'], name: 'nuncio', fileName: name },
    },
  })
  const [output] = [built].flat()
  if (!output || !('output' in output)) throw new Error(`The script ${name} was not built`)
  return output.output[0].code
}
