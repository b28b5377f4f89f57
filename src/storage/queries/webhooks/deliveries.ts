import type { Deliveries } from '../../../core/ports/deliveries.ts'
import type { Store } from '../store.ts'
import { announceTokens } from './announce-tokens.ts'
import { claimDue } from './claim-due.ts'
import { fanOut, MOST_WAITING } from './fan-out.ts'
import { recordTries } from './record-tries.ts'
import { sweepDeliveries } from './sweep-deliveries.ts'

/** `mostWaiting` is smaller in tests. */
export function createDeliveries(store: Store, { mostWaiting = MOST_WAITING } = {}): Deliveries {
  return {
    fanOut: () => fanOut(store, mostWaiting),
    claimDue: (wanted) => claimDue(store, wanted),
    record: (tried) => recordTries(store, tried),
    announceTokens: () => announceTokens(store),
    sweep: (messagesDays) => sweepDeliveries(store, messagesDays),
  }
}
