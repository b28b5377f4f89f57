import assert from 'node:assert/strict'
import { it } from 'vitest'
import { reportsArrival } from './adapter-capabilities.ts'

it('an adapter reports of each message where it says sent or delivered: many are never read, and few fail', () => {
  const reports = (...receipts: readonly string[]) => reportsArrival({ capabilities: { receipts } })

  assert.deepEqual(
    [reports('sent'), reports('delivered', 'read'), reports('read', 'failed'), reports(), reportsArrival({})],
    [true, true, false, false, true],
  )
})
