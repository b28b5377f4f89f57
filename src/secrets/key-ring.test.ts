import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type SecretPlace, SecretUnreadable } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'
import { Key } from './key.ts'
import { KeyRing, type KeySet } from './key-ring.ts'
import { readSealed } from './sealed-text.ts'

const PLACE: SecretPlace = { purpose: 'connection', accountId: 'acc_1', owner: 'con_1', name: 'accessToken' }
const TOKEN = 'EAAG-not-a-real-token ünïcödé \u{1f511}'

function ringOf(...keys: readonly Key[]): KeyRing {
  return new KeyRing({ place: 'a ring', read: () => setOf(...keys) })
}

function setOf(...keys: readonly Key[]): KeySet {
  const sealsWith = keys.at(-1)
  assert.ok(sealsWith)
  return { keys, sealsWith }
}

function changed(text: string, at: number): string {
  const other = text[at] === 'A' ? 'B' : 'A'
  return text.slice(0, at) + other + text.slice(at + 1)
}

describe('a sealed text', () => {
  const key = Key.make(0)
  const ring = ringOf(key)

  it.each([TOKEN, '', 'x', 'a'.repeat(10_000)])('opens where it was sealed', (plain) => {
    assert.equal(ring.open(ring.seal(plain, PLACE), PLACE), plain)
  })

  it('names its key, shows nothing of the secret, and never repeats', () => {
    const sealed = Array.from({ length: 200 }, () => ring.seal('short', PLACE))

    for (const text of sealed) assert.match(text, /^v1\.k[0-9a-f]{8}\.[\w-]{16}\.[\w-]{7}\.[\w-]{22}$/)
    assert.equal(new Set(sealed.map((text) => text.split('.')[2])).size, sealed.length)
    assert.ok(sealed.every((text) => ring.isSealed(text) && readSealed(text)?.keyId === key.id))
  })

  it.each([
    ['of another purpose', { purpose: 'second-factor' as const }],
    ['of another account', { accountId: 'acc_2' }],
    ['of no account', { accountId: null }],
    ['of another row', { owner: 'con_2' }],
    ['under another name', { name: 'appSecret' }],
    // The same letters, split at another point.
    ['whose names only read the same in a row', { owner: 'con_1accessToken', name: '' }],
  ])('does not open in a place %s', (_, other) => {
    const sealed = ring.seal(TOKEN, PLACE)

    assert.throws(() => ring.open(sealed, { ...PLACE, ...other }), SecretUnreadable)
  })

  it('does not open with any of its letters changed', () => {
    const sealed = ring.seal('a short one', PLACE)
    const opened: number[] = []
    for (let at = 0; at < sealed.length; at++) {
      try {
        ring.open(changed(sealed, at), PLACE)
        opened.push(at)
      } catch (error) {
        assert.ok(error instanceof SecretUnreadable)
      }
    }

    assert.deepEqual(opened, [])
  })

  it('does not open when it was cut short, or the tag of another was put on it', () => {
    const [one, other] = [ring.seal('one', PLACE).split('.'), ring.seal('two', PLACE).split('.')]
    const mixed = [...one.slice(0, 4), ...other.slice(4)].join('.')
    const cut = [...one.slice(0, 3), one[3]?.slice(0, -2), one[4]].join('.')

    for (const text of [mixed, cut]) assert.throws(() => ring.open(text, PLACE), SecretUnreadable)
  })

  it('does not open with another key that has its id', () => {
    const sealed = ring.seal(TOKEN, PLACE)
    const wrong = Object.assign(Key.make(0), { id: key.id })

    assert.throws(() => ringOf(wrong).open(sealed, PLACE), SecretUnreadable)
  })

  it.each(['', TOKEN, 'v1.k12345678.AAAA.AAAA.AAAA', 'v2.k12345678.AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA'])(
    'is not what %j is',
    (text) => {
      assert.equal(ring.isSealed(text), false)
      assert.throws(() => ring.open(text, PLACE), SecretUnreadable)
    },
  )

  it('causes errors that contain neither the secret nor a key', () => {
    const sealed = ring.seal(TOKEN, PLACE)
    for (const bad of [changed(sealed, sealed.length - 3), TOKEN, ringOf(Key.make(1)).seal(TOKEN, PLACE)]) {
      assert.throws(
        () => ring.open(bad, PLACE),
        (error) => {
          const printed = `${String(error)} ${JSON.stringify(error)}`
          return (
            !printed.includes(TOKEN) && !printed.includes(bad) && !printed.includes(key.export().toString('base64url'))
          )
        },
      )
    }
    assert.ok(!JSON.stringify([key, ring]).includes(key.export().toString('base64url')))
  })
})

