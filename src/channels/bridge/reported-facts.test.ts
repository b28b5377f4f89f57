import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ConnectionId } from '../../core/ids.ts'
import { createReadReported } from '../registry.ts'
import { BRIDGE } from './name.ts'

const TEXTS = { types: ['message'], maxTextLength: null, maxCaptionLength: null, evidence: false }

describe('what is shown of the reports of an adapter', () => {
  it.each([
    {
      what: 'when it last reported',
      receipts: ['delivered'],
      at: Date.UTC(2026, 10, 26, 4, 19, 57),
      shown: ['2026-11-26 04:19 UTC'],
    },
    { what: 'that it has reported nothing yet', receipts: ['delivered'], at: null, shown: ['none yet'] },
    { what: 'nothing, because it says that it reports nothing', receipts: [], at: null, shown: [] },
  ])('is $what', async ({ receipts, at, shown }) => {
    const read = createReadReported(() => ({ list: () => Promise.reject(new Error('Nothing is remembered')) }), {
      now: () => 0,
    })

    const facts = await read(
      {
        id: 'con_1' as ConnectionId,
        channel: BRIDGE,
        channelSettings: { url: 'http://127.0.0.1:7900', capabilities: { ...TEXTS, receipts } },
        lastReportAt: at,
      },
      null,
    )

    assert.deepEqual(
      facts.map(({ label, value }) => [label, value]),
      shown.map((value) => ['Last report', value]),
    )
  })
})
