import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()

describe.skipIf(obstacle !== null)(`addresses of the console${skipNote(obstacle)}`, () => {
  let service: ConsoleService
  let first: OpenConsole
  // The same person in another browser.
  let second: OpenConsole

  beforeAll(async () => {
    service = await startConsole()
    first = await service.openAccount()
    second = await service.openAccount()
  })
  afterEach(() => {
    first.checkPages()
    second.checkPages()
  })
  afterAll(() => service?.close())

  it('without an account, open the object in the account that has it', async () => {
    const id = await send(await first.createToken('shop'), first.url)
    const { page } = second
    await second.visit('')
    await page.goto(`/console/developer/logs/${id}`)

    await page.waitForURL(`**/console/a/${first.account}/developer/logs/${id}`)
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Text to 15551234567')
  })

  it('without an account, open a page in the account that was used last, with the fields that the URL fills in', async () => {
    const { page, account } = second
    await second.visit('')
    await page.goto('/console/developer/tokens/new?name=web-shop&events=none')

    await page.waitForURL(`**/console/a/${account}/developer/tokens/new?name=web-shop&events=none`)
    await expect(page.getByLabel('Name')).toHaveValue('web-shop')
  })

  it.each(['/console/gone', '/console/developer/gone'])(
    '%s says in the frame of every page that there is none',
    async (address) => {
      const { page } = first
      await page.goto(address)

      await expect(page.getByText('There is no such page')).toBeVisible()
      await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()
      const left = await page
        .getByRole('heading', { level: 1 })
        .evaluate((heading) => heading.getBoundingClientRect().x)
      assert.ok(left > 200, `${left}`)
      assert.deepEqual(await first.axe(), [])
      assert.deepEqual(await findBarriersOnPhone(page), [])
    },
  )
})

async function send(token: string, url: string): Promise<string> {
  const reply = await fetch(`${url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify({ from: '15550001000', to: '15551234567', message: { type: 'message', message: 'Hello' } }),
  })
  return reply.headers.get('x-message-id') ?? ''
}
