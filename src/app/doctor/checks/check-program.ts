import packageFile from '../../../../package.json' with { type: 'json' }
import type { Examination } from '../examination.ts'
import { ok, type Verdict } from '../finding.ts'

/** For the report: on a Node that is too old no command runs. */
export async function checkProgram(_: Examination): Promise<Verdict> {
  const { node, sqlite = 'unknown' } = process.versions
  const facts = { nuncio: packageFile.version, node, sqlite }
  return ok(`Nuncio ${packageFile.version} on Node ${node}, with SQLite ${sqlite}.`, facts)
}
