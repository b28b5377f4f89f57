import assert from 'node:assert/strict'
import { it } from 'vitest'
import { isTokenOf } from '../../console/components/token-in-hand.ts'

it('a token in hand is known by the beginning that the list shows', () => {
  assert.ok(isTokenOf('nco_0000aaaaSecretSecretSecret', '0000aaaa'))
  assert.ok(!isTokenOf('nco_1111bbbbSecretSecretSecret', '0000aaaa'))
  assert.ok(!isTokenOf(null, '0000aaaa'))
})
