import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { endOfQuietHours, type QuietHours, startOfQuietHours } from './quiet-hours.ts'

const NIGHT: QuietHours = { from: '22:00', to: '07:00', timeZone: 'UTC' }
const LUNCH: QuietHours = { from: '12:00', to: '13:30', timeZone: 'UTC' }
const BERLIN: QuietHours = { ...NIGHT, timeZone: 'Europe/Berlin' }

function end(quiet: QuietHours, now: string): string | null {
  const at = endOfQuietHours(quiet, Date.parse(now))
  return at === null ? null : new Date(at).toISOString()
}

describe('quiet hours', () => {
  it('begin and end to the minute', () => {
    const ends = ['11:59:59.999', '12:00:00.000', '13:29:59.999', '13:30:00.000'].map((time) =>
      end(LUNCH, `2026-01-15T${time}Z`),
    )

    assert.deepEqual(ends, [null, '2026-01-15T13:30:00.000Z', '2026-01-15T13:30:00.000Z', null])
  })

  it('go over midnight', () => {
    const ends = ['21:59', '22:00', '23:59', '00:00', '06:59', '07:00'].map((time) => end(NIGHT, `2026-01-15T${time}Z`))

    const [tomorrow, today] = ['2026-01-16T07:00:00.000Z', '2026-01-15T07:00:00.000Z']
    assert.deepEqual(ends, [null, tomorrow, tomorrow, today, today, null])
  })

  it('are by the clock of their place, summer and winter', () => {
    const ends = [end(BERLIN, '2026-01-15T21:30Z'), end(BERLIN, '2026-07-15T20:30Z'), end(BERLIN, '2026-01-15T20:30Z')]

    assert.deepEqual(ends, ['2026-01-16T06:00:00.000Z', '2026-07-16T05:00:00.000Z', null])
  })

  it('end at the time that the clock shows, also in the nights in which it is set', () => {
    const [forward, back] = [end(BERLIN, '2026-03-28T22:00Z'), end(BERLIN, '2026-10-24T21:00Z')]

    assert.deepEqual([forward, back], ['2026-03-29T05:00:00.000Z', '2026-10-25T06:00:00.000Z'])
  })

  it('end when the clock jumps over their end', () => {
    const jumped: QuietHours = { from: '00:00', to: '02:30', timeZone: 'Europe/Berlin' }

    const ends = ['00:30', '00:59', '01:00'].map((time) => end(jumped, `2026-03-29T${time}Z`))

    assert.deepEqual(ends, ['2026-03-29T00:31:00.000Z', '2026-03-29T01:00:00.000Z', null])
  })

  it('never end in the past, whatever the minute and the place', () => {
    for (const timeZone of ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
      for (let now = Date.UTC(2026, 0, 1); now < Date.UTC(2027, 0, 1); now += 187 * 60_000 + 123) {
        const until = endOfQuietHours({ ...NIGHT, timeZone }, now)
        if (until !== null) assert.ok(until > now && until <= now + 10 * 3_600_000, `${timeZone} ${now}`)
      }
    }
  })

  it('begin next at the time that the clock shows, also in the nights in which it is set', () => {
    const early: QuietHours = { from: '04:00', to: '07:00', timeZone: 'Europe/Berlin' }
    const start = (quiet: QuietHours, now: string) =>
      new Date(startOfQuietHours(quiet, Date.parse(now)) ?? 0).toISOString()

    assert.deepEqual(
      [start(NIGHT, '2026-01-15T07:00Z'), start(NIGHT, '2026-01-15T21:59:59Z'), start(NIGHT, '2026-01-15T22:00Z')],
      ['2026-01-15T22:00:00.000Z', '2026-01-15T22:00:00.000Z', '2026-01-16T22:00:00.000Z'],
    )
    assert.deepEqual(
      [start(early, '2026-03-28T22:00Z'), start(early, '2026-10-24T21:00Z')],
      ['2026-03-29T02:00:00.000Z', '2026-10-25T03:00:00.000Z'],
    )
  })

  it('are none where the time zone is not known, or they begin as they end', () => {
    const unknown = { ...NIGHT, timeZone: 'Mars/Olympus' }

    assert.equal(end(unknown, '2026-01-15T23:00Z'), null)
    assert.equal(startOfQuietHours(unknown, Date.parse('2026-01-15T20:00Z')), null)
    assert.equal(startOfQuietHours({ ...NIGHT, to: '22:00' }, Date.parse('2026-01-15T20:00Z')), null)
  })
})
