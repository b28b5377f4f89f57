import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Checkpoint } from './checkpoint.ts'
import { type KnownPast, knowsAllSince, type Replaced } from './checkpoint.ts'

const REMEMBERED: Checkpoint = { installation: 'ours', mark: 100, holds: 2, server: null }
const PAST: KnownPast = { holds: 2, remembered: REMEMBERED }

describe('what a replaced database knows of the time since the backup', () => {
  it.each<[string, Partial<Replaced>, Partial<KnownPast>]>([
    ['it went on from the backup', {}, {}],
    ['people have held it since', { holds: 4, placed: 2 }, {}],
    ['nothing is remembered', { mark: 1 }, { remembered: null }],
    ['something else is remembered', { mark: 1 }, { remembered: { ...REMEMBERED, installation: 'theirs' } }],
    ['the backup was made after it was restored', { holds: 3 }, { holds: 3 }],
  ])('G12: is all of it when %s', (_, replaced, past) => {
    assert.equal(knowsAllSince({ ...PAST, ...past }, { ...REMEMBERED, placed: 0, ...replaced }), true)
  })

  it.each<[string, Partial<Replaced>, Partial<KnownPast>]>([
    ['it was restored or found gone back', { mark: 50, holds: 3 }, {}],
    ['that was long ago, and people have held it, too', { mark: 900, holds: 4, placed: 1 }, {}],
    ['it was put back, and no process has served it yet', { mark: 99 }, {}],
    ['what is remembered cannot be read', {}, { remembered: 'unreadable' }],
    ['it is older than the backup', { holds: 1 }, { remembered: null }],
  ])('G12: is not all of it when %s', (_, replaced, past) => {
    assert.equal(knowsAllSince({ ...PAST, ...past }, { ...REMEMBERED, placed: 0, ...replaced }), false)
  })
})
