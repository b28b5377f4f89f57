import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { runInOwnMounts, whyNoOwnMounts } from '../support/black-box/own-mounts.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import type { DiskFullReport } from './disk-full/fill-disk.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const deadlineMs = timeLimitMs(rounds)
const obstacle = whyNoOwnMounts()

describe('a full disk', () => {
  it.skipIf(obstacle !== null)(
    `G10 G11: refuses with 503, says why on every lane, dispatches nothing, loses nothing, reports it afterwards, and resumes by itself when there is room (situation 47)${skipNote(obstacle)}`,
    async () => {
      const script = new URL('disk-full/fill-disk.ts', import.meta.url)

      const report = await runInOwnMounts<DiskFullReport>(script, { rounds, seed, deadlineMs })

      const { acked, notAccepted, states, resumedAfterMs, mediaRequests, refusedInLog } = report
      printTable('Full disk', {
        rounds,
        seed,
        acked,
        notAccepted,
        ...states,
        resumedAfterMs: resumedAfterMs.join(', '),
        mediaRequests,
        refusedInLog,
      })
      assert.ok(notAccepted > 0)
      assert.equal(resumedAfterMs.length, rounds)
      assert.ok(refusedInLog >= notAccepted)
      // Our own full disk does not fail the download: the file and the messages behind it are sent all the same.
      assert.deepEqual(Object.keys(states), ['PUBLISHED'])
    },
    deadlineMs,
  )
})
