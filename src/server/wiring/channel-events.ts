import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Lanes } from '../../core/ports/lanes.ts'
import type { Storage } from './storage.ts'

// A report may overtake the answer to our own call. It is offered again until that call's outcome is recorded.
const AGAIN_AFTER_MS = 50
const GIVE_UP_AFTER_MS = 120_000

/** The events that channels may report to the service, put together from its storage. */
export function createChannelEvents(storage: Pick<Storage, 'lanes' | 'clock' | 'sendAgain'>): ChannelEvents {
  return {
    receipt: deliverReceipt(storage.lanes, storage.clock),
    offerReceipt: (receipt) => storage.lanes.applyReceipt(receipt),
    sendAgain: (failed) => storage.sendAgain(failed),
  }
}

/** Applies a channel's report, waiting while the attempt that it speaks of is still open. */
export function deliverReceipt(lanes: Pick<Lanes, 'applyReceipt'>, clock: Clock): ChannelEvents['receipt'] {
  return async (receipt) => {
    const started = clock.monotonic()
    while ((await lanes.applyReceipt(receipt)) === 'too-early') {
      if (clock.monotonic() - started > GIVE_UP_AFTER_MS)
        throw new Error(`the attempt of message ${receipt.messageId ?? 'without an id of ours'} does not end`)
      await new Promise<void>((resolve) => clock.after(AGAIN_AFTER_MS, resolve))
    }
  }
}
