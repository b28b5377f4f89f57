import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { decideAfterClose } from './close-code.ts'

const NOW = Date.UTC(2026, 10, 27)
const CLOSE = { code: null, expiresInMs: null, failures: 1, restarts: 1, now: NOW, random: 0.5 }
const MINUTE = 60_000

describe('after a line to WhatsApp has ended, the session', () => {
  it.each([
    { code: 515, status: 'connecting', afterMs: 0 },
    { code: 428, status: 'connecting', afterMs: 1_000 },
    { code: 408, status: 'connecting', afterMs: 1_000 },
    { code: 503, status: 'connecting', afterMs: 1_000 },
    { code: 500, status: 'connecting', afterMs: 1_000 },
    { code: 999, status: 'connecting', afterMs: 1_000 },
    { code: null, status: 'connecting', afterMs: 1_000 },
    { code: 401, status: 'unlinked', afterMs: null },
    { code: 406, status: 'unlinked', afterMs: null },
    { code: 403, status: 'banned', afterMs: null },
    { code: 402, status: 'banned', afterMs: 24 * 60 * MINUTE },
    { code: 440, status: 'taken-elsewhere', afterMs: null },
    { code: 400, status: 'client-refused', afterMs: 15 * MINUTE },
    { code: 405, status: 'client-refused', afterMs: 15 * MINUTE },
    { code: 409, status: 'client-refused', afterMs: 60 * MINUTE },
    { code: 411, status: 'client-refused', afterMs: 60 * MINUTE },
    ...[413, 414, 415, 416, 417, 418].map((code) => ({ code, status: 'client-refused', afterMs: 60 * MINUTE })),
  ])('with code $code is $status, and connects after $afterMs ms', ({ code, status, afterMs }) => {
    const after = decideAfterClose({ ...CLOSE, code })

    assert.deepEqual([after.status.name, after.reconnectAfterMs], [status, afterMs])
  })

  it('is banned until the time that WhatsApp named, and connects then', () => {
    const after = decideAfterClose({ ...CLOSE, code: 402, expiresInMs: 5_000 })

    assert.deepEqual(after, { status: { name: 'banned', until: NOW + 5_000 }, reconnectAfterMs: 5_000 })
  })

  it('connects ever later: from 1 s to 60 s, and after many failures every 5 min, by half more or less', () => {
    const waits = [1, 2, 3, 6, 7, 15, 16].map((failures) => decideAfterClose({ ...CLOSE, failures }).reconnectAfterMs)
    const jittered = [0, 0.999].map((random) => decideAfterClose({ ...CLOSE, failures: 7, random }).reconnectAfterMs)

    assert.deepEqual(waits, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 300_000])
    assert.deepEqual(jittered, [30_000, 89_940])
  })

  it('waits 15 min once WhatsApp has answered five times in a row with an error of its own', () => {
    const [fourth, fifth] = [4, 5].map((failures) => decideAfterClose({ ...CLOSE, code: 500, failures }))

    assert.deepEqual([fourth?.reconnectAfterMs, fifth?.reconnectAfterMs], [8_000, 15 * MINUTE])
  })

  it('is not opened again at once when WhatsApp asks for that more than three times in a minute', () => {
    const [third, fourth] = [3, 4].map((restarts) => decideAfterClose({ ...CLOSE, code: 515, restarts }))

    assert.deepEqual([third?.reconnectAfterMs, fourth?.reconnectAfterMs], [0, 1_000])
  })
})
