import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Runs npm in this folder as in a terminal, without the settings that an outer npm passes down. Throws when it fails. */
export function npm(folder: string, ...args: readonly string[]): void {
  execFileSync('npm', [...args, '--cache', join(folder, 'cache'), '--no-audit', '--no-fund', '--silent'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
