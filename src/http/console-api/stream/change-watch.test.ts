import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { HandMovedClock } from '../../../../test/support/console-world/hand-moved-clock.ts'
import type { AccountId } from '../../../core/ids.ts'
import { ChangeWatch } from './change-watch.ts'

const SECOND_MS = 1000
const ACME = 'acc_acme' as AccountId
const OTHERS = 'acc_others' as AccountId

let clock: HandMovedClock
let watch: ChangeWatch
let marks: Map<AccountId | 'all', string>
let looked: (AccountId | 'all')[]

beforeEach(() => {
  clock = new HandMovedClock()
  marks = new Map([['all', '0']])
  looked = []
  const poll = async (at: AccountId | 'all') => {
    looked.push(at)
    return marks.get(at) ?? ''
  }
  watch = new ChangeWatch({
    changes: { poll: () => poll('all'), pollAccount: poll },
    clock,
    onError: () => {},
  })
})

/** In which seconds a listener to this account is told. */
function listen(account: AccountId): number[] {
  const told: number[] = []
  const from = clock.now()
  watch.listen(account, () => told.push((clock.now() - from) / SECOND_MS))
  return told
}

async function passSeconds(seconds: number, each: (second: number) => void): Promise<void> {
  for (let second = 1; second <= seconds; second++) {
    each(second)
    await clock.move(SECOND_MS)
  }
}

describe('the watch for changes', () => {
  it('tells at once of what is an account’s own, and of all else no more often than every five seconds', async () => {
    const told = listen(ACME)

    await passSeconds(13, (second) => {
      marks.set('all', `busy others, ${second}`)
      if (second === 7) marks.set(ACME, 'b')
    })

    assert.deepEqual(told, [5, 7, 12])
  })

  it('tells of a single change that is not its own within five seconds, and then no more', async () => {
    const told = listen(ACME)

    await passSeconds(20, (second) => {
      if (second === 8) marks.set('all', 'a setting')
    })

    assert.deepEqual(told, [5, 10])
  })

  it('tells once after somebody began to listen, because a page is loaded a little before', async () => {
    const told = listen(ACME)

    await passSeconds(20, () => {})

    assert.deepEqual(told, [5])
  })

  it('tells nobody of what happens in an account of others', async () => {
    const [own, foreign] = [listen(ACME), listen(OTHERS)]

    await passSeconds(3, (second) => {
      marks.set('all', String(second))
      marks.set(OTHERS, String(second))
    })

    // How things stood when it began to listen it learns in the first.
    assert.deepEqual([own, foreign], [[], [2, 3]])
  })

  it('looks at accounts only after something was committed', async () => {
    listen(ACME)
    await passSeconds(1, () => {})
    looked = []

    await passSeconds(3, () => {})

    assert.deepEqual(looked, ['all', 'all', 'all'])
  })
})
