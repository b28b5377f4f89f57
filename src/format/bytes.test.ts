import assert from 'node:assert/strict'
import { it } from 'vitest'
import { bytesText } from './bytes.ts'

it.each([
  [0, '0 bytes'],
  [1_023, '1023 bytes'],
  [1_024, '1.0 KB'],
  [4.25 * 1_048_576, '4.3 MB'],
  [200 * 1_048_576, '200 MB'],
  [5_000 * 1024 ** 4, '5000 TB'],
])('writes %d bytes as %s', (bytes, text) => {
  assert.equal(bytesText(bytes), text)
})
