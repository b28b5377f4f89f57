import { expect as expectSoon } from '@playwright/test'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const UNKNOWN_DELIVERED = '15550100003'
// The watchdog checks every quarter of a minute, and clears alarms that it has not seen for a while.
const expect = expectSoon.configure({ timeout: 180_000 })

describe.skipIf(obstacle !== null).each(ENGINES)(`alarms in the browser, on %s${skipNote(obstacle)}`, (engine) => {
  let opened: OpenConsole

  beforeEach(async () => {
    opened = await openConsole({ engine })
  })

  // Throws when a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('are counted in the menu, shown on the overview, linked to their object, and cleared', async () => {
    const { page } = opened
    const token = await opened.createToken('nearly-gone')
    await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': token },
      body: JSON.stringify({
        from: '15550001000',
        to: UNKNOWN_DELIVERED,
        message: { type: 'message', message: 'Hello' },
      }),
    })

    // Without a reload, because the page is live.
    await opened.visit('')
    const alarms = page.getByRole('region', { name: 'Alarms' })
    await expect(alarms.locator('[data-alarm="unconfirmed"]')).toContainText('Warning')
    await expect(page.getByRole('link', { name: /^Alarms [1-9]$/ })).toBeVisible()
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(page)).toEqual([])
    await alarms.getByRole('link', { name: 'All alarms' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Alarms' })).toBeVisible()
    await expect(page.getByRole('link', { name: 'Token nearly-gone.' })).toBeVisible()
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(page)).toEqual([])

    await page.getByRole('link', { name: 'Token nearly-gone.' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('nearly-gone')
    await page.goBack()
    await page.getByRole('link', { name: 'Show these messages.' }).click()
    await expect(page).toHaveURL(/view=attention/)
    await page.getByRole('row').filter({ hasText: UNKNOWN_DELIVERED }).getByRole('link').first().click()
    await page.getByRole('button', { name: 'It arrived' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'It arrived' }).click()
    await expect(page.getByRole('list', { name: 'What happened' })).toContainText('Resolved by a person')

    await opened.visit('/alarms')
    const over = page.getByRole('row', { name: /^Over It is unknown/ })
    await expect(over).toContainText(', over ')
    await expect(page.getByRole('link', { name: 'Show these messages.' })).toBeVisible()
    expect(await opened.axe()).toEqual([])
  })
})
