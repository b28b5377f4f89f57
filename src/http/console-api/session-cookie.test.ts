import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import { ConsoleWorld } from '../../../test/support/console-world/console-world.ts'
import { giveSessionCookie } from './session-cookie.ts'

async function open(publicUrl: string) {
  const world = new ConsoleWorld()
  const close = await world.openConsole('SQLite', { http: { publicUrl } })
  const account = await world.account('Acme')
  const owner = await world.visitor(account)
  return { world, close, account, owner }
}

/** The name and attributes of a cookie. */
function partsOf(headers: Headers): readonly string[] {
  const [cookie = ''] = headers.getSetCookie()
  const [pair = '', ...attributes] = cookie.split('; ')
  return [pair.split('=')[0] ?? '', ...attributes.filter((attribute) => !/^Expires/.test(attribute)).sort()]
}

describe('the cookie of a session', () => {
  it('is limited to https and this host if the public URL is https', async () => {
    const { world, close, account, owner } = await open('https://console.example')
    const asked = { params: { account } }

    const [plain, prefixed] = [owner, { ...owner, cookie: owner.cookie.replace('sid-8080', '__Host-sid') }]
    assert.equal(await world.refusal('describeTokenForm', { ...asked, as: plain }), '401 not_signed_in')
    assert.equal((await world.ask('describeTokenForm', { ...asked, as: prefixed })).status, 200)
    const { headers } = await world.ask('signOut', { as: prefixed })
    await close()

    assert.deepEqual(partsOf(headers), ['__Host-sid', 'HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure'])
  })

  it('has no such limits over plain http, where browsers would reject it', async () => {
    const { world, close, owner } = await open('http://127.0.0.1:8080')

    const { headers } = await world.ask('signOut', { as: owner })
    await close()

    assert.deepEqual(partsOf(headers), ['sid-8080', 'HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax'])
  })

  it.each([
    ['http://console.example', 'sid'],
    ['http://console.example:80', 'sid'],
    ['http://console.example:9090', 'sid-9090'],
    ['https://console.example:8443', '__Host-sid-8443'],
    ['https://console.example:8443/nuncio', '__Host-sid-8443-nuncio'],
    ['https://console.example/team%20a/nuncio', '__Host-sid-team_20a-nuncio'],
  ])('separates instances on one host: at %s it is %s', (publicUrl, name) => {
    const set: unknown[] = []
    const reply = { setCookie: (...given: readonly unknown[]) => set.push(given) } as never
    const isSecure = publicUrl.startsWith('https:')

    giveSessionCookie(reply, { publicUrl, isSecure, randomBytes }, null)

    const options = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure }
    assert.deepEqual(set, [[name, (set as string[][])[0]?.[1], options]])
  })
})
