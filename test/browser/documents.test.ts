import assert from 'node:assert/strict'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriers, type Scheme } from '../support/browser/find-barriers.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()
const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1440, height: 800 }
const PAGES = ['', 'api', 'concepts/outcomes', 'message-states', 'examples/send.py', 'gone']

describe.skipIf(obstacle !== null)(`the documents in a browser${skipNote(obstacle)}`, () => {
  let opened: OpenConsole
  let page: Page

  beforeAll(async () => {
    opened = await openConsole({ hasPerson: false })
  })

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  beforeEach(async () => {
    page = await (await opened.openContext()).newPage()
    return () => page.context().close()
  })

  it.each(PAGES)('/docs/%s has one heading and is accessible, light and dark, wide and on a phone', async (path) => {
    await page.goto(`/docs/${path}`)

    await expect(page.locator('h1')).toHaveCount(1)
    expect(await findBarriers(page, follow)).toEqual([])
    await page.setViewportSize(PHONE)
    expect(await findBarriers(page, follow)).toEqual([])
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(overflow <= 0, `${overflow} pixels stand out at the side`)
  })

  it('have the font of the console', async () => {
    await page.goto('/docs/')

    await expect(page.locator('body')).toHaveCSS('font-family', /^"Inter Variable"/)
    await expect
      .poll(() => page.evaluate<string>('[...document.fonts].map(({ status }) => status).join()'))
      .toBe('loaded')
  })

  it('are found by typing, with the keyboard alone', async () => {
    await page.goto('/docs/')
    await page.keyboard.press('/')
    await page.keyboard.type('commit_unknown')
    await expect(page.getByRole('search').getByRole('link').first()).toBeVisible()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')

    await expect(page).not.toHaveURL(/\/docs\/$/)
    await expect(page.locator('main')).toContainText('commit_unknown')
  })

  it('show the address of this service in their examples', async () => {
    await page.goto('/docs/guides/safe-retries')

    await expect(page.locator('main code').filter({ hasText: 'curl' }).first()).toContainText(
      `curl ${opened.url}/chat/`,
    )
  })

  it('report that nothing is found', async () => {
    await page.goto('/docs/')
    await page.getByLabel('Search the docs').fill('zzyzx')

    await expect(page.getByRole('search')).toContainText('Nothing found')
  })

  it('can be searched by typing on after the search could not be loaded', async () => {
    const refusal = { status: 503, json: { message: 'The service is stopping.' } }
    await page.route('**/search-*.json', (route) => route.fulfill(refusal))
    await page.goto('/docs/')
    await page.getByLabel('Search the docs').fill('commit')
    await expect(page.getByRole('search')).toContainText('The search could not be loaded')
    await page.unroute('**/search-*.json')
    await page.getByLabel('Search the docs').fill('commit_unknown')

    await expect(page.getByRole('search').getByRole('link').first()).toBeVisible()
  })

  it('have a link that skips the list of pages', async () => {
    await page.goto('/docs/guides/tokens')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')

    await expect(page.locator('main')).toBeFocused()
  })

  it('show the current page in a long list of pages', async () => {
    await page.setViewportSize({ ...DESKTOP, height: 400 })
    await page.goto('/docs/operating/watchdog')

    await expect(page.locator('#pages [aria-current]')).toBeInViewport({ ratio: 1 })
  })

  it('stay dark if a person chose that, also on the next page and with the dark pictures', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto('/docs/')
    await page.getByRole('button', { name: 'Show dark pages' }).click()
    await page.goto('/docs/concepts/outcomes')

    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
    await expect(page.locator('.diagram .only-dark img').first()).toBeVisible()
    await expect(page.locator('.diagram .only-light img').first()).toBeHidden()
  })

  it('fold the list of pages away on a phone', async () => {
    await page.setViewportSize(PHONE)
    await page.goto('/docs/')
    const list = page.getByRole('navigation', { name: 'Pages' })

    await expect(list).toBeHidden()
    await page.getByRole('button', { name: 'Pages', exact: true }).click()
    await expect(list).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(list).toBeHidden()
  })

  it('can be read without JavaScript', async () => {
    const context = await opened.browser.newContext({ javaScriptEnabled: false, viewport: DESKTOP })
    const plain = await context.newPage()
    await plain.goto(`${opened.url}/docs/concepts/outcomes`)

    await expect(plain.getByRole('navigation', { name: 'Pages' })).toBeVisible()
    await expect(plain.locator('.diagram img:visible')).toHaveCount(1)
    await context.close()
  })

  it('try a call: each example can be sent, and its answer is shown with a link to its message', async () => {
    const token = await newToken(opened)
    await page.goto('/docs/api')
    const form = page.getByRole('form', { name: 'Try a call' })
    await form.getByLabel('API token').fill(token)

    for (const type of ['message', 'image', 'document', 'video', 'audio']) {
      await form.getByLabel('Example').selectOption(type)
      await expect(form.getByLabel('Body', { exact: true })).toHaveValue(new RegExp(`"type": "${type}"`))
      await form.getByRole('button', { name: 'Send' }).click()
      await expect(form.getByRole('status')).toHaveText(/^200 /)
      const link = form.getByRole('link', { name: 'The message in the API log' })
      const address = (await link.getAttribute('href')) ?? ''
      const [, id] = /^\.\.\/console\/developer\/logs\/([0-9a-f-]{36})$/.exec(address) ?? []
      assert.ok(id, address)
      await expect
        .poll(async () => (await opened.cli.json<Explained>('message', 'explain', id)).state)
        .toBe('PUBLISHED')
    }
    await expect(form.getByRole('group', { name: 'Headers of the answer' })).toContainText('x-message-id')
    await expect(form.getByRole('group', { name: 'Body of the answer' })).toContainText('"QUEUED"')
    expect(await findBarriers(page, follow)).toEqual([])
  })

  it('show the refusal of a call, and its curl command without the token', async () => {
    await page.goto('/docs/api')
    const form = page.getByRole('form', { name: 'Try a call' })
    await form.getByLabel('API token').fill('nco_wrong')
    await form.getByLabel('Idempotency-Key').fill("it's-me")
    await form.getByRole('button', { name: 'Send' }).click()

    await expect(form.getByRole('status')).toHaveText(/^401 /)
    const curl = form.getByRole('group', { name: 'The same with curl' })
    await expect(curl).toContainText('$NUNCIO_TOKEN')
    await expect(curl).toContainText(`'idempotency-key: it'\\''s-me'`)
    await expect(curl).not.toContainText('nco_wrong')
    await expect(form.getByRole('alert')).toBeHidden()
    expect(
      await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.cookie])'),
    ).not.toContain('nco_')
  })

  it('warn before a token is sent over plain http to another machine', async () => {
    const context = await opened.browser.newContext()
    const far = await context.newPage()
    // Another name of this machine. For a browser it is another machine.
    await far.route('http://nuncio.example/**', async (route) => {
      const reply = await fetch(route.request().url().replace('http://nuncio.example', opened.url))
      await route.fulfill({
        status: reply.status,
        headers: Object.fromEntries([...reply.headers].filter(([name]) => name !== 'content-encoding')),
        body: Buffer.from(await reply.arrayBuffer()),
      })
    })
    await far.goto('http://nuncio.example/docs/api')

    await expect(far.getByRole('alert')).toContainText('plain http')
    await context.close()
  })
})

interface Explained {
  readonly state: string
}

/** Changes the system's colour scheme. The page follows through its style sheet alone. */
async function follow(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
}

async function newToken({ cli }: OpenConsole): Promise<string> {
  const { token } = await cli.json<{ token: string }>('token', 'create', '--name', 'tried', '--expires', '7d')
  return token
}
