import assert from 'node:assert/strict'
import { it, vi } from 'vitest'
import { StoredState } from './stored-state.ts'

const USER = '15551234567'
const PHONE = { user: USER, server: 's.whatsapp.net', device: 0 }
const ADDED = { ...PHONE, device: 1 }
const DAY_MS = 24 * 3_600_000

it('asks for the devices of a person once a day, also if changes are notified, and the library has them however old they are', async () => {
  const state = openState()
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

/** As the host keeps it. */
function openState(): StoredState {
  const texts = new Map<string, string>()
  const host = {
    call: async (method: string, _socket: number, ...given: readonly unknown[]) => {
      if (method === 'readKeys') {
        const [kind, ids] = given as [string, readonly string[]]
        return ids.flatMap((id) => {
          const text = texts.get(`${kind}/${id}`)
          return text === undefined ? [] : [[id, text]]
        })
      }
      const [changes] = given as [readonly (readonly [string, string, string | null])[]]
      for (const [kind, id, text] of changes) texts.set(`${kind}/${id}`, text ?? '')
      return null
    },
  }
  const library = { BufferJSON: { reviver: undefined, replacer: undefined } }
  return new StoredState({ library, host, socket: 1 } as never)
}
