import assert from 'node:assert/strict'
import { it } from 'vitest'
import { inLocalTime } from '../../console/components/local-times.ts'

const NOW = Date.UTC(2026, 10, 26, 14)

it.each([
  ['Nuncio goes on at 14:32 UTC.', 'Nuncio goes on at 15:32.'],
  ['It goes on at 23:40 UTC.', 'It goes on at 00:40.'],
  ['It was deleted on 26 Nov 2026, 23:19:57 UTC.', 'It was deleted on 27 Nov 2026, 00:19.'],
  ['Paused on 3 Jul 2026, 09:00:00 UTC.', 'Paused on 3 Jul 2026, 11:00.'],
  ['It sends nothing until 07:00 UTC (08:00 in Europe/Berlin).', 'It sends nothing until 08:00.'],
  [
    'It sends nothing until 13:00 UTC (08:00 in America/New_York).',
    'It sends nothing until 14:00 (08:00 in America/New_York).',
  ],
  ['No time in it.', 'No time in it.'],
])('a sentence gives its times by the reader’s clock: %s', (text, local) => {
  assert.equal(inLocalTime(text, { now: NOW, timeZone: 'Europe/Berlin' }), local)
})
