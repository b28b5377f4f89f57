import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../black-box/wait-until.ts'
import type { OpenConsole } from './open-console.ts'

/** Reads the link for the first owner. The service prints it as soon as it is ready. */
export function readSetupLink({ service }: Pick<OpenConsole, 'service'>): Promise<string> {
  const file = join(service.settings.dataDir, 'setup-link')
  return waitUntil(
    'the set-up link is there',
    async () => existsSync(file) && (readFileSync(file, 'utf8').trim() || null),
    { deadlineMs: 60_000, everyMs: 50 },
  )
}
