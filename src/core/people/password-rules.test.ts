import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkPassword } from './password-rules.ts'

const ANNA = { email: 'anna.smith@acme.example', name: 'Anna Smith', hasSecondFactor: false }

function check(password: string, owner = ANNA): string {
  try {
    checkPassword(password, owner)
    return 'fine'
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('passwords', () => {
  it.each([
    'violet tractor napkin',
    'ein Fahrrad ohne Klingel',
    '日本語の長いパスワードです、ほんとうに',
    'kP9$wqL2!vRz8#tBn',
    'violet tractor napkin '.repeat(3),
  ])('may be %s', (password) => assert.equal(check(password), 'fine'))

  it.each([
    ['too short', 'violet tractor'],
    ['one sign', 'a'.repeat(40)],
    ['a repeated bit', 'abcabcabcabcabcabc'],
    ['a row of keys', 'qwertyuiopasdfghjklzxcvbnm'],
    ['counting', '1234567890123456789'],
    ['a common word with digits', 'Password1234567890'],
    ['the same in disguise', 'P@$$w0rdP@$$w0rd!2026'],
    ['words of the product', 'Nuncio-Console-Token-2026'],
    ['the owner’s e-mail', 'anna.smith@acme.example'],
    ['the owner’s name and a year', 'Anna Smith 1985 1985 1985'],
    ['more than 256 bytes', 'violet tractor napkin '.repeat(12)],
  ])('may not be %s', (_, password) => assert.equal(check(password), 'password_weak'))

  it('may be shorter beside a second factor', () => {
    assert.equal(check('tractor napk'), 'password_weak')
    assert.equal(check('tractor napk', { ...ANNA, hasSecondFactor: true }), 'fine')
  })
})
