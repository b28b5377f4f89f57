import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'

// A message's id. Nothing else is ever part of a path, so nothing leads out of the folder, whatever a database says.
const ID = /^[0-9a-zA-Z-]+$/

/** Where the sandbox keeps copies of what it delivers, for its inbox: one folder for all processes that share a data folder. */
export function sandboxMediaFolder({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'sandbox-media')
}

/** Removes the copy of what was delivered with a message. Harmless when there is none; rejects when it cannot be removed. */
export async function removeCopy(folder: string, messageId: string): Promise<void> {
  if (ID.test(messageId)) await rm(join(folder, messageId), { force: true })
}
