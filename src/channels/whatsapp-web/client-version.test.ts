import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'vitest'
import type { Clock } from '../../core/ports/clock.ts'
import type { CallEnd, CallWanted } from '../../core/ports/guarded-call.ts'
import { type ClientVersion, ClientVersions } from './client-version.ts'

const URL = 'wss://web.whatsapp.com/ws/chat'
const HOUR_MS = 3_600_000

describe('the version of WhatsApp Web', () => {
  it('is the one that is set, and no other is asked for then', async () => {
    const world = openWorld({ set: '2.3000.7' })

    const another = await world.versions.findAnother('2.3000.7')

    assert.deepEqual(world.versions.choose('2.3000.5'), { version: '2.3000.7', isExact: true })
    assert.deepEqual([another, world.calls], [false, []])
  })

  it('is the one of the last login, unless WhatsApp refused it and names another', async () => {
    const world = openWorld({ answer: 'self.x="{\\"client_revision\\":1049999999,\\"y\\":1}"' })
    const before = world.versions.choose('2.3000.5')

    const another = await world.versions.findAnother('2.3000.5')

    assert.deepEqual(before, { version: '2.3000.5', isExact: false })
    assert.equal(another, true)
    assert.deepEqual(world.versions.choose('2.3000.5'), { version: '2.3000.1049999999', isExact: false })
    assert.deepEqual(
      world.calls.map(({ method, url }) => [method, url]),
      [['GET', 'https://web.whatsapp.com/sw.js']],
    )
  })

  it('is asked for once in six hours, however many sessions are refused', async () => {
    const world = openWorld({ answer: '"client_revision":8' })

    const together = await Promise.all([world.versions.findAnother(null), world.versions.findAnother('2.3000.5')])
    world.at += 6 * HOUR_MS - 1
    const early = await world.versions.findAnother('2.3000.8')
    world.at += 1
    const later = await world.versions.findAnother('2.3000.8')

    assert.deepEqual([together, early, later, world.calls.length], [[true, true], false, false, 2])
  })

  it('is another one also for a session that began to log in before it was named', async () => {
    const world = openWorld({ answer: '"client_revision":8' })
    await world.versions.findAnother('2.3000.5')

    const another = await world.versions.findAnother('2.3000.5')

    assert.deepEqual([another, world.calls.length], [true, 1])
  })

  it.each(['', 'no revision', '"client_revision":"soon"'])(
    'stays when the page does not name one: %s',
    async (answer) => {
      const world = openWorld({ answer })

      assert.equal(await world.versions.findAnother(null), false)
      assert.equal(world.versions.choose(null), null)
    },
  )

  it('is asked for no more once the channel has stopped, which ends a question that is not answered yet', async () => {
    const world = openWorld({ isSilent: true })
    const asking = world.versions.findAnother(null)

    world.versions.stop()

    assert.equal(await asking, false)
    assert.deepEqual([world.calls.length, world.ended], [1, 1])
  })

  it('stays when the page cannot be read', async () => {
    const world = openWorld({ answer: null })

    assert.equal(await world.versions.findAnother(null), false)
  })
})

interface Given {
  readonly set?: ClientVersion | null
  readonly answer?: string | null
  readonly isSilent?: boolean
}

function openWorld({ set = null, answer = '', isSilent = false }: Given = {}) {
  const calls: CallWanted[] = []
  const end: CallEnd =
    answer === null
      ? { kind: 'not-sent', code: 'unreachable', words: 'away' }
      : { kind: 'answered', status: 200, header: () => null, body: Buffer.from(answer) }
  const world = {
    at: 0,
    calls,
    ended: 0,
    versions: new ClientVersions({
      set,
      url: URL,
      guarded: {
        async call(wanted, { signal }) {
          calls.push(wanted)
          if (isSilent) await once(signal, 'abort')
          if (signal.aborted) world.ended += 1
          return signal.aborted ? { kind: 'unknown', code: 'interrupted', words: 'stopped' } : end
        },
      },
      clock: { monotonic: () => world.at } as Clock,
    }),
  }
  return world
}
