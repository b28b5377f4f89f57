import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()

describe.skipIf(obstacle !== null)(`the console by keyboard${skipNote(obstacle)}`, () => {
  let opened: OpenConsole
  let page: Page

  beforeAll(async () => {
    opened = await openConsole()
    page = opened.page
    await opened.visit('')
  })

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  it('skips to the content with the first two keys', async () => {
    await opened.visit('')
    await page.keyboard.press('Tab')
    await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused()

    await page.keyboard.press('Enter')

    await expect(page.locator('main')).toBeFocused()
  })

  describe('with two keys', () => {
    let other: Page

    beforeAll(async () => {
      other = await opened.openPageOf(opened.person)
      // The second key must follow within a second and a half, which a busy machine may miss. So time stands still.
      await other.clock.setFixedTime(Date.now())
      await other.goto(`/console/a/${opened.account}`)
      await other.locator('[data-page-title]').waitFor()
    })

    it.each([
      ['t', 'API tokens'],
      ['l', 'API logs'],
      ['c', 'Connections'],
      ['s', 'Sandbox inbox'],
      ['o', 'Overview'],
    ])('goes with g and %s to %s', async (key, title) => {
      await other.keyboard.press('g')
      await other.keyboard.press(key)

      await expect(other.locator('h1')).toHaveText(title)
      await expect(other).toHaveTitle(`${title} · Nuncio`)
      await expect(other.locator('nav[aria-label="Pages"] [aria-current="page"]')).toHaveCount(1)
    })
  })

  it('walks all pages of the menu with Tab and Enter', async () => {
    const links = page.locator('nav[aria-label="Pages"] a[href^="/console/"]')
    const count = await links.count()
    expect(count).toBeGreaterThanOrEqual(13)
    for (let place = 0; place < count; place += 1) {
      await tabTo(page, (await links.nth(place).getAttribute('href')) ?? '')
      await page.keyboard.press('Enter')
      await expect(links.nth(place)).toHaveAttribute('aria-current', 'page')
      await expect(page.locator('h1')).toHaveCount(1)
    }
  })

  it.each(['/docs/api', '/docs/'])(
    'opens the documents, %s, in a tab of their own, with Tab and Enter',
    async (path) => {
      await opened.visit('')
      await tabTo(page, path)
      const [documents] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('Enter')])

      await expect(documents).toHaveURL(`${opened.url}${path}`)
      await expect(documents.locator('h1')).toHaveCount(1)
      await documents.close()
    },
  )

  it('shows its keys with a question mark, and can turn single keys off', async () => {
    await page.keyboard.press('Shift+?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await expect(help).toBeVisible()
    expect(await opened.axe()).toEqual([])

    await help.getByRole('switch').press('Space')
    await page.keyboard.press('Escape')
    await expect(help).toBeHidden()
    await page.keyboard.press('Shift+?')
    await expect(help).toBeHidden()

    await page.evaluate(`localStorage.removeItem('nuncio.shortcuts')`)
    await page.reload()
  })

  it('goes to a page and finds a connection with Ctrl and K', async () => {
    await opened.visit('')
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Search or go to' })
    await palette.getByRole('combobox').fill('1555')
    await expect(palette.getByRole('option').first()).toContainText('15550001000')
    expect(await opened.axe()).toEqual([])
    await palette.getByRole('combobox').fill('audit')
    await expect(palette.getByRole('option', { name: 'Audit log' })).toBeVisible()
    await page.keyboard.press('Enter')

    await expect(page.locator('h1')).toHaveText('Audit log')
    await expect(palette).toBeHidden()
  })

  it('pauses live updates with a dot, and resumes them with another', async () => {
    const live = page.getByRole('button', { name: 'Live updates' })
    await expect(live).toHaveAttribute('aria-pressed', 'true')

    await page.keyboard.press('.')
    await expect(live).toHaveAttribute('aria-pressed', 'false')
    await page.keyboard.press('.')
    await expect(live).toHaveAttribute('aria-pressed', 'true')
  })

  it('opens the menu of the person, and closes it with Esc', async () => {
    const button = page.getByRole('button', { name: /^You:/ })
    await button.focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('menuitem', { name: 'Your profile' })).toBeVisible()
    expect(await opened.axe()).toEqual([])

    await page.keyboard.press('Escape')

    await expect(page.getByRole('menuitem', { name: 'Your profile' })).toBeHidden()
  })

  it('keeps the chosen colours', async () => {
    const button = page.getByRole('button', { name: /^Colours:/ })
    await button.press('Enter')
    await button.press('Enter')
    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark')

    await page.reload()

    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark')
    await button.press('Enter')
  })

  it('says that a page does not exist, in the account and outside of it', async () => {
    await page.goto(`/console/a/${opened.account}/no-such-page`)
    await expect(page.locator('h1')).toHaveText('Not found')
    await page.goto('/console/a/acc_unknown/developer/tokens')
    await expect(page.locator('h1')).toHaveText('Not found')
    expect(await opened.axe()).toEqual([])
  })
})

/** Presses Tab until the link with that URL has the focus. */
async function tabTo(page: Page, href: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(`document.activeElement?.getAttribute('href') ?? ''`)
    if (focused === href) return
  }
  throw new Error(`Tab never reached the link to ${href}`)
}
