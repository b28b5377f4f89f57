import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { describe, it } from 'vitest'
import type { MessageId } from '../../core/ids.ts'
import { isSampled, readTraceparent, spanIdOf, traceIdOf } from './trace-ids.ts'

const MESSAGE = '0197d2a4-1234-7abc-9def-000000000001' as MessageId

describe('the ids of a trace', () => {
  it('are made of the message alone, so that any process finds them', () => {
    assert.equal(traceIdOf(MESSAGE), '0197d2a412347abc9def000000000001')
    assert.equal(spanIdOf(MESSAGE, 'attempt 1'), spanIdOf(MESSAGE, 'attempt 1'))
    assert.match(spanIdOf(MESSAGE, 'attempt 1'), /^[0-9a-f]{16}$/)
    assert.notEqual(spanIdOf(MESSAGE, 'attempt 1'), spanIdOf(MESSAGE, 'attempt 2'))
  })

  it('choose about as many messages as are wanted, and each for a smaller share for a larger one too', () => {
    const ids = Array.from({ length: 4_000 }, () => randomUUIDv7() as MessageId)

    const [few, many] = [10, 60].map((percent) => new Set(ids.filter((id) => isSampled(id, percent))))

    assert.ok(few!.size > 280 && few!.size < 520, String(few!.size))
    assert.ok(many!.size > 2_200 && many!.size < 2_600, String(many!.size))
    assert.ok([...few!].every((id) => many!.has(id)))
    assert.ok(ids.every((id) => isSampled(id, 100)))
  })
})

describe('a traceparent', () => {
  it('is read as W3C Trace Context writes it', () => {
    assert.deepEqual(readTraceparent('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'), {
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      flags: 1,
    })
  })

  it.each([
    ['nothing', ''],
    ['another version', '01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['capital letters', '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01'],
    ['no trace', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['no span', '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'],
    ['more behind it', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x'],
    ['two of them', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4b'],
    ['a line break', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n'],
  ])('is ignored when it is %s', (_, text) => {
    assert.equal(readTraceparent(text), null)
  })
})
