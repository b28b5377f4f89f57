import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { ENGINES, readRows } from '../support/journey/engines.ts'
import type { Journey } from '../support/journey/start-nuncio.ts'

const DEADLINE = { deadlineMs: 20_000 }

describe.each(ENGINES)('the watchdog of a running service, on $name', ({ start }) => {
  const open = async ({ operator }: Journey) => {
    const alarms = await operator.alarms.readOpen({ accountId: null, seesInstallation: true })
    return alarms.map(({ kind }) => kind)
  }
  const metricsOf = async ({ url }: Journey) => (await fetch(`${url}/metrics`)).text()

  it('reports a hold at its first check, in the log, in metrics and to the account, and clears it after a restart', async () => {
    const log: string[] = []
    const before = await start({ onLog: (line) => void log.push(line) })
    await before.operator.administration.holdLanes('a check of the disks', 'test')

    const held = await before.restart()
    await waitUntil('the hold is found', async () => (await open(held)).includes('lanes_held'), DEADLINE)
    await waitUntil(
      'the check is counted',
      async () => (await metricsOf(held)).includes('nuncio_alarms_open{kind="lanes_held",severity="critical"} 1'),
      DEADLINE,
    )
    const again = await held.restart()
    await waitUntil(
      'it checks',
      async () => /nuncio_watchdog_checks_total [1-9]/.test(await metricsOf(again)),
      DEADLINE,
    )
    const raised = log.filter((line) => line.includes('"alarm.raised"') && line.includes('lanes_held')).length
    const stillOpen = await open(again)
    await again.operator.administration.releaseHold('test')
    const released = await again.restart()
    await waitUntil('it is over', async () => !(await open(released)).includes('lanes_held'), DEADLINE)
    await waitUntil('that is logged', async () => log.some((line) => line.includes('"alarm.cleared"')), DEADLINE)

    assert.deepEqual([raised, stillOpen.includes('lanes_held')], [1, true])
    const rows = await readRows(released, `select kind, is_announced, cleared_at from alarm where kind = 'lanes_held'`)
    assert.deepEqual(
      rows.map((row) => [row['kind'], row['cleared_at'] !== null]),
      [['lanes_held', true]],
    )
  })

  it('finds no fault in a healthy service, and reports the room on the disk and the oldest waiting message', async () => {
    const service = await start({ settings: { NUNCIO_ALARM_DISK_FREE_PERCENT: '0' } })
    const { messageId } = await service.text('15551234567', 'Hello')
    await service.reaches(messageId, 'PUBLISHED')

    await waitUntil(
      'it checks',
      async () => /nuncio_watchdog_checks_total [1-9]/.test(await metricsOf(service)),
      DEADLINE,
    )
    const text = await metricsOf(service)

    assert.deepEqual(await open(service), [])
    assert.match(text, /nuncio_disk_free_bytes\{volume="(database|data)"\} [1-9]/)
    assert.match(text, /nuncio_oldest_waiting_seconds 0/)
  })
})
