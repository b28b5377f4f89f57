import { parseArgs } from 'node:util'
import { bundleBrowser } from './bundle-browser.ts'
import { makeSite } from './make-site.ts'
import { writeSite } from './write-site.ts'

/** `node site/build/main.ts --out FOLDER`: the documents as files that the service serves at /docs/. */
const ROOT = new URL('../..', import.meta.url).pathname
const { values } = parseArgs({ options: { out: { type: 'string', default: `${ROOT}site/dist` } } })
const site = makeSite(ROOT, await bundleBrowser(ROOT))
// Only a warning: the pages are usable, and a test fails on each of these faults.
for (const problem of site.problems) console.error(problem)
writeSite(site, values.out)
