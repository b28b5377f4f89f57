import { afterAll, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()

// Below `/console/a/<account>`.
const PAGES = [
  '',
  '/sandbox',
  '/alarms',
  '/connections',
  '/connections/new',
  '/developer/tokens',
  '/developer/tokens/new',
  '/developer/webhooks',
  '/developer/webhooks/new',
  '/developer/logs',
  '/developer/quickstart',
  '/settings/account',
  '/settings/people',
  '/settings/recipients',
  '/settings/retention',
  '/settings/audit',
]

describe.skipIf(obstacle !== null)(`every page${skipNote(obstacle)}`, () => {
  let opened: OpenConsole

  beforeAll(async () => {
    opened = await openConsole()
  })

  // It throws when any page failed or broke its policy.
  afterAll(() => opened?.close())

  it.each([
    '/console/sign-in',
    '/console/me',
    '/console/set-up/dead',
    '/console/invitation/dead',
    '/console/reset-password/dead',
  ])('%s has one heading and no barrier, light and dark, wide and on a phone', async (address) => {
    await opened.page.goto(address)

    await expect(opened.page.locator('h1')).toHaveCount(1)
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(opened.page)).toEqual([])
  })

  it.each(PAGES)('%s has one heading and no barrier, light and dark, wide and on a phone', async (path) => {
    await opened.visit(path)

    await expect(opened.page.locator('h1')).toHaveCount(1)
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(opened.page)).toEqual([])
  })
})
