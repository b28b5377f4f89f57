import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Page } from '@playwright/test'
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest'
import { createToken } from '../../src/core/token/token-format.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()
const CODE_OF_TOKENS = '**/console/assets/tokens-*.js'
const CODE_OF_MENU = '**/console/assets/person-dropdown-*.js'

// Records the words of the switch for live updates, one after another.
const NOTE_LIVE_WORDS = `
  window.liveSaid = []
  new MutationObserver(() => window.liveSaid.push(document.querySelector('button[data-state] > span').textContent))
    .observe(document.querySelector('header'), { characterData: true, subtree: true })`

let opened: OpenConsole
let page: Page
/** How often the document was loaded. */
let documents: number

describe.skipIf(obstacle !== null)(`the console, when one of its files cannot be loaded${skipNote(obstacle)}`, () => {
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterAll(() => opened?.close())
  beforeEach(async () => {
    page = await opened.page.context().newPage()
    documents = 0
    page.on('domcontentloaded', () => {
      documents += 1
    })
    if (!opened.service.isRunning) await opened.service.start()
    await page.goto(`/console/a/${opened.account}`)
    await title('Overview')
    // Each open page holds a connection to the service, and a browser opens six at most.
    return () => page.close()
  })

  it('shows a page that was opened while the service was away, as soon as it answers again', async () => {
    await opened.service.killNine()
    await page.getByRole('link', { name: 'API tokens' }).click()
    await page.getByText('The service does not answer.').waitFor()
    assert.deepEqual(await opened.axe(page), [])
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('The service does not answer.').waitFor()
    const whileAway = documents
    await opened.service.start()

    await title('API tokens')
    assert.deepEqual([whileAway, documents], [1, 2])
  })

  it('keeps a page, and what was typed on it, while the service is away', async () => {
    await page.getByRole('link', { name: 'Quickstart' }).click()
    await page.getByLabel('Text', { exact: true }).last().fill('Still here')
    await opened.service.killNine()
    // A person comes back to the tab, which makes the page reload its data.
    await page.evaluate(
      `window.dispatchEvent(new Event('visibilitychange')); document.dispatchEvent(new Event('visibilitychange'))`,
    )
    // On a phone, too.
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('alert').getByText('The service does not answer').waitFor()
    await page.getByLabel('API token', { exact: true }).fill(createToken(randomBytes))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('The public endpoint cannot be reached.').waitFor()
    const whileAway = await page.getByLabel('Text', { exact: true }).last().inputValue()
    await opened.service.start()
    await page.getByRole('button', { name: 'Live updates', exact: true }).waitFor()

    assert.equal(whileAway, 'Still here')
    assert.equal(await page.getByLabel('Text', { exact: true }).last().inputValue(), 'Still here')
    assert.equal(documents, 1)
  })

  it('shows at once that it reconnects, then since when the service is away, and calls nothing fine meanwhile', async () => {
    const fine = page.getByText('Nothing needs your attention.')
    await page.getByRole('link', { name: 'Needs attention' }).click()
    await fine.waitFor()
    await page.evaluate(NOTE_LIVE_WORDS)
    await opened.service.killNine()
    await page
      .getByRole('alert')
      .getByText(/It has not answered since \d/)
      .waitFor()
    const liveSaid = await page.evaluate('window.liveSaid')
    await page.getByText('Not known while the service does not answer.').waitFor()
    const isFine = await fine.isVisible()
    assert.deepEqual(await opened.axe(page), [])
    await opened.service.start()

    await fine.waitFor()
    assert.deepEqual([liveSaid, isFine], [['Reconnecting…', 'Offline'], false])
  })

  it('opens a menu that was clicked while the service was away, and leaves the page as it is', async () => {
    await opened.service.killNine()
    await page.getByRole('button', { name: /^You: / }).click()
    await opened.service.start()

    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    assert.equal(documents, 1)
  })

  it('reloads the document if an upgrade has replaced the files of a page', async () => {
    await page.route(CODE_OF_TOKENS, (route) => route.fulfill({ status: 404 }), { times: 1 })
    await page.getByRole('link', { name: 'API tokens' }).click()

    await title('API tokens')
    assert.equal(documents, 2)
  })

  it('reloads the document by itself only once while a file is missing, and whenever a person asks for it', async () => {
    await page.route(CODE_OF_TOKENS, (route) => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'API tokens' }).click()
    await page.getByText('The service does not have all files of this page.').waitFor()
    const byItself = documents
    await page.unroute(CODE_OF_TOKENS)
    await page.getByRole('button', { name: 'Try again' }).click()

    await title('API tokens')
    assert.deepEqual([byItself, documents], [2, 3])
  })

  it('reports that a part of an open page is missing, and lets the person decide when to reload', async () => {
    await page.route(CODE_OF_MENU, (route) => route.fulfill({ status: 404 }))
    await page.getByRole('button', { name: /^You: / }).click()
    const note = page.getByRole('alert').filter({ hasText: 'A part of this page could not be loaded' })
    await note.waitFor()
    await title('Overview')
    assert.deepEqual(await opened.axe(page), [])
    const beforeAsked = documents
    await page.unroute(CODE_OF_MENU)
    await note.getByRole('button', { name: 'Load again' }).click()
    await page.getByRole('button', { name: /^You: / }).click()

    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    assert.deepEqual([beforeAsked, documents], [1, 2])
  })
})

async function title(name: string): Promise<void> {
  await expect(page.locator('[data-page-title]')).toHaveText(name)
}
