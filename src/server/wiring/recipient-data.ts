import { basename } from 'node:path'
import type { AccountId } from '../../core/ids.ts'
import type { Actor } from '../../core/ports/administration.ts'
import type { RecipientEntries } from '../../core/ports/recipients.ts'
import { type Erased, eraseRecipient } from '../../storage/queries/recipients/erase-recipient.ts'
import { type ExportedItem, exportRecipient, noteExport } from '../../storage/queries/recipients/export-recipient.ts'
import type { OnProgress } from '../../storage/queries/recipients/find-traces.ts'
import type { Store } from '../../storage/queries/store.ts'
import { removeCopy } from './sandbox-media.ts'

interface OfPerson {
  readonly accountId: AccountId
  readonly number: string
  /** Called with how many messages were gone through so far. */
  readonly onProgress?: OnProgress
}

/** Exports or erases everything about one number. Each reads all data of the account. */
export interface RecipientData {
  /** Written to the audit log before anything is read. */
  export(of: OfPerson, actor: Actor): AsyncIterable<ExportedItem>
  erase(of: OfPerson & { readonly cancelWaiting: boolean }, actor: Actor): Promise<Erased>
}

interface RecipientDataParts {
  readonly store: Store
  readonly entries: RecipientEntries
  /** Where the sandbox keeps the copies that its inbox shows. */
  readonly mediaFolder: string
}

export function createRecipientData({ store, entries, mediaFolder }: RecipientDataParts): RecipientData {
  return {
    async *export({ accountId, number, onProgress }, actor) {
      await noteExport(store, { accountId, recipient: number }, actor)
      const of = { accountId, recipient: number, entries: await entries.entriesOf(accountId, number) }
      yield* exportRecipient(store, of, onProgress)
    },
    async erase({ accountId, number, cancelWaiting, onProgress }, actor) {
      const hashedEntry = await entries.hashedEntryOf(accountId, number)
      const wanted = { accountId, recipient: number, cancelWaiting, hashedEntry }
      // The copy that the sandbox shows; what waits to be sent keeps its own files, and nothing waits any more.
      // Only from there, whatever path a database says that came from elsewhere.
      const removeFile = (path: string) => removeCopy(mediaFolder, basename(path))
      return eraseRecipient(store, wanted, { actor, removeFile, ...(onProgress && { onProgress }) })
    },
  }
}
