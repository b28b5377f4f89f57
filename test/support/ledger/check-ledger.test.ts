import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { assertClean } from './assert-clean.ts'
import { checkLedger, type LedgerFaults } from './check-ledger.ts'
import { findFalseQuarantines } from './find-false-quarantines.ts'
import { type MadeUpRun, madeUpRun } from './made-up-run.ts'

/** One invented fault of each kind, with the only list of the ledger that must show it. */
const FAULTS: readonly {
  readonly name: string
  readonly kind: keyof LedgerFaults
  readonly make: (run: MadeUpRun) => void
}[] = [
  { name: 'an acknowledged message that the log has lost', kind: 'lost', make: (run) => forget(run, 'message-9') },
  { name: 'one id given to two requests', kind: 'lost', make: (run) => answer(run, 23, 'message-9') },
  {
    name: 'a message that no client sent',
    kind: 'unexpected',
    make: (run) => invent(run, { to: '447999999999', text: 'text 9' }),
  },
  {
    name: 'a message stored though it was refused',
    kind: 'unexpected',
    make: (run) => invent(run, requestOf(run, 7)),
  },
  { name: 'two messages made of one request', kind: 'unexpected', make: (run) => invent(run, requestOf(run, 9)) },
  {
    name: 'a delivery that is no message',
    kind: 'unexpected',
    make: (run) => deliverTo(run, 'message-9', { messageId: 'x' }),
  },
  { name: 'a message delivered twice', kind: 'duplicated', make: (run) => deliverTo(run, 'message-9', {}) },
  { name: 'a call repeated after it was accepted', kind: 'duplicated', make: (run) => repeat(run, 'accepted') },
  { name: 'a call repeated without knowing', kind: 'duplicated', make: (run) => repeat(run, 'unknown') },
  {
    name: 'two neighbours delivered in the wrong order',
    kind: 'reordered',
    make: (run) => swapDeliveries(run, 13, 16),
  },
  { name: 'a message delivered long after its turn', kind: 'reordered', make: (run) => deliverLast(run, 'message-0') },
  {
    name: 'first attempts in the wrong order',
    kind: 'reordered',
    make: (run) => swapAttempts(run, 'message-13', 'message-16'),
  },
  {
    name: 'a message passed by a later one to another recipient',
    kind: 'overtaken',
    make: (run) => swapAttempts(run, 'message-10', 'message-13'),
  },
  {
    name: 'two attempts open at once',
    kind: 'overlapping',
    make: (run) => changeAttempt(run, 'message-6', { endedAt: 95 }),
  },
  {
    name: 'an attempt left open under the next',
    kind: 'overlapping',
    make: (run) => changeAttempt(run, 'message-6', { endedAt: null }),
  },
  { name: 'a changed text', kind: 'corrupted', make: (run) => changeDelivery(run, 'message-9', { text: 'text 9 ' }) },
  {
    name: 'a delivery to another recipient',
    kind: 'corrupted',
    make: (run) => changeDelivery(run, 'message-9', { to: '4479999999' }),
  },
  {
    name: 'a message left waiting',
    kind: 'unfinished',
    make: (run) => change(run, 'message-23', { state: 'QUEUED', reason: 'retrying' }),
  },
  {
    name: 'a message left open',
    kind: 'unfinished',
    make: (run) => change(run, 'message-23', { state: 'SENDING', reason: 'sending' }),
  },
  {
    name: 'shown as sent, never delivered',
    kind: 'logLies',
    make: (run) => change(run, 'message-23', { state: 'PUBLISHED', reason: null }),
  },
  {
    name: 'shown as failed, yet delivered',
    kind: 'logLies',
    make: (run) => change(run, 'message-9', { state: 'FAILED', reason: 'busy' }),
  },
  {
    name: 'shown as expired, yet delivered',
    kind: 'logLies',
    make: (run) => change(run, 'message-9', { state: 'EXPIRED', reason: 'time_to_live_over' }),
  },
  {
    name: 'a failure without a reason',
    kind: 'unexplained',
    make: (run) => change(run, 'message-1', { state: 'FAILED', reason: null }),
  },
]

