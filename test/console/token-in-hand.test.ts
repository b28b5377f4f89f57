import assert from 'node:assert/strict'
import { it } from 'vitest'
import { isTokenOf } from '../../console/components/token-in-hand.ts'

it('a token that the tab still has is recognised by the prefix that the list shows', () => {
  assert.ok(isTokenOf('nco_0000aaaaSecretSecretSecret', '0000aaaa'))
  assert.ok(!isTokenOf('nco_1111bbbbSecretSecretSecret', '0000aaaa'))
  assert.ok(!isTokenOf(null, '0000aaaa'))
})
