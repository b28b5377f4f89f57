import assert from 'node:assert/strict'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'
import { addPerson } from '../support/browser/person.ts'

const ENGINES = enginesOr('SQLite')
const obstacle = whyNoBrowser()
const LIST = '/developer/tokens'

let service: ConsoleService
let opened: OpenConsole
let page: Page

/** Sends like a customer's program: over HTTP, with only the token. */
async function send(token: string): Promise<number> {
  const reply = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', 'user-agent': 'shop/1.0' },
    body: JSON.stringify({ from: '15550001000', to: '15551234567', message: { type: 'message', message: 'Hello' } }),
  })
  return reply.status
}

/** Creates a token through the form, and returns it. */
async function create(name: string): Promise<string> {
  await opened.visit(`${LIST}/new?name=${name}`)
  await page.getByRole('button', { name: 'Create API Token' }).click()
  const token = await shownToken()
  await page.getByRole('button', { name: 'Copy token' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name, exact: true }).waitFor()
  return token
}

/** Chooses an entry of the menu of the token web-shop in the list. */
async function choose(name: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions for the token web-shop', exact: true }).click()
  await page.getByRole('menuitem', { name }).click()
}

async function shownToken(): Promise<string> {
  return await page.getByRole('group', { name: 'The token' }).innerText()
}

