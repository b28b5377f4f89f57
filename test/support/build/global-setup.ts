import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/source-tree.ts'

/** Runs once, in the runner's main process: what tests start as a process of its own is built from the sources as they are. */
export function setup(): void {
  execFileSync(process.execPath, [join(ROOT, 'scripts/bootstrap.mjs'), '--build'], { stdio: 'inherit' })
}
