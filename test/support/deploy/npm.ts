import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** npm as in a terminal in this folder: an npm that runs the tests hands settings of its own down. Throws when it fails. */
export function npm(folder: string, ...args: readonly string[]): void {
  execFileSync('npm', [...args, '--cache', join(folder, 'cache'), '--no-audit', '--no-fund', '--silent'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
