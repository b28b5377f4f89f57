import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId, ConnectionId, Instant, MessageId } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Lanes, PassedRange } from '../../ports/lanes.ts'
import { type Candidate, LaneBuffer } from './lane-buffer.ts'

// The rarer of the faults below shows in one world of twenty.
const WORLDS = 150
const CONNECTION = '01a1fdcd-0000-7000-8000-000000000001' as ConnectionId
// The longest time that a due message may be overtaken without a break: it is checked at least once a minute, or earlier if it is woken.
const LONGEST_OVERTAKEN_MS = 15_000

interface Row {
  readonly sequence: Sequence
  readonly recipient: string
  isQueued: boolean
  attempts: number
  retryAt: Instant
  readonly mediaAt: Instant
  dueSince: Instant | null
}

type Fault = 'forgets those behind a deferred one' | 'opens what was added unseen'

describe('the buffer of a lane', () => {
  it(`keeps the order of each recipient and loses nothing (G3), in ${WORLDS} random worlds`, async () => {
    let attempts = 0
    for (let seed = 1; seed <= WORLDS; seed++) attempts += await new World(seed).run()
    assert.ok(attempts > 6_000, String(attempts))
  })

  it.each<Fault>(['forgets those behind a deferred one', 'opens what was added unseen'])(
    'is found out by these worlds when it %s',
    async (fault) => {
      await assert.rejects(async () => {
        for (let seed = 1; seed <= WORLDS; seed++) await new World(seed, fault).run()
      }, /before|never ended/)
    },
  )

  it('reads a deferred message again when its file came while it was read', async () => {
    const rows = [1, 2].map((sequence) => row(sequence, `r${sequence}`))
    const buffer = bufferOf(rows)
    const first = await take(buffer, 0)
    buffer.taken(first.message)
    buffer.wake(2)
    buffer.finish(ended(first.message, 'finalize'), 0)
    const second = await take(buffer, 0)
    buffer.defer(second.message, 60_000)
    assert.equal((await take(buffer, 0)).message.sequence, 2)
  })

  it('checks a deferred message a minute after it was read, however late its turn came', async () => {
    const rows = [1, 2].map((sequence) => row(sequence, `r${sequence}`))
    const buffer = bufferOf(rows)
    const first = (await take(buffer, 0)).message
    buffer.taken(first)
    buffer.finish(ended(first, 'finalize'), 0)
    rows[0]!.isQueued = false
    const second = await take(buffer, 70_000)
    buffer.defer(second.message, 130_000)
    assert.equal((await take(buffer, 70_000)).message.sequence, 2)
  })

  it('does not report a message as passed while its attempt is open, and reports it once it is final', async () => {
    const rows = [1, 2, 3].map((sequence) => row(sequence, `r${sequence}`))
    const buffer = bufferOf(rows)
    buffer.defer((await take(buffer, 0)).message, 50_000)
    const second = (await take(buffer, 0)).message
    buffer.taken(second)
    rows[1]!.isQueued = false
    buffer.finish(ended(second, 'finalize'), 0)
    const third = (await take(buffer, 0)).message
    buffer.taken(third)
    rows[2]!.isQueued = false
    buffer.finish(ended(third, 'finalize'), 0)
    buffer.beginTurn()
    await buffer.next(0)
    assert.deepEqual(buffer.takePassed(), [{ after: 0, through: 3, deferred: [1] }])
  })

  it('does not pass over unread messages when it meets one again that was open at the claim', async () => {
    const rows = [1, 2, 3].map((sequence) => row(sequence, `r${sequence}`))
    const buffer = bufferOf(rows)
    buffer.finish(ended(toQueued(rows[2]!), 'keep-queued'), 50_000)
    const seen = [(await take(buffer, 0)).message]
    buffer.taken(seen[0]!)
    seen.push((await take(buffer, 0)).message)
    assert.deepEqual(
      seen.map(({ sequence }) => sequence),
      [1, 2],
    )
    assert.equal(buffer.deferredCount, 1)
  })

  it('reads at most one chunk per turn, and longer ones once nothing in a chunk may go', async () => {
    const limits: number[] = []
    const rows = Array.from({ length: 600 }, (_, at) => row(at + 1, 'same'))
    const buffer = bufferOf(rows, limits)
    buffer.defer((await take(buffer, 0)).message, 50_000)
    for (let turn = 0; turn < 4; turn++) {
      buffer.beginTurn()
      assert.equal(await buffer.next(1), null)
    }
    assert.deepEqual(limits, [32, 256, 256, 256])
    assert.deepEqual([buffer.deferredCount, buffer.mayHaveMore], [600, false])
  })
})

