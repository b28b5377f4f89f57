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
  /** What the service remembers beside the data. */
  readonly file: CheckpointFile
  readonly now: () => Instant
}

/** Repeats failed messages, one at a time, on a connection of its own that is closed when it is not needed. */
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

  /** Resolves when none is on its way. Harmless twice. */
  async close(): Promise<void> {
    await this.#last
    if (!this.#pool.ending) await this.#pool.end()
  }

  async #send(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    // Such a text cannot even be asked for.
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
