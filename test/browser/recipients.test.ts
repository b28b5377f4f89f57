import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const ANNA = '15551234567'
const BEN = '15557654321'
const CARLA = '15559876543'

describe.skipIf(obstacle !== null).each(ENGINES)(`recipients in the browser, on %s${skipNote(obstacle)}`, (engine) => {
  let service: ConsoleService
  let opened: OpenConsole

  beforeAll(async () => {
    service = await startConsole({ engine })
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    opened = await service.openAccount()
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('are blocked, found, and written to again', async () => {
    const { page } = opened
    const dialog = page.getByRole('dialog')
    await opened.visit('/settings/recipients')
    await expect(page.getByRole('heading', { name: 'No number is blocked' })).toBeVisible()
    await page.getByRole('button', { name: 'Block a recipient' }).click()
    await dialog.getByLabel('Number').fill('12')
    await dialog.getByRole('button', { name: 'Block', exact: true }).click()
    await expect(dialog.getByText('7 to 15 digits, no leading zero, no +,')).toBeVisible()
    await expect(dialog.getByLabel('Number')).toBeFocused()
    expect(await opened.axe()).toEqual([])

    await dialog.getByLabel('Number').fill('+1 555 123 4567')
    await dialog.getByLabel('Why').fill('Asked by phone')
    await dialog.getByRole('button', { name: 'Block', exact: true }).click()
    const anna = page.getByRole('row', { name: new RegExp(`^${ANNA} Asked by phone olivia@example.com`) })
    await expect(anna).toBeVisible()
    await opened.cli.json('recipient', 'block', BEN, '--account', opened.account)
    await page.reload()
    await expect(page.getByRole('row')).toHaveCount(3)
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(page)).toEqual([])

    await page.getByLabel('Find a number').fill('1555 1')
    await expect(page.getByRole('row')).toHaveCount(2)
    await expect(anna).toBeVisible()
    await page.getByLabel('Find a number').fill('9')
    await expect(page.getByText('No blocked number begins with these digits.')).toBeVisible()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect(page.getByRole('row')).toHaveCount(3)

    await page.getByRole('button', { name: `Unblock ${ANNA}` }).click()
    await expect(page.getByRole('dialog', { name: `Write to ${ANNA} again?` })).toBeVisible()
    expect(await opened.axe()).toEqual([])
    await dialog.getByRole('button', { name: 'Unblock', exact: true }).click()
    await expect(page.getByText(`Unblocked ${ANNA}. Messages to it will be sent again.`)).toBeVisible()
    await expect(anna).toHaveCount(0)
    await expect(page.getByRole('row')).toHaveCount(2)
  })

  it('can be blocked from a message to them, and unblocked from the next message, which says why it failed', async () => {
    const { page } = opened
    const first = await send()
    await opened.visit(`/developer/logs/${first}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: /^Block \d/ }).click()
    await expect(page.getByRole('dialog').getByLabel('Number')).toHaveValue(CARLA)
    await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
    await expect(page.getByText(`Blocked ${CARLA}. Messages to it will not be sent.`)).toBeVisible()

    const next = await send()
    await opened.visit(`/developer/logs/${next}`)
    await expect(page.getByText(/ is on the block list/).first()).toBeVisible()
    expect(await opened.axe()).toEqual([])
    await page.getByRole('button', { name: 'Unblock', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unblock', exact: true }).click()
    await expect(page.getByText(`Unblocked ${CARLA}. Messages to it will be sent again.`)).toBeVisible()
    await expect(page.getByRole('button', { name: 'Retry', exact: true })).toBeVisible()
  })

  /** Sends a message. Returns its id. */
  async function send(): Promise<string> {
    const token = await opened.createToken(`for-${crypto.randomUUID()}`)
    const reply = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': token },
      body: JSON.stringify({ from: '15550001000', to: CARLA, message: { type: 'message', message: 'Hello' } }),
    })
    expect(reply.status).toBe(200)
    return reply.headers.get('x-message-id') ?? ''
  }
})
