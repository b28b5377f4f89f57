import assert from 'node:assert/strict'
import { describe, it, onTestFinished, vi } from 'vitest'
import { StoredState } from './stored-state.ts'

const USER = '15551234567'
const PHONE = { user: USER, server: 's.whatsapp.net', device: 0 }
const ADDED = { ...PHONE, device: 1 }
const DAY_MS = 24 * 3_600_000

it('asks for the devices of a person once a day, also if changes are notified, and the library has them however old they are', async () => {
  const { state } = openState()
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    await state.keepDevices(USER, [PHONE])
    vi.advanceTimersByTime(DAY_MS - 1)
    await state.changeDevices(USER, (devices) => [...devices, ADDED])
    const within = await state.readFreshDevices(USER)
    vi.advanceTimersByTime(1)

    const found = [within, await state.readFreshDevices(USER), await state.devices.get(USER)]
    assert.deepEqual(found, [[PHONE, ADDED], undefined, [PHONE, ADDED]])
  } finally {
    vi.useRealTimers()
  }
})

describe('what an attempt has read', () => {
  it('is not read again within it, and each reader has an object of its own', async () => {
    const { state, reads } = openState()
    await state.set({ session: { anna: { step: 1 } } })
    state.readOnce()

    const found = [await state.get('session', ['anna', 'ben']), await state.get('session', ['anna'])]

    assert.deepEqual(found, [{ anna: { step: 1 } }, { anna: { step: 1 } }])
    assert.notEqual(found[0]?.['anna'], found[1]?.['anna'])
    await state.get('session', ['ben', 'carl'])
    assert.deepEqual(reads, ['session anna ben', 'session carl'])
  })

  it('is read again once it was written', async () => {
    const { state, reads } = openState()
    state.readOnce()
    await state.get('session', ['anna'])

    await state.set({ session: { anna: { step: 1 } } })

    assert.deepEqual(await state.get('session', ['anna']), { anna: { step: 1 } })
    assert.equal(reads.length, 2)
  })

  it.each([
    ['was refused', { isStored: false }],
    ['is stored though it failed', { isStored: true }],
  ])('is read again after a write that %s', async (_, { isStored }) => {
    const { state, failWrites } = openState()
    await state.set({ session: { anna: { step: 1 } } })
    state.readOnce()
    await state.get('session', ['anna'])
    failWrites({ isStored })

    await assert.rejects(state.set({ session: { anna: { step: 2 } } }), /not known to be committed/)

    assert.deepEqual(await state.get('session', ['anna']), { anna: { step: isStored ? 2 : 1 } })
  })

  it('is read again if a write was under way', async () => {
    const { state } = openState()
    await state.set({ session: { anna: { step: 1 } } })
    state.readOnce()

    const writing = state.set({ session: { anna: { step: 2 } } })
    const before = await state.get('session', ['anna'])
    await writing

    assert.deepEqual([before, await state.get('session', ['anna'])], [{ anna: { step: 1 } }, { anna: { step: 2 } }])
  })

  it('is read again if it could not be read', async () => {
    const { state, failNextRead } = openState()
    state.readOnce()
    failNextRead()

    await assert.rejects(state.get('session', ['anna']), /away/)

    assert.deepEqual(await state.get('session', ['anna']), {})
  })

  it('is forgotten when the next one begins, and after a second', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { state, reads } = openState()
    state.readOnce()
    await state.get('session', ['anna'])
    vi.advanceTimersByTime(600)

    state.readOnce()
    await state.get('session', ['anna'])
    vi.advanceTimersByTime(600)
    await state.get('session', ['anna'])
    assert.equal(reads.length, 2)

    vi.advanceTimersByTime(400)
    await state.get('session', ['anna'])
    await state.get('session', ['anna'])
    assert.equal(reads.length, 4)
  })
})

/** As the host keeps it. A write is committed a turn after it was asked for. */
function openState() {
  const texts = new Map<string, string>()
  const reads: string[] = []
  let failing: { readonly isStored: boolean } | null = null
  let isAway = false
  const host = {
    call: async (method: string, _socket: number, ...given: readonly unknown[]) => {
      if (method === 'readKeys') {
        const [kind, ids] = given as [string, readonly string[]]
        reads.push([kind, ...ids].join(' '))
        const wasAway = isAway
        isAway = false
        if (wasAway) throw new Error('storage is away')
        return ids.flatMap((id) => {
          const text = texts.get(`${kind}/${id}`)
          return text === undefined ? [] : [[id, text]]
        })
      }
      await new Promise((resolve) => setImmediate(resolve))
      const [changes] = given as [readonly (readonly [string, string, string | null])[]]
      if (failing?.isStored !== false) for (const [kind, id, text] of changes) texts.set(`${kind}/${id}`, text ?? '')
      if (failing) throw new Error('the write is not known to be committed')
      return null
    },
  }
  const library = { BufferJSON: { reviver: undefined, replacer: undefined } }
  return {
    state: new StoredState({ library, host, socket: 1 } as never),
    /** Of the host, with the kind and the ids. */
    reads,
    failWrites: (how: { readonly isStored: boolean }) => {
      failing = how
    },
    failNextRead: () => {
      isAway = true
    },
  }
}