/** The waits during which a message may be passed by later ones. */
const DEFERRED: readonly { readonly name: string; readonly make: (run: MadeUpRun) => void }[] = [
  { name: 'its file', make: (run) => change(run, 'message-10', { mediaEndedAt: 125 }) },
  {
    name: 'an earlier one to its recipient that is tried again',
    make: (run) => {
      addEarlier(run, 'message-10', { number: 1, startedAt: 91, endedAt: 92 })
      addEarlier(run, 'message-10', { number: 2, startedAt: 93, endedAt: 101 })
    },
  },
]

describe('the ledger', () => {
  it('adds up for a run without faults', () => {
    const ledger = checkLedger(madeUpRun())

    assertClean(ledger)
    assert.deepEqual(ledger.counts, { requests: 60, acked: 42, refused: 6, unknown: 12, recovered: 6, delivered: 41 })
    assert.deepEqual(ledger.states, { PUBLISHED: 27, FAILED: 3, UNCONFIRMED: 3, CANCELLED: 3, READ: 12 })
  })

  it.each(FAULTS)('finds $name', ({ kind, make }) => {
    const run = madeUpRun()

    make(run)

    const ledger = checkLedger(run)
    const found = Object.entries(ledger.faults).filter(([, list]) => list.length > 0)
    assert.deepEqual(
      found.map(([name]) => name),
      [kind],
    )
    assert.throws(() => assertClean(ledger), new RegExp(`${kind}: \\d`))
  })

  it('lists the front of a lane before the messages behind it', () => {
    const run = madeUpRun()
    change(run, 'message-9', { state: 'QUEUED', reason: 'behind_others' })
    change(run, 'message-23', { state: 'QUEUED', reason: 'retrying' })

    const [first, second] = checkLedger(run).faults.unfinished

    assert.match(first ?? '', /^message-23 /)
    assert.match(second ?? '', /^message-9 /)
  })

  it('accepts either order of requests that overlapped at the client', () => {
    const run = madeUpRun()
    const later = run.requests[16]
    assert.ok(later)
    run.requests[16] = { ...later, sentAt: 0 }

    swapDeliveries(run, 13, 16)
    swapAttempts(run, 'message-13', 'message-16')

    assertClean(checkLedger(run))
  })

  it.each(DEFERRED)('accepts that a message is overtaken while it waits for $name', ({ make }) => {
    const run = madeUpRun()

    make(run)
    swapAttempts(run, 'message-10', 'message-13')

    assertClean(checkLedger(run))
  })

  it('accepts an UNCONFIRMED message both delivered and not delivered', () => {
    for (const id of ['message-9', 'message-23']) {
      const run = madeUpRun()

      change(run, id, { state: 'UNCONFIRMED', reason: 'stopped_while_sending' })

      assertClean(checkLedger(run))
    }
  })
})

describe('a quarantine', () => {
  it('is true after three crashes and false after two', () => {
    const run = madeUpRun()
    change(run, 'message-6', { state: 'UNCONFIRMED', reason: 'quarantined' })

    // The attempt was open from 61 to 90.
    assert.deepEqual(findFalseQuarantines([62, 70, 90, 91], run), [])
    assert.deepEqual(findFalseQuarantines([60, 70, 90, 91], run), ['message-6 is quarantined, but met 2 crashes'])
  })
})

function forget(run: MadeUpRun, id: string): void {
  run.messages.splice(
    run.messages.findIndex((message) => message.id === id),
    1,
  )
}

function answer(run: MadeUpRun, index: number, messageId: string): void {
  const request = run.requests[index]
  assert.ok(request)
  forget(run, `message-${index}`)
  run.requests[index] = { ...request, answer: { kind: 'acked', messageId, at: request.sentAt } }
}

