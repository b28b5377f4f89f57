import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()
const SENDER = '15550001000'
const RECIPIENT = '4915112341234'

describe.skipIf(obstacle !== null)(`the display settings of a browser${skipNote(obstacle)}`, () => {
  let opened: OpenConsole
  let page: Page

  beforeAll(async () => {
    opened = await openConsole()
    page = opened.page
  })

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  async function choose(option: string, role: 'radio' | 'switch'): Promise<void> {
    await page.goto('/console/me')
    await page.getByRole(role, { name: option }).click()
  }

  it('hide phone numbers, and show them again', async () => {
    const token = await opened.createToken('shop')
    const sent = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      body: JSON.stringify({ from: SENDER, to: RECIPIENT, message: { type: 'message', message: 'Hello' } }),
    })
    expect(sent.status).toBe(200)
    await opened.visit('/developer/logs')
    await expect(page.getByText(RECIPIENT).first()).toBeVisible()

    await choose('Hide phone numbers', 'switch')
    await opened.visit('/developer/logs')
    await expect(page.getByText('4915•••1234').first()).toBeVisible()
    await expect(page.getByText(RECIPIENT)).toHaveCount(0)

    await choose('Hide phone numbers', 'switch')
    await opened.visit('/developer/logs')
    await expect(page.getByText(RECIPIENT).first()).toBeVisible()
  })

  it('set the format of times', async () => {
    const made = () => page.locator('time').first()
    await choose('Date and time in UTC', 'radio')
    await opened.visit('/developer/tokens')
    await expect(made()).toContainText('UTC')

    await choose('How long ago', 'radio')
    await opened.visit('/developer/tokens')
    await expect(made()).not.toContainText('UTC')
  })
})
