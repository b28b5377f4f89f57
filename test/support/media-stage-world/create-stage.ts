import { MediaStage } from '../../../src/core/dispatch/media/stage.ts'
import type { MediaFile } from '../../../src/core/message/message.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import type { FetchedMedia } from '../../../src/core/ports/media.ts'
import { HandClock } from '../../conformance/hand-clock.ts'
import { FakeFetcher, FakeQueue } from './fake-media.ts'

export const FILE: MediaFile = { path: 'spool/file', sizeBytes: 100, sha256: '00', mime: 'image/png' }
export const FETCHED: FetchedMedia = { kind: 'fetched', file: FILE, tookMs: 5 }

export function createStage() {
  const clock = new HandClock()
  const queue = new FakeQueue()
  const fetcher = new FakeFetcher(queue)
  const settled: string[] = []
  const events: JournalEvent[] = []
  const others = new Set<string>()
  const stage = new MediaStage({
    queue,
    fetcher,
    clock,
    journal: { record: (event) => events.push(event) },
    quotaBytes: 1_000_000,
    onSettled: (connectionId) => settled.push(connectionId),
    onLost: (connectionId) => settled.push(connectionId),
    belongsToPeer: (connectionId) => others.has(connectionId),
  })
  return {
    stage: {
      ...bound(stage),
      start: async () => {
        await stage.start()
        await clock.pass(20)
      },
    },
    queue,
    fetcher,
    clock,
    settled,
    events,
    others,
  }
}

function bound(stage: MediaStage) {
  return {
    stop: () => stage.stop(),
    want: (sequences: readonly number[]) => stage.want(sequences),
  }
}
