import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../test/support/media-world/is-public-address.ts'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { spoiltUrls } from '../../test/support/media-world/spoilt-urls.ts'
import { response } from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import { createAddressGuard } from './address-guard.ts'
import { createDial, type Dial } from './dial.ts'
import { blocked } from './media-problem.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

const answers = fc.array(
  fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('8.8.8.8', '2606:4700::1', '127.0.0.1', '10.0.0.1')),
  { minLength: 1, maxLength: 3 },
)

/** Records the addresses and opens no connection. */
function notingDial(dialled: string[]): Dial {
  return async (_target, addresses) => {
    dialled.push(...addresses)
    throw blocked()
  }
}

describe('random URLs, DNS answers and redirects', () => {
  it('G9: only public addresses are ever dialled', async () => {
    const dialled: string[] = []

    await fc.assert(
      fc.asyncProperty(spoiltUrls, answers, async (url, addresses) => {
        const replaced = { dial: notingDial(dialled), resolveName: async () => addresses }
        expect((await world.fetch(url, { replaced })).kind).toBe('failed')
      }),
      { numRuns: 3000 },
    )

    expect(dialled.length).toBeGreaterThan(20)
    expect(dialled.filter((address) => !isPublicAddress(address))).toEqual([])
  })

  it('G9: only public addresses are dialled behind a redirect', async () => {
    const dialled: string[] = []
    let location = ''
    const host = await world.host((socket) => socket.end(response(302, { location })))
    const real = createDial({
      guard: createAddressGuard({ allowed: [parseAddressRange(host.address)!], refused: [] }),
      connectMs: 30_000,
      trustedCertificates: undefined,
    })
    const dial: Dial = (target, addresses, signal) =>
      (target.host === host.address ? real : notingDial(dialled))(target, addresses, signal)

    await fc.assert(
      fc.asyncProperty(spoiltUrls, answers, async (url, addresses) => {
        // Other tests send headers that are broken themselves.
        location = url.replace(/[\r\n\0]/g, '')
        const replaced = { dial, resolveName: async () => addresses }
        expect((await world.fetch(host.url(), { replaced })).kind).toBe('failed')
      }),
      { numRuns: 300 },
    )

    expect(dialled.filter((address) => !isPublicAddress(address))).toEqual([])
  })
})