function bufferOf(rows: readonly Row[], limits: number[] = []): LaneBuffer {
  const fetchNext: Lanes['fetchNext'] = async (_, limit, after) => {
    if (limit > 1) limits.push(limit)
    return rows
      .filter((one) => one.isQueued && one.sequence > after)
      .slice(0, limit)
      .map(toQueued)
  }
  return new LaneBuffer({ fetchNext } as Partial<Lanes> as Lanes, CONNECTION)
}

async function take(buffer: LaneBuffer, now: Instant): Promise<Candidate> {
  buffer.beginTurn()
  const candidate = await buffer.next(now)
  assert.ok(candidate)
  return candidate
}

function row(sequence: Sequence, recipient: string): Row {
  return { sequence, recipient, isQueued: true, attempts: 0, retryAt: 0, mediaAt: 0, dueSince: null }
}

function toQueued({ sequence, recipient, attempts }: Row): QueuedMessage {
  return {
    sequence,
    recipient,
    attempts,
    id: String(sequence) as MessageId,
    accountId: 'acme' as AccountId,
    connectionId: CONNECTION,
    acceptedAt: 0,
    content: { type: 'message', text: 'hello' },
    media: null,
    retry: null,
  }
}

type Finished = Parameters<LaneBuffer['finish']>[0]

