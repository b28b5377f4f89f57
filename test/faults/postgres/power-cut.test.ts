import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { runInOwnMounts, whyNoOwnMounts } from '../../support/black-box/own-mounts.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import type { ServiceReport } from './power-cut/cut-power.ts'
import type { ControlReport, ControlReports } from './power-cut/run-controls.ts'

const cuts = readRounds({ brief: 3, quick: 2 })
const controlCuts = readRounds({ brief: 2, quick: 2 })
const seed = readSeed()
const obstacle = whyNoOwnMounts(['mkfs.xfs', 'mkfs.ext4'])
const deadlineMs = timeLimitMs(cuts)

describe('a power cut of PostgreSQL', () => {
  it.skipIf(obstacle !== null)(
    `G1: loses no acknowledged message, and the service continues from what is left${skipNote(obstacle)}`,
    async () => {
      const script = new URL('power-cut/cut-power.ts', import.meta.url)

      const { lost, damage, acked, checked } = await runInOwnMounts<ServiceReport>(script, { cuts, seed, deadlineMs })

      printTable('Power cuts, PostgreSQL', {
        cuts,
        seed,
        acked,
        lost: Math.max(...lost),
        damaged: damage.length,
        checked,
      })
      assert.deepEqual(damage, [])
      assert.deepEqual(
        lost,
        lost.map(() => 0),
      )
      assert.ok(checked > 100, `Only ${checked} messages were at stake`)
    },
    deadlineMs,
  )

  it.skipIf(obstacle !== null)(
    `G1: the test notices losses if PostgreSQL does not wait for the disk, and none if it does${skipNote(obstacle)}`,
    async () => {
      const script = new URL('power-cut/run-controls.ts', import.meta.url)

      const reports = await runInOwnMounts<ControlReports>(script, { cuts: controlCuts, deadlineMs })

      const show = ({ cutsWithLoss, mostLost }: ControlReport) =>
        `${cutsWithLoss} of ${controlCuts} lost rows, up to ${mostLost}`
      const names = Object.keys(reports) as (keyof ControlReports)[]
      const shown = Object.fromEntries(names.map((name) => [name, show(reports[name])]))
      printTable('Power cuts of PostgreSQL, controls', { cuts: controlCuts, ...shown })
      assert.equal(reports.safe.cutsWithLoss, 0)
      for (const careless of ['synchronous_commit=off', 'fsync=off'] as const)
        assert.ok(reports[careless].cutsWithLoss > controlCuts / 2, `${careless} lost too little to trust this harness`)
    },
    deadlineMs,
  )
})
