import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Overview, OverviewView, WantedOverview } from '../../../core/ports/console/overview.ts'
import { readHold } from '../lanes/hold.ts'
import type { Store } from '../store.ts'
import { noteAttentionSeen, readAttention } from './attention.ts'
import { noteMessageSeen, readFirstSteps } from './first-steps.ts'
import { readLatency } from './latency.ts'
import { readBars, totalsOf } from './read-bars.ts'
import { type Recent, readRecent } from './recent.ts'
import { readRetention } from './retention.ts'
import { readWaiting } from './waiting-lanes.ts'

/** Learns that a person is watching, so that counting is faster for a while. */
export interface Watched {
  noteWatched(): void
}

export function createOverview(store: Store, counter: Watched | null = null): Overview {
  return {
    readOverview(wanted) {
      counter?.noteWatched()
      return readOverview(store, wanted)
    },
    readRetention(accountId) {
      counter?.noteWatched()
      return readRetention(store, accountId)
    },
    readAttention(accountId) {
      counter?.noteWatched()
      return readAttention(store, accountId)
    },
    noteAttentionSeen: (accountId, seen, actor) => noteAttentionSeen(store, { accountId, ...seen }, actor),
    noteMessageSeen: (accountId, actor) => noteMessageSeen(store, accountId, actor),
  }
}

async function readOverview(store: Store, wanted: WantedOverview): Promise<OverviewView> {
  const { accountId, range } = wanted
  const now = store.now()
  const recent = await readRecent(store, accountId, now)
  const [{ from, barMs, bars, countedAt, isComplete }, { latency, ...waiting }, others] = await Promise.all([
    readBars(store, wanted, { now, recent }),
    readFlow(store, accountId, now),
    readPeers(store, accountId, recent),
  ])
  return {
    ...{ now, range, from, barMs, bars, countedAt, isComplete },
    totals: totalsOf(bars),
    latency,
    ...waiting,
    ...others,
  }
}

async function readFlow(store: Store, accountId: AccountId, now: Instant) {
  const { head, ...waiting } = await readWaiting(store, accountId, now)
  return { ...waiting, latency: await readLatency(store, accountId, head) }
}

async function readPeers(store: Store, accountId: AccountId, recent: Recent | null) {
  return {
    hold: await readHold(store),
    firstSteps: await readFirstSteps(store, accountId, recent),
  }
}
