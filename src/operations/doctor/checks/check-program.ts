import { existsSync } from 'node:fs'
import packageFile from '../../../../package.json' with { type: 'json' }
import { assetPath } from '../../../assets/asset-path.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem } from '../finding.ts'

/** What the service shows to people, and the file of each that is always there. */
const PAGES = { console: 'console/dist/index.html', documents: 'site/dist/site.json' } as const

/** For the report: on a Node that is too old no command runs. */
export async function checkProgram(_: Examination): Promise<readonly CheckResult[]> {
  const { node, sqlite = 'unknown' } = process.versions
  const facts = { nuncio: packageFile.version, node, sqlite }
  const program = ok(`Nuncio ${packageFile.version} on Node ${node}, with SQLite ${sqlite}.`, facts)
  return [program, assessPages((file) => existsSync(assetPath(file)))]
}

/** Pure. `isThere` is asked for paths from the root of the program. */
export function assessPages(isThere: (file: string) => boolean): CheckResult {
  const missing = Object.entries(PAGES).flatMap(([name, file]) => (isThere(file) ? [] : [name]))
  if (missing.length === 0) return ok('The pages of the console and the documents are there.')
  return problem(
    `The program was installed without its pages: ${missing.join(' and ')} missing. The endpoint works without them.`,
    'Install Nuncio again as its manual says; in a clone, `npm start` builds them.',
    { missing: missing.join(', ') },
  )
}
