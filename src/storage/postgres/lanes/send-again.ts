import { Kysely } from 'kysely'
import type { Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelEvents } from '../../../core/ports/channel.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { CheckpointFile } from '../../queries/checkpoint.ts'
import { sendFailedAgain } from '../../queries/messages/change-message.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { createPostgresDialect, openPool } from '../connection/kysely-dialect.ts'
import { postgresEngine } from '../queries/administration-engine.ts'

interface SendAgainParts {
  readonly url: string
  /** The checkpoint in `remembered.json`: how far the database had got (G12). */
  readonly file: CheckpointFile
  readonly now: () => Instant
}

/** Sends failed messages again, one at a time. Its own connection to the database is closed while it is idle. */
export class SendAgainConnection {
  readonly #pool: ReturnType<typeof openPool>
  readonly #database: Kysely<Tables>
  readonly #now: () => Instant
  #last: Promise<unknown> = Promise.resolve()

  constructor({ url, file, now }: SendAgainParts) {
    this.#pool = openPool(url, { user: 'send-again', file })
    this.#database = new Kysely<Tables>({ dialect: createPostgresDialect(this.#pool, url) })
    this.#now = now
  }

  sendAgain(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    const done = this.#last.then(() => this.#send(failed))
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves when no message is being sent again. Harmless twice. */
  async close(): Promise<void> {
    await this.#last
    if (!this.#pool.ending) await this.#pool.end()
  }

  async #send(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    // PostgreSQL takes no text with a NUL, not even as a parameter.
    if (failed.messageId.includes('\0')) return null
    try {
      return await sendFailedAgain({ database: this.#database, engine: postgresEngine, now: this.#now }, failed)
    } catch (error) {
      if (error instanceof Refusal)
        throw new StorageUnavailable('the database cannot be written', true, { cause: error })
      throw error
    }
  }
}
