import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import { testSecrets } from '../../../../test/support/secrets.ts'
import { SecretUnreadable } from '../../../core/ports/secrets.ts'
import { openTotp, sealTotp } from './sealed-totp.ts'
import { TOTP_SECRET_BYTES } from './totp.ts'

const secrets = testSecrets()

describe('the secret of a code app', () => {
  it('is restored byte for byte, and not readable in storage', () => {
    for (let times = 0; times < 50; times++) {
      const secret = randomBytes(TOTP_SECRET_BYTES)
      const kept = sealTotp(secrets, 'per_1', secret)

      assert.deepEqual(openTotp(secrets, 'per_1', kept), secret)
      assert.ok(!kept.includes(secret) && secrets.isSealed(kept.toString()))
    }
  })

  it('of one person does not open for another', () => {
    const kept = sealTotp(secrets, 'per_1', randomBytes(TOTP_SECRET_BYTES))

    assert.throws(() => openTotp(secrets, 'per_2', kept), SecretUnreadable)
  })

  it('is refused if it was not encrypted for this purpose', () => {
    assert.throws(() => openTotp(secrets, 'per_1', randomBytes(TOTP_SECRET_BYTES)), SecretUnreadable)
  })
})