function requestOf(run: MadeUpRun, index: number): { to: string; text: string } {
  return { to: run.requests[index]?.to ?? '', text: `text ${index}` }
}

function invent(run: MadeUpRun, { to, text }: { to: string; text: string }): void {
  const connection = run.requests.find((request) => request.to === to)?.connection ?? '15550001001'
  run.messages.push({ id: 'invented', connection, to, state: 'FAILED', reason: 'busy', acceptedAt: 0, text })
}

/** Adds an attempt of a message to the same recipient that was accepted just before this one. */
function addEarlier(
  run: MadeUpRun,
  id: string,
  attempt: Pick<MadeUpRun['attempts'][number], 'number' | 'startedAt' | 'endedAt'>,
): void {
  const message = run.messages.find((each) => each.id === id)
  assert.ok(message)
  const earlier = {
    ...message,
    id: `before-${id}`,
    acceptedAt: message.acceptedAt - 10,
    text: null,
    state: 'FAILED',
    reason: 'busy',
  }
  if (attempt.number === 1) {
    const { id: messageId, connection, to } = earlier
    run.messages.unshift(earlier)
    run.requests.unshift({ connection, to, content: {}, sentAt: 0, answer: { kind: 'acked', messageId, at: 1 } })
  }
  run.attempts.push({ ...attempt, messageId: earlier.id, connection: earlier.connection, outcome: 'rejected' })
}

function deliverTo(run: MadeUpRun, id: string, change: Partial<MadeUpRun['inbox'][number]>): void {
  const entry = run.inbox.find(({ messageId }) => messageId === id)
  assert.ok(entry)
  run.inbox.push({ ...entry, ...change })
}

function changeDelivery(run: MadeUpRun, id: string, change: Partial<MadeUpRun['inbox'][number]>): void {
  deliverTo(run, id, change)
  const changed = run.inbox.pop()
  assert.ok(changed)
  run.inbox[run.inbox.findIndex(({ messageId }) => messageId === id)] = changed
}

function deliverLast(run: MadeUpRun, id: string): void {
  run.inbox.push(
    ...run.inbox.splice(
      run.inbox.findIndex(({ messageId }) => messageId === id),
      1,
    ),
  )
}

function swapDeliveries(run: MadeUpRun, one: number, other: number): void {
  const at = (index: number) => run.inbox.findIndex(({ messageId }) => messageId === `message-${index}`)
  const [first, second] = [run.inbox[at(one)], run.inbox[at(other)]]
  assert.ok(first && second)
  const places = [at(one), at(other)] as const
  run.inbox[places[0]] = second
  run.inbox[places[1]] = first
}

function changeAttempt(run: MadeUpRun, id: string, change: Partial<MadeUpRun['attempts'][number]>): void {
  const index = run.attempts.findIndex(({ messageId }) => messageId === id)
  const attempt = run.attempts[index]
  assert.ok(attempt)
  run.attempts[index] = { ...attempt, ...change }
}

function swapAttempts(run: MadeUpRun, one: string, other: string): void {
  changeAttempt(run, one, { messageId: 'swapped' })
  changeAttempt(run, other, { messageId: one, number: 1 })
  changeAttempt(run, 'swapped', { messageId: other, number: 1 })
}

function repeat(run: MadeUpRun, outcome: string): void {
  const attempt = run.attempts.find(({ messageId }) => messageId === 'message-6')
  assert.ok(attempt)
  changeAttempt(run, 'message-6', { outcome })
  run.attempts.push({ ...attempt, number: 9, startedAt: 10_000, endedAt: 10_001 })
}

function change(run: MadeUpRun, id: string, to: Partial<MadeUpRun['messages'][number]>): void {
  const index = run.messages.findIndex((message) => message.id === id)
  const message = run.messages[index]
  assert.ok(message)
  run.messages[index] = { ...message, ...to }
}
