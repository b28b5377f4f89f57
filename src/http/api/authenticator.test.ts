import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import type { Intake } from '../../core/ports/intake.ts'
import type { Token } from '../../core/token/token.ts'
import { createToken } from '../../core/token/token-format.ts'
import { Authenticator } from './authenticator.ts'

function authenticatorKnowing(known: ReadonlySet<string>, { later = false } = {}) {
  const lookUps: string[] = []
  const hashes = new Set<Buffer>()
  const find = (hex: string) => (known.has(hex) ? ({ id: hex } as unknown as Token) : null)
  const intake = {
    findToken: (sha256: Buffer) => {
      const hex = sha256.toString('hex')
      lookUps.push(hex)
      hashes.add(sha256)
      return later ? Promise.resolve(find(hex)) : find(hex)
    },
  } as unknown as Intake
  return { authenticator: new Authenticator(intake), lookUps, hashes }
}

function idOf(found: ReturnType<Authenticator['findToken']>): string | undefined {
  assert.ok(!(found instanceof Promise), 'an answer that is there at once must not be waited for')
  return found?.id
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

describe('finding a token', () => {
  it('queries storage by the SHA-256, every time', () => {
    const text = createToken(randomBytes)
    const known = new Set([sha256(text)])
    const { authenticator, lookUps } = authenticatorKnowing(known)

    assert.equal(idOf(authenticator.findToken(text)), sha256(text))
    assert.equal(idOf(authenticator.findToken(text)), sha256(text))
    known.clear()
    // Deleted in between: the cache must not answer.
    assert.equal(authenticator.findToken(text), null)
    assert.deepEqual(lookUps, [sha256(text), sha256(text), sha256(text)])
  })

  it('does not look up malformed tokens', () => {
    const { authenticator, lookUps } = authenticatorKnowing(new Set())

    for (const text of ['', 'nco_', `nco_${'a'.repeat(38)}`, 'x'.repeat(8000)]) {
      assert.equal(idOf(authenticator.findToken(text)), undefined)
    }

    assert.deepEqual(lookUps, [])
  })

  it('waits for an asynchronous look-up, and queries storage every time', async () => {
    const text = createToken(randomBytes)
    const known = new Set([sha256(text)])
    const { authenticator, lookUps } = authenticatorKnowing(known, { later: true })

    const answers = [await authenticator.findToken(text), await authenticator.findToken(text)]
    known.clear()

    assert.deepEqual(
      answers.map((token) => token?.id),
      [sha256(text), sha256(text)],
    )
    assert.equal(await authenticator.findToken(text), null)
    assert.equal(lookUps.length, 3)
  })

  it.each([false, true])('hashes a token that exists once, one that does not every time: waits %s', async (later) => {
    const [text, guess] = [createToken(randomBytes), createToken(randomBytes)]
    const { authenticator, hashes } = authenticatorKnowing(new Set([sha256(text)]), { later })

    for (let asked = 0; asked < 3; asked++) await authenticator.findToken(text)
    assert.equal(hashes.size, 1)
    for (let asked = 0; asked < 3; asked++) await authenticator.findToken(guess)
    assert.equal(hashes.size, 4)
  })

  it('works with more tokens than it caches', () => {
    const texts = Array.from({ length: 2100 }, () => createToken(randomBytes))
    const { authenticator } = authenticatorKnowing(new Set(texts.map(sha256)))

    for (const text of [...texts, ...texts]) assert.equal(idOf(authenticator.findToken(text)), sha256(text))
  })
})
