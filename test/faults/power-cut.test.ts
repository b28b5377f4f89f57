import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { runInOwnMounts, whyNoOwnMounts } from '../support/black-box/own-mounts.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import type { ServiceReport } from './power-cut/cut-power.ts'
import type { ControlReports } from './power-cut/run-controls.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const cuts = readRounds({ brief: 10, quick: 4 })
const seed = readSeed()
const deadlineMs = timeLimitMs(cuts)
const obstacle = whyNoOwnMounts(['mkfs.xfs', 'mkfs.ext4'])

describe('a power cut', () => {
  it.skipIf(obstacle !== null)(
    `G1: loses no acknowledged message, and the service continues from what is left${skipNote(obstacle)}`,
    async () => {
      const report = await runInOwnMounts<ServiceReport>(new URL('power-cut/cut-power.ts', import.meta.url), {
        cuts,
        seed,
        deadlineMs,
      })

      const { lost, damage, acked, checked } = report
      printTable('Power cuts', { cuts, seed, acked, lost: Math.max(...lost), damaged: damage.length, checked })
      assert.deepEqual(damage, [])
      assert.deepEqual(
        lost,
        lost.map(() => 0),
      )
      assert.ok(checked > 1_000, `Only ${checked} messages were at stake`)
    },
    deadlineMs,
  )

  it.skipIf(obstacle !== null)(
    `G1: the test notices losses if SQLite is set to NORMAL or OFF, and none at FULL${skipNote(obstacle)}`,
    async () => {
      const script = new URL('power-cut/run-controls.ts', import.meta.url)

      const { FULL, NORMAL, OFF } = await runInOwnMounts<ControlReports>(script, { cuts, deadlineMs })

      const show = ({ cutsWithLoss, mostLost }: ControlReports['FULL']) =>
        `${cutsWithLoss} of ${cuts} lost rows, up to ${mostLost}`
      printTable('Power cuts, controls', { cuts, FULL: show(FULL), NORMAL: show(NORMAL), OFF: show(OFF) })
      assert.equal(FULL.cutsWithLoss + FULL.damaged, 0)
      assert.ok(NORMAL.cutsWithLoss > cuts / 2, 'NORMAL lost too little to trust this harness')
      assert.ok(OFF.cutsWithLoss > cuts / 2, 'OFF lost too little to trust this harness')
    },
    deadlineMs,
  )
})
