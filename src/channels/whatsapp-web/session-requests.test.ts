import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { SessionRequest, SessionRequestProgress } from '../../core/ports/session-requests.ts'
import { LoginTurns } from './login-turns.ts'
import { SessionRequests } from './session-requests.ts'

describe('a request about a session', () => {
  it('unlinks nothing once it was cancelled, and cannot be cancelled while it unlinks', async () => {
    const cancelled = open({ kind: 'unlink', isCancelled: true })
    const carried = open({ kind: 'unlink' })

    for (const { requests } of [cancelled, carried]) requests.check()
    await settled()

    assert.deepEqual(cancelled.events, [])
    assert.deepEqual(carried.events, ['logging-in', 'unlinks', 'ended'])
  })

  it('stops at once while it waits for its turn to link a device, and takes no turn then', async () => {
    const pairings = oneAtATime()
    const end = await pairings.take()
    const { requests, events } = open({ kind: 'qr', pairings })
    requests.check()
    await settled()

    await requests.stop()
    end()
    await settled()

    await pairings.take()
    assert.deepEqual(events, [])
  })
})

interface Given {
  readonly kind: SessionRequest['kind']
  readonly isCancelled?: boolean
  readonly pairings?: LoginTurns
}

function open({ kind, isCancelled = false, pairings = oneAtATime() }: Given) {
  const clock = new HandClock()
  const events: string[] = []
  const request: SessionRequest = {
    id: 'req',
    kind,
    watchedUntil: clock.now() + 60_000,
    progress: { state: 'waiting' },
  }
  const parts = {
    clock,
    pairings,
    lane: {},
    host: { isInstalled: () => true },
    store: {
      findRequest: async () => request,
      async report(_: unknown, { progress }: { readonly progress: SessionRequestProgress }) {
        if (!isCancelled) events.push(progress.state)
        return !isCancelled
      },
    },
    session: {
      wasLinkedBy: async () => false,
      async unlink() {
        events.push('unlinks')
        return null
      },
    },
  }
  return { events, requests: new SessionRequests(parts as unknown as ConstructorParameters<typeof SessionRequests>[0]) }
}

function oneAtATime(): LoginTurns {
  return new LoginTurns({ mostAtOnce: 1, mostASecond: 10, clock: new HandClock() })
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
