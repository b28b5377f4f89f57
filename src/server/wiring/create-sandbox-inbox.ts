import { SANDBOX_COMMANDS } from '../../channels/sandbox/commands.ts'
import type { SandboxShow } from '../../core/ports/console/sandbox.ts'
import { openCopy } from '../../media/open-copy.ts'

/** What people see of the sandbox beside its inbox. The folder is the one in which it keeps copies of what it delivers. */
export function createSandboxShow(mediaFolder: string): SandboxShow {
  return {
    commands: Object.entries(SANDBOX_COMMANDS).map(([recipient, { happens, ends }]) => ({ recipient, happens, ends })),
    openCopy: (messageId) => openCopy(mediaFolder, messageId),
  }
}
