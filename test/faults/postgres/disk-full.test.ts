import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { runInOwnMounts, whyNoOwnMounts } from '../../support/black-box/own-mounts.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import type { ServerDiskFullReport } from './disk-full/fill-server-disk.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const deadlineMs = timeLimitMs(rounds)
const obstacle = whyNoOwnMounts()

describe('a full disk under PostgreSQL', () => {
  it.skipIf(obstacle !== null)(
    `G1 G10 G11: refuses with 503, says why, loses nothing, and resumes by itself once the server has room${skipNote(obstacle)}`,
    async () => {
      const script = new URL('disk-full/fill-server-disk.ts', import.meta.url)

      const report = await runInOwnMounts<ServerDiskFullReport>(script, { rounds, seed, deadlineMs })

      const { acked, refused, states, resumedAfterMs, serverStarts } = report
      printTable('Full disk, PostgreSQL', {
        rounds,
        seed,
        acked,
        refused,
        ...states,
        resumedAfterMs: resumedAfterMs.join(', '),
        'the server had ended itself': serverStarts,
      })
      assert.ok(refused > 0)
      assert.equal(resumedAfterMs.length, rounds)
    },
    deadlineMs,
  )
})
