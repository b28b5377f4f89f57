import { type InboxRecord, readInboxEntry } from '../channels/sandbox/inbox.ts'
import type { Settings } from '../config/read-settings.ts'
import type { AccountId, Instant } from '../core/ids.ts'
import type { Administration } from '../core/ports/administration.ts'
import type { People } from '../core/ports/console/people.ts'
import type { RememberedEntry, WantedMemory } from '../storage/shared/list-channel-memory.ts'
import { createPeople } from '../storage/shared/people/people.ts'
import type { Store } from '../storage/shared/store.ts'
import { CHANNEL_NAMES, parseChannelSettings } from './channel-settings.ts'
import { systemClock } from './system-clock.ts'

/** One delivery of the sandbox. */
export interface InboxEntry {
  readonly messageId: string
  /** The sender number. */
  readonly connection: string
  readonly to: string
  readonly type: string
  readonly text: string | null
  readonly caption: string | null
  readonly name: string | null
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly deliveredAt: Instant
}

export interface InboxFilter {
  readonly accountId: AccountId | null
  /** The sender number. */
  readonly number: string | null
  readonly limit: number | null
}

/** The data, open for a short visit of the operator beside a running service. */
export interface AdministrationSession {
  readonly administration: Administration
  readonly people: People
  /** For a password that is set without the console. */
  readonly hashPassword: (password: string) => Promise<string>
  readonly channels: readonly string[]
  /** Checks settings of a connection given as text. Refuses with a sentence that names the setting. */
  readonly parseChannelSettings: (
    channel: string,
    pairs: Readonly<Record<string, string>>,
  ) => Readonly<Record<string, unknown>>
  /** What the sandbox delivered, in order of delivery. A null filters nothing. */
  readonly inbox: (filter: InboxFilter) => AsyncIterable<InboxEntry>
  readonly close: () => Promise<void>
}

/** What an engine gives to a short visitor. */
interface OpenEngine {
  readonly administration: Administration
  readonly store: Store
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  close(): void | Promise<void>
}

/** `create` makes the data when there are none, instead of refusing. */
export async function openAdministration(
  settings: Settings,
  { create }: { readonly create: boolean },
): Promise<AdministrationSession> {
  const storage = await openEngine(settings, create)
  return {
    administration: storage.administration,
    people: createPeople(storage.store),
    async hashPassword(password) {
      const { PasswordHasher } = await import('../http/console/people/password-hasher.ts')
      return new PasswordHasher().hash(password)
    },
    channels: CHANNEL_NAMES,
    parseChannelSettings,
    async *inbox({ accountId, number, limit }) {
      let left = limit ?? Number.POSITIVE_INFINITY
      for await (const entry of storage.listChannelMemory({ kind: 'sandbox.inbox', accountId, number })) {
        const record = readInboxEntry(entry.value)
        if (!record) continue
        if (left-- <= 0) return
        yield toInboxEntry(entry, record)
      }
    },
    async close() {
      await storage.close()
    },
  }
}

/** Only the engine that was chosen is loaded, with the packages it needs. */
async function openEngine({ database }: Settings, create: boolean): Promise<OpenEngine> {
  if (database.engine === 'postgres') {
    const { openAdministration: openPostgres } = await import('../storage/postgres/open-administration.ts')
    return openPostgres(database, { create })
  }
  const { openAdministration: openSqlite } = await import('../storage/sqlite/open-administration.ts')
  return openSqlite(database.path, { create, now: () => systemClock.now() })
}

function toInboxEntry({ connection, key, at }: RememberedEntry, record: InboxRecord): InboxEntry {
  const { to, type, text, caption, name, sizeBytes, sha256 } = record
  // The key also carries the number of the attempt, so that a message delivered twice shows twice.
  const [messageId = key] = key.split('#')
  return { messageId, connection, to, type, text, caption, name, sizeBytes, sha256, deliveredAt: at }
}
