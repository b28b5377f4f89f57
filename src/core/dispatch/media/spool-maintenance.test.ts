import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import type { ConnectionId, WorkerId } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { JournalEvent } from '../../ports/journal.ts'
import { StorageUnavailable } from '../../ports/lanes.ts'
import { type KnownFiles, SpoolUnavailable } from '../../ports/media.ts'
import type { SpooledFile, SpoolRecords } from '../../ports/media-queue.ts'
import { SpoolMaintenance } from './spool-maintenance.ts'

const LATEST_SWEEP_MS = 375_000

describe('the maintenance of the spool', () => {
  it('sweeps at start with all living workers and all wanted files, however many', async () => {
    const { maintenance, records, swept } = createJob()
    for (let i = 1; i <= 1_203; i++) records.add(i)
    records.living = ['anna' as WorkerId]

    await maintenance.start()

    assert.deepEqual(swept[0]?.living, ['anna'])
    assert.equal(swept[0]?.wanted.size, 1_203)
    await maintenance.stop()
  })

  it('reads the living workers before the wanted files: in between, a worker may record a file and die', async () => {
    const { maintenance, records } = createJob()

    await maintenance.start()

    assert.deepEqual(records.asked.slice(0, 2), ['living', 'wanted'])
    await maintenance.stop()
  })

  it('sweeps again every few minutes', async () => {
    const { maintenance, clock, swept } = createJob()
    await maintenance.start()

    await clock.pass(LATEST_SWEEP_MS)
    await clock.pass(LATEST_SWEEP_MS)

    assert.equal(swept.length, 3)
    await maintenance.stop()
  })

  it('has missing files fetched again, and notifies their lanes', async () => {
    const { maintenance, records, spool, changed, events } = createJob()
    for (const sequence of [1, 2, 3]) records.add(sequence)
    spool.missing = ['spool/1', 'spool/3']

    await maintenance.start()

    assert.deepEqual(records.lostFiles, [
      { sequence: 1, path: 'spool/1' },
      { sequence: 3, path: 'spool/3' },
    ])
    assert.deepEqual(changed, ['connection 1', 'connection 3'])
    assert.deepEqual(events, [{ event: 'media.lost', connections: 2 }])
    await maintenance.stop()
  })

  it('sweeps soon after a missing file, once for many, and not all the time', async () => {
    const { maintenance, clock, swept } = createJob()
    await maintenance.start()
    await clock.pass(60_000)

    for (let i = 0; i < 100; i++) maintenance.checkForLost()
    await clock.pass(249)
    const before = swept.length
    await clock.pass(1)
    const soon = swept.length
    for (let i = 0; i < 15; i++) {
      maintenance.checkForLost()
      await clock.pass(100)
    }
    const duringGap = swept.length
    await clock.pass(1_000)

    assert.deepEqual([before, soon, duringGap, swept.length], [1, 2, 2, 3])
    await maintenance.stop()
  })

  it('sweeps again when a file was missing during a sweep', async () => {
    const { maintenance, records, clock, swept } = createJob()
    await maintenance.start()
    maintenance.checkForLost()
    records.onAsked = () => maintenance.checkForLost()
    await clock.pass(250)
    records.onAsked = () => {}
    const before = swept.length

    await clock.pass(2_000)
    await clock.pass(60_000)

    assert.deepEqual([before, swept.length], [2, 3])
    await maintenance.stop()
  })

  it('deletes files of finished messages, each once', async () => {
    const { maintenance, records, spool, clock } = createJob()
    for (const sequence of [1, 2]) records.add(sequence)
    await maintenance.start()
    const before = [...spool.discarded]

    records.settled.add(2)
    await clock.pass(1_000)
    await clock.pass(5_000)

    assert.deepEqual([before, spool.discarded, records.forgotten], [[], ['spool/2'], [2]])
    await maintenance.stop()
  })

  it('scans a long spool in chunks, and starts again at its end', async () => {
    const { maintenance, records, spool, clock } = createJob()
    for (let i = 1; i <= 1_200; i++) records.add(i)
    records.settled.add(1_200)
    await maintenance.start()
    await clock.pass(0)
    const first = spool.discarded.length

    await clock.pass(500)
    records.settled.add(1)
    const walked = spool.discarded.length
    await clock.pass(2_000)

    assert.deepEqual([first, walked, spool.discarded], [0, 1, ['spool/1200', 'spool/1']])
    await maintenance.stop()
  })

  it('G11: goes on by itself when storage or the disk was away', async () => {
    const { maintenance, records, spool, clock, swept, events } = createJob()
    records.add(1)
    records.settled.add(1)
    records.isAway = true
    await maintenance.start()
    spool.isBroken = true
    records.isAway = false
    await clock.pass(LATEST_SWEEP_MS)
    spool.isBroken = false

    await clock.pass(LATEST_SWEEP_MS)

    const kinds = new Set(events.map(({ event }) => event))
    assert.deepEqual(kinds, new Set(['storage.unavailable', 'media.stalled']))
    assert.equal(swept.length, 1)
    assert.deepEqual(records.forgotten, [1])
    await maintenance.stop()
  })

  it('does nothing more once it has stopped, and is harmless to stop before start and twice', async () => {
    const { maintenance, clock, swept } = createJob()
    await maintenance.stop()
    maintenance.checkForLost()
    await maintenance.start()
    await clock.pass(0)

    await maintenance.stop()
    await maintenance.stop()
    maintenance.checkForLost()
    await clock.pass(LATEST_SWEEP_MS)

    assert.deepEqual([swept.length, clock.timers], [1, 0])
  })
})

