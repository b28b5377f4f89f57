import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import type { Intake } from '../../core/ports/intake.ts'
import type { Token } from '../../core/token/token.ts'
import { createToken } from '../../core/token/token-format.ts'
import { Authenticator } from './authenticator.ts'

function authenticatorKnowing(known: ReadonlySet<string>) {
  const lookUps: string[] = []
  const intake = {
    findToken: (sha256: Buffer) => {
      const hex = sha256.toString('hex')
      lookUps.push(hex)
      return known.has(hex) ? ({ id: hex } as unknown as Token) : null
    },
  } as unknown as Intake
  return { authenticator: new Authenticator(intake), lookUps }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

describe('finding a token', () => {
  it('looks it up by its SHA-256, every time', () => {
    const text = createToken(randomBytes)
    const known = new Set([sha256(text)])
    const { authenticator, lookUps } = authenticatorKnowing(known)

    assert.ok(authenticator.findToken(text))
    assert.ok(authenticator.findToken(text))
    known.clear()
    // Deleted in between: what is remembered must not answer.
    assert.equal(authenticator.findToken(text), null)
    assert.deepEqual(lookUps, [sha256(text), sha256(text), sha256(text)])
  })

  it('does not look up what cannot be a token', () => {
    const { authenticator, lookUps } = authenticatorKnowing(new Set())

    for (const text of ['', 'nco_', `nco_${'a'.repeat(38)}`, 'x'.repeat(8000)]) authenticator.findToken(text)

    assert.deepEqual(lookUps, [])
  })

  it('goes on with more tokens than it remembers', () => {
    const texts = Array.from({ length: 2100 }, () => createToken(randomBytes))
    const { authenticator } = authenticatorKnowing(new Set(texts.map(sha256)))

    for (const text of [...texts, ...texts]) assert.equal(authenticator.findToken(text)?.id, sha256(text))
  })
})
