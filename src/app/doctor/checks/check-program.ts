import packageFile from '../../../../package.json' with { type: 'json' }
import type { Examination } from '../examination.ts'
import { ok, trouble, type Verdict } from '../finding.ts'

// It runs our sources as they are, and brings the SQLite that our promises were tested with.
const LEAST_NODE = [24, 0]

export async function checkProgram(_: Examination): Promise<Verdict> {
  return judgeProgram(process.versions)
}

/** Pure. */
export function judgeProgram(versions: { readonly node: string; readonly sqlite?: string | undefined }): Verdict {
  const { node, sqlite = 'unknown' } = versions
  const facts = { nuncio: packageFile.version, node, sqlite }
  const [major = 0] = node.split('.').map(Number)
  const [least = 0] = LEAST_NODE
  if (major < least)
    return trouble(`This is Node ${node}, and Nuncio needs ${least} or newer.`, 'Start it with a newer Node.', facts)
  return ok(`Nuncio ${packageFile.version} on Node ${node}, with SQLite ${sqlite}.`, facts)
}
