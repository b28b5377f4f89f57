import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone, onPhone } from '../support/browser/on-phone.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'
import { findTabFaults } from '../support/browser/walk-by-tab.ts'

const obstacle = whyNoBrowser()

// Paths below `/console/a/<account>`.
const PAGES = [
  '',
  '/sandbox',
  '/attention',
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

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  describe('outside of the accounts', () => {
    let stranger: Page

    beforeAll(async () => {
      stranger = await (await opened.openContext()).newPage()
    })

    it.each([
      ['/console/sign-in', 'Keep me signed in'],
      ['/console/set-up/dead', 'Nuncio is set up already: sign in.'],
      ['/console/invitation/dead', 'This link does not work'],
      ['/console/reset-password/dead', 'This link does not work'],
    ])('%s has one heading and is accessible, light and dark, wide and on a phone', async (address, words) => {
      await stranger.goto(address)

      await expect(stranger.getByText(words).first()).toBeVisible()
      await expect(stranger.locator('h1')).toHaveCount(1)
      expect(await opened.axe(stranger)).toEqual([])
      expect(await findBarriersOnPhone(stranger)).toEqual([])
    })
  })

  it('/console/me has one heading and is accessible, light and dark, wide and on a phone', async () => {
    await opened.page.goto('/console/me')

    await expect(opened.page.locator('h1')).toHaveCount(1)
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(opened.page)).toEqual([])
  })

  it.each(PAGES)('%s has one heading and is accessible, light and dark, wide and on a phone', async (path) => {
    await opened.visit(path)

    await expect(opened.page.locator('h1')).toHaveCount(1)
    expect(await opened.axe()).toEqual([])
    expect(await findBarriersOnPhone(opened.page)).toEqual([])
  })

  it.each(PAGES)('%s shows where the focus is at every press of Tab, wide and on a phone', async (path) => {
    await opened.visit(path)

    expect(await findTabFaults(opened.page)).toEqual([])
    expect(await onPhone(opened.page, () => findTabFaults(opened.page))).toEqual([])
  })
})