function ended(message: QueuedMessage, what: 'finalize' | 'keep-queued'): Finished {
  const number = message.attempts + 1
  const times = { startedAt: 0, endedAt: 0 }
  const attempt = {
    ...times,
    sequence: message.sequence,
    number,
    outcome: 'accepted',
    code: null,
    words: null,
    networkId: null,
  } as const
  const disposition =
    what === 'finalize'
      ? ({ do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const)
      : ({ do: 'keep-queued', retry: null } as const)
  return { message, number, startedAt: 0, crashes: 0, isPossiblySuperseded: false, finish: { attempt, disposition } }
}

/** One lane with some recipients, files that come late, limits, retries, cancellations and messages of other processes. */
class World {
  readonly #seed: number
  readonly #fault: Fault | null
  readonly #random: () => number
  readonly #rows: Row[] = []
  readonly #limitedUntil = new Map<string, Instant>()
  readonly #buffer: LaneBuffer
  readonly #people: number
  readonly #most: number
  #now = 0
  #attempts = 0
  /** Like storage that drops what the lane says it has passed. */
  #known = new Set<Sequence>()

  constructor(seed: number, fault: Fault | null = null) {
    this.#seed = seed
    this.#fault = fault
    this.#random = randomOf(seed)
    this.#people = this.#between(1, 6)
    this.#most = this.#between(20, 120)
    const fetchNext: Lanes['fetchNext'] = async (_, limit, after) => {
      const found = this.#queued().filter(({ sequence }) => sequence > after)
      const result = found.slice(0, limit).map(toQueued)
      if (this.#random() < 0.3) await Promise.resolve()
      return result
    }
    this.#buffer = new LaneBuffer({ fetchNext } as Partial<Lanes> as Lanes, CONNECTION)
  }

  async run(): Promise<number> {
    for (let step = 0; step < 20_000; step++) {
      if (this.#rows.length < this.#most && this.#random() < 0.4)
        for (let count = this.#between(1, 4); count > 0; count--) this.#accept()
      if (this.#random() < 0.03) this.#cancelOne()
      for (const one of this.#rows) one.dueSince = this.#isDue(one) ? (one.dueSince ?? this.#now) : null
      this.#buffer.beginTurn()
      const candidate = await this.#buffer.next(this.#now)
      this.#checkPassed(this.#buffer.takePassed())
      if (candidate) this.#handle(candidate)
      else if (this.#rows.length >= this.#most && this.#queued().length === 0) break
      else if (!this.#buffer.mayHaveMore) {
        this.#now += this.#between(1, 200)
        if (step % 50 === 0) this.#buffer.expectMore()
      }
    }
    const left = this.#queued().length
    if (left > 0) throw new Error(`seed ${this.#seed}: ${left} never ended`)
    await this.#drain()
    if (this.#buffer.deferredCount !== 0) throw new Error(`seed ${this.#seed}: ${this.#buffer.deferredCount} counted`)
    return this.#attempts
  }

  async #drain(): Promise<void> {
    this.#buffer.forget()
    for (let turn = 0; turn < 500; turn++) {
      this.#now += 100
      this.#buffer.beginTurn()
      await this.#buffer.next(this.#now)
    }
  }

  #accept(): void {
    const mediaAt = this.#random() < 0.15 ? this.#now + this.#between(0, 8_000) : 0
    const one: Row = { ...row(this.#rows.length * 3 + 1, `r${this.#between(1, this.#people)}`), mediaAt }
    this.#rows.push(one)
    this.#known.add(one.sequence)
    const how = this.#random()
    if (mediaAt === 0 && how < 0.5) {
      if (!this.#buffer.add(toQueued(one))) this.#buffer.expectMore()
    } else if (how < 0.85) this.#buffer.expectMore()
    // Else the notification is lost.
  }

  #cancelOne(): void {
    const queued = this.#queued()
    const one = queued[this.#between(0, queued.length - 1)]
    if (!one) return
    one.isQueued = false
    if (this.#random() < 0.7) this.#buffer.forget()
  }

  #handle(candidate: Candidate): void {
    const { message, knownThrough } = candidate
    const one = this.#rows.find(({ sequence }) => sequence === message.sequence)
    // Cancelled: storage refuses the start.
    if (!one?.isQueued) {
      this.#buffer.forget()
      return
    }
    const until = Math.max(one.retryAt, one.mediaAt, this.#limitedUntil.get(one.recipient) ?? 0)
    if (until > this.#now) {
      if (this.#buffer.mustReadFirst(candidate)) return
      if (this.#fault === 'forgets those behind a deferred one') {
        this.#buffer.taken(message)
        one.retryAt = until
        this.#buffer.forget()
      } else this.#buffer.defer(message, Math.min(until, this.#now + 60_000))
      return
    }
    const between = this.#queued().find((x) => x.sequence > (knownThrough ?? 0) && x.sequence < message.sequence)
    const isRefused = knownThrough !== null && between && this.#fault !== 'opens what was added unseen'
    if (isRefused) this.#buffer.forget()
    else this.#attempt(one, message)
  }

  #attempt(one: Row, message: QueuedMessage): void {
    this.#attempts += 1
    if (message.attempts !== one.attempts) throw new Error(`seed ${this.#seed}: an older state was opened`)
    const before = this.#queued().find((x) => x.recipient === one.recipient && x.sequence < one.sequence)
    if (before) throw new Error(`seed ${this.#seed}: ${one.sequence} was opened before ${before.sequence}`)
    for (const { sequence, dueSince } of this.#queued())
      if (sequence < one.sequence && dueSince !== null && this.#now - dueSince > LONGEST_OVERTAKEN_MS)
        throw new Error(
          `seed ${this.#seed}: ${one.sequence} went before ${sequence}, due for ${this.#now - dueSince} ms`,
        )
    this.#buffer.taken(message)
    this.#now += this.#between(0, 20)
    one.attempts += 1
    if (this.#random() < 0.75) {
      one.isQueued = false
      if (this.#random() < 0.3) this.#limitedUntil.set(one.recipient, this.#now + this.#between(100, 6_000))
      this.#buffer.finish(ended(message, 'finalize'), 0)
    } else {
      one.retryAt = this.#random() < 0.2 ? 0 : this.#now + this.#between(0, 10_000)
      this.#buffer.finish(ended(message, 'keep-queued'), one.retryAt)
    }
  }

  /** Storage keeps in memory only what waits and is in no range, or is named as deferred. */
  #checkPassed(ranges: readonly PassedRange[]): void {
    for (const { after, through, deferred } of ranges) {
      for (const sequence of this.#known)
        if (sequence > after && sequence <= through && !deferred.includes(sequence)) this.#known.delete(sequence)
      const lost = this.#queued().find(({ sequence }) => sequence <= through && !this.#known.has(sequence))
      if (lost) throw new Error(`seed ${this.#seed}: ${lost.sequence} was passed before it ended`)
    }
  }

  #isDue(one: Row): boolean {
    const until = Math.max(one.retryAt, one.mediaAt, this.#limitedUntil.get(one.recipient) ?? 0)
    if (!one.isQueued || until > this.#now) return false
    return !this.#queued().some((x) => x.recipient === one.recipient && x.sequence < one.sequence)
  }

  #queued(): Row[] {
    return this.#rows.filter(({ isQueued }) => isQueued)
  }

  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }
}

function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
