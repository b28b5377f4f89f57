import type { ChannelEvents } from '../../core/ports/channel.ts'
import { deliverReceipt } from './deliver-receipt.ts'
import type { Storage } from './storage.ts'

/** The events that channels may report to the service, put together from its storage. */
export function createChannelEvents(storage: Pick<Storage, 'lanes' | 'clock' | 'sendAgain'>): ChannelEvents {
  return {
    receipt: deliverReceipt(storage.lanes, storage.clock),
    offerReceipt: (receipt) => storage.lanes.applyReceipt(receipt),
    sendAgain: (failed) => storage.sendAgain(failed),
  }
}
