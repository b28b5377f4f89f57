import type { QueuedMessage } from '../../message/message.ts'
import type { BlockedRecipients } from '../../ports/blocked-recipients.ts'
import type { LaneStoreClient } from './lane-store-client.ts'

/** Asks for a lane whether the recipient of a message has asked to stop. */
export class BlockCheck {
  readonly #blocked: BlockedRecipients
  readonly #storage: LaneStoreClient

  constructor(blocked: BlockedRecipients, storage: LaneStoreClient) {
    this.#blocked = blocked
    this.#storage = storage
  }

  /** Synchronous where it is known, which is nearly always; else once storage answers. Null when the lane ended before that. */
  ask({ accountId, recipient }: QueuedMessage): boolean | Promise<boolean | null> {
    return this.#storage.read(() => this.#blocked.isBlocked(accountId, recipient))
  }
}
