import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { SessionRequest, SessionRequestProgress } from '../../core/ports/session-requests.ts'
import { LoginTurns } from './login-turns.ts'
import { SessionRequests } from './session-requests.ts'
import type { SocketOwner } from './thread/host.ts'

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

  it('stops at once while WhatsApp is asked for its version, and leaves the rest to the next worker', async () => {
    const { requests, events } = open({ kind: 'qr', isTooOld: true })
    requests.check()
    await settled()
    const before = [...events]

    await requests.stop()

    assert.deepEqual([before, events], [['connecting', 'asked'], before])
  })
})

interface Given {
  readonly kind: SessionRequest['kind']
  readonly isCancelled?: boolean
  readonly pairings?: LoginTurns
  readonly isTooOld?: boolean
}

function open({ kind, isCancelled = false, pairings = oneAtATime(), isTooOld = false }: Given) {
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
    lane: { stillHolds: () => true },
    host: {
      isInstalled: () => true,
      open(_: unknown, owner: SocketOwner) {
        if (isTooOld) owner.changed({ kind: 'closed', code: 405, expiresInMs: null })
        return { close: async () => false }
      },
    },
    versions: {
      choose: () => null,
      findAnother() {
        events.push('asked')
        return new Promise(() => {})
      },
    },
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