describe.skipIf(obstacle !== null).each(ENGINES)(`API tokens in the console, on %s${skipNote(obstacle)}`, (engine) => {
  beforeAll(async () => {
    service = await startConsole({ engine })
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    opened = await service.openAccount()
    page = opened.page
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('are created, shown once, used, and deleted, and then accepted no more', async () => {
    await opened.visit(`${LIST}/new`)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Create API Token')
    await page.getByLabel('API key name').fill('web-shop')
    await expect(page.getByText(/Expires on .*, in 90 days\./)).toBeVisible()
    await page.getByRole('button', { name: 'Create API Token' }).click()
    const token = await shownToken()
    assert.match(token, /^nco_[0-9A-Za-z]{38}$/)
    assert.equal(await page.getByRole('button', { name: /^Copy.* token$/i }).count(), 1)
    const code = page.locator('[role="dialog"] pre').last()
    assert.ok(await code.evaluate((one) => one.scrollWidth <= one.clientWidth), 'a line runs past the edge')
    await expect(page.getByRole('group', { name: 'A first message with curl' })).toContainText('"from": "15550001000"')
    await page.getByRole('button', { name: 'Send a test message' }).click()
    await expect(page.getByRole('group', { name: 'Sent to 15551234567' })).toContainText(
      'Sent: the sandbox accepted it',
    )
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('You have not copied the token').waitFor()
    await page.getByRole('button', { name: 'Back to the token' }).click()
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row', { name: /web-shop/ })
    await expect(row).toContainText('from 127.0.0.1')
    assert.ok(!(await page.content()).includes(token))

    assert.equal(await send(token), 200)
    await opened.visit(LIST)
    await expect(row).toContainText('from 127.0.0.1')
    await expect(row.getByRole('link', { name: '2 requests: show them in the API logs' })).toBeVisible()
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('link', { name: 'web-shop' }).click()
    await expect(page.getByRole('row', { name: /shop\/1\.0/ })).toContainText('127.0.0.1')
    assert.deepEqual(await opened.axe(), [])
    assert.deepEqual(await findBarriersOnPhone(page), [])
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('It was used 2 times in the last 24 hours, by 1 address')
    assert.deepEqual(await opened.axe(), [])
    await expect(dialog.getByRole('button', { name: 'Delete token' })).toBeDisabled()
    await dialog.getByLabel('Type “web-shop” to confirm').fill('web-shop')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await expect(dialog).toBeHidden()

    assert.equal(await send(token), 401)
    await opened.visit(`${LIST}?tab=deleted`)
    await expect(page.getByRole('link', { name: 'web-shop' })).toBeVisible()
  })

  it('are removed from this tab when they are deleted', async () => {
    await opened.visit(`${LIST}/new`)
    await page.getByLabel('API key name').fill('till')
    await page.getByRole('button', { name: 'Create API Token' }).click()
    const token = await shownToken()
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Quickstart' }).click()
    const inHand = page.getByLabel('API token', { exact: true })
    await expect(inHand).toHaveValue(token)
    await page.getByRole('link', { name: 'API tokens' }).click()
    await page.getByRole('link', { name: 'till' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type “till” to confirm').fill('till')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await expect(dialog).toBeHidden()
    // With this request blocked, the tab would show what it has cached of the list.
    await page.route('**/tokens?*', () => {})
    await page.getByRole('navigation').getByRole('link', { name: 'API tokens' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('API tokens')
    const stillListed = await page.getByRole('link', { name: 'till' }).count()
    await page.getByRole('link', { name: 'Quickstart' }).click()

    await expect(inHand).toHaveValue('')
    assert.equal(stillListed, 0)
  })

  it('are changed in their list, which stays on screen', async () => {
    const old = await create('web-shop')
    const dialog = page.getByRole('dialog')
    const menu = page.getByRole('button', { name: 'Actions for the token web-shop', exact: true })
    await choose('Rename…')
    await expect(dialog.getByLabel('Name of the token')).toBeFocused()
    assert.deepEqual(await opened.axe(), [])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect(menu).toBeFocused()
    await choose('Delete…')
    await expect(dialog).toContainText('It was not used in the last 24 hours.')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect(dialog).toBeHidden()
    await expect(menu).toBeFocused()
    const whileAsked = new URL(page.url()).pathname
    await choose('Rotate…')
    await expect(dialog.getByLabel('Expiration')).toBeFocused()
    await dialog.getByRole('button', { name: 'Rotate token' }).click()
    const successor = await shownToken()
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('It replaces another token').waitFor()
    await opened.visit(LIST)
    await choose('Delete…')
    await dialog.getByLabel('Type “web-shop” to confirm').fill('web-shop')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await expect(page.getByRole('link', { name: 'web-shop', exact: true })).toHaveCount(0)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('API tokens')

    assert.equal(whileAsked, `/console/a/${opened.account}${LIST}`)
    assert.deepEqual([await send(old), await send(successor)], [200, 401])
  })

  it('show each fault at its field, and move the focus there', async () => {
    await opened.visit(`${LIST}/new?name=first%20token&events=none`)
    await expect(page.getByText('It can do nothing')).toBeVisible()
    await page.getByRole('button', { name: 'Limits (optional)' }).click()
    await page.getByLabel('Source addresses').fill('the office')
    await page.getByRole('button', { name: 'Create API Token' }).click()
    await expect(page.getByText('is no address range')).toBeVisible()
    await expect(page.getByText('There is a token named “first token” already')).toBeVisible()
    await expect(page.getByLabel('API key name')).toBeFocused()
    assert.deepEqual(await opened.axe(), [])

    await page.getByLabel('API key name').fill(' ')
    await page.getByRole('button', { name: 'Create API Token' }).click()
    await expect(page.getByText('The name of a token must not be empty.')).toBeVisible()
    await page.getByLabel('API key name').fill('web-shop')
    await page.getByRole('button', { name: 'Create API Token' }).click()
    await expect(page.getByLabel('Source addresses')).toBeFocused()
  })

  it('can be rotated while both work', async () => {
    const old = await create('web-shop')
    assert.equal(await send(old), 200)
    await page.getByRole('link', { name: 'web-shop', exact: true }).click()
    await page.getByRole('button', { name: 'Rotate' }).click()
    await expect(page.getByText('The old token ends on')).toBeVisible()
    assert.deepEqual(await opened.axe(), [])
    await page.getByRole('button', { name: 'Rotate token' }).click()
    const successor = await shownToken()
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()

    await page.getByText('It replaces another token').waitFor()
    assert.deepEqual([await send(old), await send(successor)], [200, 200])
    assert.deepEqual(await opened.axe(), [])
    await page.getByRole('link', { name: 'web-shop (old)' }).click()
    await page.getByText('It is being replaced').waitFor()
    await expect(page.getByRole('row', { name: /shop\/1\.0/ })).toBeVisible()
    await expect(page.getByRole('button', { name: 'Rotate' })).toHaveCount(0)
  })

  it('are visible to viewers, who cannot change them', async () => {
    const viewer = { name: 'Vera Viewer', email: 'vera@example.com', password: 'copper lantern meadow drift' }
    await addPerson(opened.cli, viewer, { role: 'viewer', account: opened.account })
    const other = await opened.openPageOf(viewer)

    await other.goto(`/console/a/${opened.account}${LIST}`)
    await other.getByRole('link', { name: 'first token' }).click()
    await other.getByRole('heading', { name: 'Facts' }).waitFor()

    await expect(other.getByRole('button', { name: 'Delete' })).toHaveCount(0)
    await other.goto(`/console/a/${opened.account}${LIST}/new`)
    await expect(other.getByText('You may not create tokens')).toBeVisible()
  })
})
