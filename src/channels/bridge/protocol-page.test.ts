import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { BRIDGE_REASONS, bridgeReason, SENT_AFTER_REJECTION } from '../../core/reasons/bridge.ts'
import { isReasonCode } from '../../core/reasons.ts'
import { parseEvidence, parseHealth, parseOutcome, parseReceipts } from './protocol.ts'

const PAGE = readFileSync(new URL('../../../docs/channels/bridge-protocol.md', import.meta.url), 'utf8')
const ATTEMPT_ID = '0199f3c4-7a1e-7c3a-9d5e-2f1b7c8d9e0a_1'

/** The words in code in the first column of the table under this heading. */
function firstColumn(heading: string): readonly string[] {
  const [, table = ''] = PAGE.split(`| \`${heading}\` |`)
  const rows = table.split('\n\n')[0]?.split('\n').slice(2) ?? []
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, word = '']) => word))
}

function example(type: string): unknown {
  const blocks = [...PAGE.matchAll(/```json\n(.*?)\n```/gs)].map(
    ([, text = '']) => JSON.parse(text) as { type: string },
  )
  return blocks.find((block) => block.type === type)
}

describe('the page about the bridge protocol', () => {
  it('lists the codes that Nuncio has a reason for, and no other', () => {
    const listed = firstColumn('code')
    const reasons = listed.map((code) => bridgeReason(code))
    // These are no codes of an adapter.
    const own = ['bridge_other', 'bridge_url_blocked', 'bridge_not_ready', SENT_AFTER_REJECTION]
    const known = Object.keys(BRIDGE_REASONS).filter((reason) => !own.includes(reason))

    for (const { reason, code } of reasons) assert.ok(code === null && isReasonCode(reason), reason)
    assert.deepEqual(
      reasons.map(({ reason }) => reason).toSorted(),
      [...known, 'media_not_ready', 'type_unsupported'].toSorted(),
    )
  })

  it('lists each class, result and state that is read, and no other', () => {
    const outcome = { type: 'outcome', attemptId: ATTEMPT_ID, networkId: 'n', code: 'busy', class: 'permanent' }
    const evidence = { type: 'evidence', attemptId: ATTEMPT_ID, networkId: 'n', logSince: 1 }

    for (const result of firstColumn('result')) assert.ok(parseOutcome({ ...outcome, result }, ATTEMPT_ID), result)
    for (const kind of firstColumn('class'))
      assert.ok(parseOutcome({ ...outcome, result: 'rejected', class: kind }, ATTEMPT_ID), kind)
    for (const state of firstColumn('state')) assert.ok(parseEvidence({ ...evidence, state }, ATTEMPT_ID), state)
    assert.deepEqual(
      [firstColumn('result'), firstColumn('class'), firstColumn('state')].map((words) => words.length),
      [3, 4, 6],
    )
  })

  it('shows examples that are read', () => {
    const health = example('health') as { capabilities: object }
    assert.deepEqual(
      Object.keys(parseHealth(health)?.capabilities ?? {}).toSorted(),
      Object.keys(health.capabilities).toSorted(),
    )
    assert.equal(parseReceipts(example('receipts'))?.receipts.length, 1)
  })
})
