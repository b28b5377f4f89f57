import { expect } from '@playwright/test'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()

describe.skipIf(obstacle !== null)(`webhooks in the browser${skipNote(obstacle)}`, () => {
  let opened: OpenConsole

  beforeAll(async () => {
    opened = await openConsole()
  })

  afterAll(() => opened?.close())

  it('are added, tried, shown with each try, and disabled, without a barrier', async () => {
    const { page } = opened
    await opened.visit('/developer/webhooks')
    await page.getByRole('link', { name: 'Add webhook' }).first().click()
    await page.getByLabel('Address').fill('http://10.0.0.1/hook')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await expect(page.getByText('The URL names an address that is not public.')).toBeVisible()

    // Nothing answers there: the name is one that never exists.
    await page.getByLabel('Address').fill('https://hooks.nuncio-nobody.com/x')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await expect(page.getByText(/^whsec_/)).toBeVisible()
    expect(await opened.axe()).toEqual([])
    await page.getByRole('button', { name: 'I have taken it' }).click()

    await expect(page.getByRole('heading', { name: 'Deliveries' })).toBeVisible()
    await expect(page.getByText(/whsec_/)).toHaveCount(0)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('link', { name: 'webhook.test' }).click()
    await expect(page.getByText(/^Try 1:/)).toBeVisible({ timeout: 20_000 })
    expect(await opened.axe()).toEqual([])

    await page.getByRole('link', { name: 'Webhook', exact: true }).click()
    expect(await opened.axe()).toEqual([])
    await page.getByRole('button', { name: 'Disable' }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).press('Enter')
    await expect(page.getByRole('button', { name: 'Enable' })).toBeVisible()
  })
})
