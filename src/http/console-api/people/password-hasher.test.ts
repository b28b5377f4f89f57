import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { COST, PasswordHasher } from './password-hasher.ts'

const CHEAP = { memoryKib: 19_456, passes: 2 }

describe('hashes of passwords', () => {
  it('are Argon2id of 64 MiB and 3 passes, each with a salt of its own', async () => {
    const hasher = new PasswordHasher()

    const [one, other] = [await hasher.hash('secret'), await hasher.hash('secret')]

    assert.match(one, /^\$argon2id\$v=19\$m=65536,t=3,p=1\$/)
    assert.notEqual(one, other)
    assert.deepEqual([await hasher.isRight('secret', one), await hasher.isRight('Secret', one)], [true, false])
    assert.equal(hasher.isOutdated(one), false)
    assert.deepEqual(COST, { memoryKib: 65_536, passes: 3 })
  })

  it('match for all Unicode compositions of the same letters', async () => {
    const hasher = new PasswordHasher(CHEAP)

    assert.equal(await hasher.isRight('cafe\u0301', await hasher.hash('caf\u00e9')), true)
  })

  it('are outdated when the parameters change', async () => {
    const phc = await new PasswordHasher(CHEAP).hash('secret')

    assert.equal(new PasswordHasher().isOutdated(phc), true)
    assert.equal(await new PasswordHasher().isRight('secret', phc), true)
  })

  it.each([
    ['cheaper than the floor', '$argon2id$v=19$m=1024,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$'],
    ['dear enough to stop the service', '$argon2id$v=19$m=9999999,t=99,p=1$AAAAAAAAAAAAAAAAAAAAAA$'],
    ['of another kind', '$argon2i$v=19$m=65536,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$'],
  ])('%s never match', async (_, start) => {
    assert.equal(await new PasswordHasher(CHEAP).isRight('', `${start}${'A'.repeat(43)}`), false)
  })

  it('cannot be cheaper than the minimum', () => {
    assert.throws(() => new PasswordHasher({ memoryKib: 8_192, passes: 1 }))
  })

  it('are computed two at once; 20 wait, and the next one is refused', async () => {
    const hasher = new PasswordHasher(CHEAP)

    const said = await Promise.allSettled(Array.from({ length: 25 }, () => hasher.hash('secret')))

    const refused = said.filter((result) => result.status === 'rejected')
    assert.deepEqual(
      refused.map(({ reason }) => (reason as { code: string }).code),
      ['passwords_busy', 'passwords_busy', 'passwords_busy'],
    )
    assert.match(await hasher.hash('secret'), /^\$argon2id/)
  })
})
