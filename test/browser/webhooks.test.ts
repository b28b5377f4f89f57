import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from '@playwright/test'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()

describe.skipIf(obstacle !== null).each(ENGINES)(`webhooks in the browser, on %s${skipNote(obstacle)}`, (engine) => {
  let service: ConsoleService
  let opened: OpenConsole

  beforeAll(async () => {
    service = await startConsole({ engine, environment: { NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' } })
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    opened = await service.openAccount()
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('are added, tried, shown with each try, and disabled, without an accessibility fault', async () => {
    const { page } = opened
    await opened.visit('/developer/webhooks')
    await page.getByRole('link', { name: 'Add webhook' }).first().click()
    await expect(page.getByLabel('Address')).toBeFocused()
    await page.getByLabel('Address').fill('http://10.0.0.1/hook')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await expect(page.getByText('The URL names an address that is not public: use one on the internet.')).toBeVisible()

    // No server answers: the name does not exist.
    await page.getByLabel('Address').fill('https://hooks.nuncio-unknown.com/x')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await expect(page.getByText(/^whsec_/)).toBeVisible()
    expect(await opened.axe()).toEqual([])
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('You have not copied the secret').waitFor()
    expect(await opened.axe()).toEqual([])
    await page.getByRole('button', { name: 'Back to the secret' }).click()
    await takeSecret(page)

    await expect(page.getByRole('heading', { name: 'Deliveries' })).toBeVisible()
    await expect(page.getByText(/whsec_/)).toHaveCount(0)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('link', { name: 'webhook.test' }).click()
    await expect(page.getByText(/^Try 1:/)).toBeVisible()
    expect(await opened.axe()).toEqual([])

    await page.getByRole('link', { name: 'Webhook', exact: true }).click()
    expect(await opened.axe()).toEqual([])
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await expect(dialog.getByLabel('Address')).toBeFocused()
    await page.keyboard.press('Escape')
    await expect(dialog).toBeHidden()
    await page.getByRole('button', { name: 'Disable' }).press('Enter')
    // Shortly after it opens, the dialog focuses a harmless button. A key pressed earlier could go elsewhere.
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialog.getByRole('button', { name: 'Disable' }).press('Enter')
    await expect(page.getByRole('button', { name: 'Enable' })).toBeVisible()
  })

  it('show a test as being sent, and then its result at once', async () => {
    const { page } = opened
    const answer = Promise.withResolvers<void>()
    const receiver = await openReceiver(answer.promise)
    // The account's event stream would report it later; here it is cut off.
    await page.route('**/stream', (route) => route.abort())
    await opened.visit('/developer/webhooks/new')
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await takeSecret(page)
    await page.getByRole('button', { name: 'Send a test' }).click()

    await expect(page.getByRole('row', { name: /^webhook\.test Waiting Sending… 0/ })).toBeVisible()
    answer.resolve()
    await expect(page.getByRole('row', { name: /^webhook\.test Delivered HTTP 200 1/ })).toBeVisible()
    // Read at once, because its figures come with its rows.
    assert.match(await page.locator('[data-fact="Last 24 hours"]').innerText(), /\n1 delivered$/)
    await receiver.close()
  })

  it('reach a receiver with a signature of the secret that was shown once, and again when replayed', async () => {
    const { page } = opened
    const receiver = await openReceiver()
    await opened.visit('/developer/webhooks/new')
    await page.getByText('At first, only what went wrong is chosen.').waitFor()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByLabel('Description').fill('The shop')
    await page.getByRole('checkbox', { name: 'All of Messages' }).check()
    await page.getByRole('button', { name: 'Add webhook' }).click()
    const secret = (await page.getByRole('group', { name: 'Secret' }).innerText()).trim()
    expect(await findBarriersOnPhone(page)).toEqual([])
    await takeSecret(page)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('link', { name: 'webhook.test' }).click()
    await expect(page.getByText('Try 1: HTTP 200')).toBeVisible()
    await expect(page.getByText('Delivered', { exact: true })).toBeVisible()
    assert.equal(receiver.received.length, 1)

    await page.getByRole('button', { name: 'Replay' }).click()
    await expect(page.getByText('Try 2: HTTP 200')).toBeVisible()
    const [first, second] = receiver.received
    assert.ok(first && second)
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
    assert.equal(second.body, first.body)
    for (const { body, headers } of [first, second]) assert.ok(new Webhook(secret).verify(body, headers))
    await expect(page.getByText(`webhook-id: ${first.headers['webhook-id']}`)).toBeVisible()
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(page)).toEqual([])

    await page.getByRole('link', { name: 'Webhook', exact: true }).click()
    await expect(page.getByRole('row', { name: /^webhook\.test Delivered HTTP 200 2/ })).toBeVisible()
    await expect(page.locator('[data-fact="Last 24 hours"]')).toContainText('1 delivered')
    expect(await findBarriersOnPhone(page)).toEqual([])

    const dialog = page.getByRole('dialog', { name: 'Make a new secret?' })
    const endsEarlier = dialog.getByText('The one before them')
    for (const isSecond of [false, true]) {
      await page.getByRole('button', { name: 'Rotate secret' }).click()
      await dialog.getByText('For 24 hours both').waitFor()
      await expect(endsEarlier).toHaveCount(isSecond ? 1 : 0)
      expect(await opened.axe()).toEqual([])
      await dialog.getByRole('button', { name: 'Make a new secret' }).click()
      await takeSecret(page)
      await page.locator('[data-fact="Old secret signs too"]').waitFor()
    }

    await page.getByLabel('State').selectOption('Failed')
    await expect(page.getByText('No delivery is of this kind.')).toBeVisible()
    await page.getByRole('link', { name: 'Webhooks' }).first().click()
    await expect(page.getByRole('row', { name: /The shop Enabled/ })).toBeVisible()
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(page)).toEqual([])
    await receiver.close()
  })
})

/** A web server that keeps everything posted to it. It answers after `from` has resolved. */
async function openReceiver(from?: Promise<void>) {
  const received: { readonly body: string; readonly headers: Record<string, string> }[] = []
  const keep = async (request: IncomingMessage) => {
    const body = Buffer.concat(await request.toArray()).toString()
    received.push({ body, headers: request.headers as Record<string, string> })
    await from
  }
  const server = createServer((request, response) => void keep(request).then(() => response.end('thanks')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, close }
}

async function takeSecret(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Copy: Secret' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
}
