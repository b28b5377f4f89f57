import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { Metrics } from './metrics.ts'

function read(text: string, name: string): number | null {
  const [, value] = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text) ?? []
  return value === undefined ? null : Number(value)
}

describe('the metrics of several processes', () => {
  it('add up what each counted, and do not add what all of them see', async () => {
    const other = new Metrics({ waiting: () => 70, lanes: () => 3 })
    const asked = new Metrics({ waiting: () => 69, lanes: () => 2 }, async () => [await other.report()])
    asked.replied(200, 'accepted', 1)
    other.replied(200, 'accepted', 1)
    other.replied(200, 'accepted', 2_000)

    const text = await asked.text()

    assert.equal(read(text, 'nuncio_requests_total'), 3)
    assert.equal(read(text, 'nuncio_request_seconds_count'), 3)
    assert.equal(read(text, 'nuncio_messages_waiting'), 70)
    assert.equal(read(text, 'nuncio_lanes_held'), 5)
  })

  it('are those of one alone where there are no others', async () => {
    const alone = new Metrics({ waiting: () => 1, lanes: () => 2 })

    const text = await alone.text()

    assert.equal(read(text, 'nuncio_lanes_held'), 2)
    assert.notEqual(read(text, 'process_start_time_seconds'), null)
  })
})
