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
let polled: (AccountId | 'all')[]

beforeEach(() => {
  clock = new HandMovedClock()
  marks = new Map([['all', '0']])
  polled = []
  const poll = async (at: AccountId | 'all') => {
    polled.push(at)
    return marks.get(at) ?? ''
  }
  watch = new ChangeWatch({
    changes: { poll: () => poll('all'), pollAccount: poll },
    clock,
    onError: () => {},
  })
})

/** The seconds in which a listener to this account is notified. */
function listen(account: AccountId): number[] {
  const notified: number[] = []
  const from = clock.now()
  watch.listen(account, () => notified.push((clock.now() - from) / SECOND_MS))
  return notified
}

async function passSeconds(seconds: number, each: (second: number) => void): Promise<void> {
  for (let second = 1; second <= seconds; second++) {
    each(second)
    await clock.move(SECOND_MS)
  }
}

describe('the watch for changes', () => {
  it('notifies at once of an account’s own changes, and of all others at most every five seconds', async () => {
    const notified = listen(ACME)

    await passSeconds(13, (second) => {
      marks.set('all', `busy others, ${second}`)
      if (second === 7) marks.set(ACME, 'b')
    })

    assert.deepEqual(notified, [5, 7, 12])
  })

  it('notifies of a single other change within five seconds, once', async () => {
    const notified = listen(ACME)

    await passSeconds(20, (second) => {
      if (second === 8) marks.set('all', 'a setting')
    })

    assert.deepEqual(notified, [5, 10])
  })

  it('notifies once after a listener was added, because its page was loaded a little before', async () => {
    const notified = listen(ACME)

    await passSeconds(20, () => {})

    assert.deepEqual(notified, [5])
  })

  it('does not notify of changes in other accounts', async () => {
    const [own, foreign] = [listen(ACME), listen(OTHERS)]

    await passSeconds(3, (second) => {
      marks.set('all', String(second))
      marks.set(OTHERS, String(second))
    })

    // The first poll only reads the state at the beginning.
    assert.deepEqual([own, foreign], [[], [2, 3]])
  })

  it('polls accounts only after something was committed', async () => {
    listen(ACME)
    await passSeconds(1, () => {})
    polled = []

    await passSeconds(3, () => {})

    assert.deepEqual(polled, ['all', 'all', 'all'])
  })
})