describe('a key ring that is open while its file changes', () => {
  it('seals with the key that the file names at that moment', () => {
    const [old, fresh] = [Key.make(0), Key.make(1)]
    let keys = setOf(old)
    const ring = new KeyRing({ place: 'a ring', read: () => keys })

    // Added, and not used yet.
    keys = { keys: [old, fresh], sealsWith: old }
    assert.equal(readSealed(ring.seal('a', PLACE))?.keyId, old.id)
    keys = { keys: [old, fresh], sealsWith: fresh }
    assert.equal(readSealed(ring.seal('a', PLACE))?.keyId, fresh.id)
  })

  it('opens what it read from the database before a key was dropped', () => {
    const [old, fresh] = [Key.make(0), Key.make(1)]
    let keys = setOf(old)
    const ring = new KeyRing({ place: 'a ring', read: () => keys })
    const sealed = ring.seal('a', PLACE)
    keys = setOf(fresh)
    ring.readAgain()

    assert.equal(ring.open(sealed, PLACE), 'a')
    assert.throws(() => new KeyRing({ place: 'a ring', read: () => keys }).open(sealed, PLACE), SecretUnreadable)
  })

  it('reads the file for an unknown key, at most once a second', () => {
    const [old, fresh, strange] = [Key.make(0), Key.make(1), Key.make(2)]
    let now = 0
    let reads = 0
    let keys = setOf(old)
    const ring = new KeyRing(
      {
        place: 'a ring',
        read: () => {
          reads += 1
          return keys
        },
      },
      () => now,
    )
    const [sealed, foreign] = [fresh.seal('new', PLACE), strange.seal('foreign', PLACE)]
    keys = setOf(old, fresh)

    // It has only just been read.
    assert.throws(() => ring.open(sealed, PLACE), /k[0-9a-f]{8}, which is not in a ring/)
    now = 1_000
    assert.equal(ring.open(sealed, PLACE), 'new')
    for (let tries = 0; tries < 1_000; tries++) assert.throws(() => ring.open(foreign, PLACE), SecretUnreadable)
    now = 1_999
    assert.throws(() => ring.open(foreign, PLACE), SecretUnreadable)
    assert.equal(reads, 2)
    now = 2_000
    assert.throws(() => ring.open(foreign, PLACE), SecretUnreadable)
    assert.equal(reads, 3)
  })

  it('opens with the known keys when the file is gone, but seals nothing', () => {
    const [key, strange] = [Key.make(0), Key.make(1)]
    let now = 0
    let isGone = false
    const ring = new KeyRing(
      {
        place: 'a ring',
        read() {
          if (isGone) throw new Refusal('key_ring_unusable')
          return setOf(key)
        },
      },
      () => now,
    )
    const sealed = ring.seal('known', PLACE)
    isGone = true
    now = 5_000

    assert.throws(() => ring.open(strange.seal('x', PLACE), PLACE), SecretUnreadable)
    assert.equal(ring.open(sealed, PLACE), 'known')
    assert.throws(() => ring.seal('y', PLACE), { code: 'key_ring_unusable' })
  })
})
