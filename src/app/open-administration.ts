import { parseSandboxSettings } from '../channels/sandbox/settings.ts'
import type { Settings } from '../config/read-settings.ts'
import type { AccountId, Instant } from '../core/ids.ts'
import type { Administration } from '../core/ports/administration.ts'
import { Refusal } from '../core/refusals.ts'
import type { RememberedEntry } from '../storage/shared/list-channel-memory.ts'
import { openAdministration as openSqlite } from '../storage/sqlite/open-administration.ts'
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

type ParseSettings = (given: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>

const PARSERS: Readonly<Record<string, ParseSettings>> = {
  sandbox: (given) => ({ ...parseSandboxSettings(given) }),
}

/** `create` makes the data when there are none, instead of refusing. */
export async function openAdministration(
  settings: Settings,
  { create }: { readonly create: boolean },
): Promise<AdministrationSession> {
  const storage = openSqlite(settings.database.path, { create, now: () => systemClock.now() })
  return {
    administration: storage.administration,
    channels: Object.keys(PARSERS),
    parseChannelSettings(channel, pairs) {
      const parse = PARSERS[channel]
      if (!parse) throw new Refusal('channel_unknown', `There is no channel “${channel}”.`)
      return parse(pairs)
    },
    async *inbox({ accountId, number, limit }) {
      let left = limit ?? Number.POSITIVE_INFINITY
      for await (const entry of storage.listChannelMemory({ kind: 'sandbox.inbox', accountId, number })) {
        if (left-- <= 0) return
        yield toInboxEntry(entry)
      }
    },
    async close() {
      storage.close()
    },
  }
}

function toInboxEntry({ connection, key, value, at }: RememberedEntry): InboxEntry {
  const { to, type, text, caption, name, sizeBytes, sha256 } = JSON.parse(value) as Omit<
    InboxEntry,
    'messageId' | 'connection' | 'deliveredAt'
  >
  // The key also carries the number of the attempt, so that a message delivered twice shows twice.
  const [messageId = key] = key.split('#')
  return { messageId, connection, to, type, text, caption, name, sizeBytes, sha256, deliveredAt: at }
}