class FakeRecords implements SpoolRecords {
  readonly files: SpooledFile[] = []
  readonly settled = new Set<Sequence>()
  readonly forgotten: Sequence[] = []
  readonly lostFiles: SpooledFile[] = []
  readonly asked: string[] = []
  living: readonly WorkerId[] = []
  isAway = false
  onAsked: () => void = () => {}

  add(sequence: Sequence): void {
    this.files.push({ sequence, path: `spool/${sequence}` })
  }

  async releasable(after: Sequence, limit: number) {
    this.#answer('releasable')
    const some = this.files.filter(({ sequence }) => sequence > after).slice(0, limit)
    const files = some.filter(({ sequence }) => this.settled.has(sequence) && !this.forgotten.includes(sequence))
    return { files, scannedThrough: some.length < limit ? null : (some.at(-1)?.sequence ?? null) }
  }

  async forget(sequences: readonly Sequence[]) {
    this.forgotten.push(...sequences)
  }

  async lost(files: readonly SpooledFile[]) {
    this.lostFiles.push(...files)
    return files.map(({ sequence }) => `connection ${sequence}` as ConnectionId)
  }

  async wantedFiles(after: Sequence, limit: number) {
    this.#answer('wanted')
    return this.files.filter(({ sequence }) => sequence > after).slice(0, limit)
  }

  async livingWorkers() {
    this.#answer('living')
    return this.living
  }

  #answer(question: string): void {
    this.asked.push(question)
    this.onAsked()
    if (this.isAway) throw new StorageUnavailable('away', false)
  }
}

function createJob() {
  const clock = new HandClock()
  const records = new FakeRecords()
  const swept: KnownFiles[] = []
  const changed: string[] = []
  const events: JournalEvent[] = []
  const spool = {
    missing: [] as readonly string[],
    discarded: [] as string[],
    isBroken: false,
    async discard(path: string) {
      if (spool.isBroken) throw new SpoolUnavailable('broken')
      spool.discarded.push(path)
    },
    async sweep(known: KnownFiles) {
      if (spool.isBroken) throw new SpoolUnavailable('broken')
      swept.push(known)
      return { removed: 0, missing: spool.missing }
    },
  }
  const maintenance = new SpoolMaintenance({
    records,
    fetcher: spool,
    clock,
    journal: { record: (event) => events.push(event) },
    onChanged: (connectionId) => changed.push(connectionId),
  })
  return { maintenance, records, spool, clock, swept, changed, events }
}
