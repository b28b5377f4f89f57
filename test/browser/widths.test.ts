import assert from 'node:assert/strict'
import type { Locator, Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()
const PACED = '15550007777'
const [FINE, UNKNOWN_DELIVERED, UNKNOWN] = ['15551234567', '15550100003', '15550100004']
// "Download will be tried again, goes on 14:30:12 at the earliest", with its icon.
const LONG_WAIT_PX = 420
const LOGS = '/developer/logs'
const [SMALLEST, PHONE, TABLET, LAPTOP] = [
  { width: 320, height: 844 },
  { width: 390, height: 844 },
  { width: 768, height: 900 },
  { width: 1280, height: 800 },
]

// As text, because these names are the browser's.
const CUT_TABLES = `[...document.querySelectorAll('main *')].flatMap((one) =>
  one.querySelector('table') && one.scrollWidth > one.clientWidth ? [one.className] : [])`
const BROKEN_WORDS = `(() => {
  const broken = []
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode
    for (const { 0: word, index } of node.data.matchAll(/\\p{L}{2,}/gu)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word)
    }
  }
  return broken
})()`

let opened: OpenConsole
let page: Page
let lane: string
let unconfirmed: string

describe.skipIf(obstacle !== null)(`pages at every width${skipNote(obstacle)}`, () => {
  beforeAll(async () => {
    opened = await openConsole()
    page = opened.page
    const { account, cli } = opened
    const words = ['connection', 'add', PACED, '--channel', 'sandbox', '--account', account]
    const { id } = await cli.json<{ id: string }>(...words)
    lane = `/connections/${id}`
    const settings = ['on_unconfirmed=resend', 'least_gap=1h']
    await cli.json('connection', 'set', PACED, ...settings, '--account', account)
    const token = await opened.createToken('widths')
    await send(token, PACED, UNKNOWN_DELIVERED)
    for (let at = 0; at < 2; at++) await send(token, PACED, FINE)
    unconfirmed = await send(token, '15550001000', UNKNOWN)
  })

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  it('a table whose rows are in groups is as wide as its frame on a tablet', async () => {
    await page.setViewportSize(TABLET)
    await opened.visit(lane)
    const table = page.getByRole('table', { name: 'Messages that wait on this number' })
    await table.getByText('The earliest that may go goes first.').waitFor()

    const [whole, last] = [await boxOf(table), await boxOf(table.getByRole('columnheader').last())]

    assert.ok(Math.abs(whole.x + whole.width - last.x - last.width) < 1, JSON.stringify({ whole, last }))
  })

  it.each([768, 1024])('the lane says in one line why a message waits and until when, at %i px', async (width) => {
    await page.setViewportSize({ width, height: 900 })
    await opened.visit(lane)
    const table = page.getByRole('table', { name: 'Messages that wait on this number' })
    await table.getByRole('link').first().waitFor()

    assert.ok((await boxOf(table.getByRole('columnheader', { name: 'When' }))).width > LONG_WAIT_PX)
    for (const row of await table
      .getByRole('row')
      .filter({ has: page.getByRole('link') })
      .all())
      assert.ok((await boxOf(row)).height < 40)
  })

  it.each([320, 390, 768, 1024, 1440, 1920])('a toast covers nothing at the end of a page of %i px', async (width) => {
    await page.setViewportSize({ width, height: 480 })
    await opened.visit(lane)
    await page.getByRole('button', { name: 'Pause' }).click()
    const toast = page.getByRole('alert').filter({ hasText: `Paused ${PACED}` })
    // It stays for as long as the pointer is over it.
    await toast.hover()
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))

    const [shown, content] = [await boxOf(toast), await boxOf(page.getByRole('main').getByRole('tabpanel'))]
    const more = page.getByRole('button', { name: 'More', exact: true })
    const end = (await more.isVisible()) ? (await boxOf(more)).y : 480
    assert.ok(content.y + content.height <= shown.y, JSON.stringify({ content, shown }))
    assert.ok(shown.y + shown.height <= end, JSON.stringify({ shown, end }))
    assert.ok(shown.x >= 0 && shown.x + shown.width <= width)
    await page.getByRole('button', { name: 'Resume' }).first().click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
  })

  it('a toast closes by itself, also where the pointer rests', async () => {
    await page.setViewportSize(LAPTOP)
    await opened.visit(lane)
    await page.mouse.move(LAPTOP.width - 100, LAPTOP.height - 50)
    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    const toast = page.getByRole('alert').filter({ hasText: `Paused ${PACED}` })
    await toast.and(page.locator(':hover')).waitFor()

    await toast.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Resume' }).first().click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
  })

  it.each([
    ['?as=table', '[data-label="Unconfirmed"]:visible'],
    ['/connections', `text=${PACED}`],
    ['/developer/tokens', 'text=widths'],
    ['/developer/webhooks/new', 'text=message.unconfirmed'],
    ['/settings/audit', `text=${PACED}`],
  ])('of %s no table is cut and no word is broken inside on the smallest phone', async (path, part) => {
    await page.setViewportSize(SMALLEST)
    await opened.visit(path)
    await page.getByRole('main').locator(part).first().waitFor()

    assert.deepEqual(await page.evaluate<string[]>(CUT_TABLES), [])
    assert.deepEqual(await page.evaluate<string[]>(BROKEN_WORDS), [])
  })

  it('an unconfirmed message has its tabs, its title and its menu each in one row on the smallest phone', async () => {
    await page.setViewportSize(SMALLEST)
    await opened.visit(`${LOGS}/${unconfirmed}`)
    await page.getByRole('heading', { name: /nobody knows/ }).waitFor()

    const tabs = await Promise.all((await page.getByRole('tab').all()).map(boxOf))
    const [title, menu] = [await boxOf(page.locator('h1')), await boxOf(page.getByLabel('More actions'))]

    assert.equal(tabs.length, 4)
    assert.equal(new Set(tabs.map(({ y }) => y)).size, 1)
    assert.ok(menu.y < title.y + title.height, JSON.stringify({ title, menu }))
  })

  it('what needs attention has its icon beside its title on the smallest phone', async () => {
    await page.setViewportSize(SMALLEST)
    await opened.visit('/attention')
    const row = page.locator('[data-attention]').first()
    await row.waitFor()

    const [icon, title] = [await boxOf(row.locator('svg').first()), await boxOf(row.getByText(/\w/).first())]

    assert.ok(icon.x + icon.width <= title.x, JSON.stringify({ icon, title }))
    assert.ok(icon.y < title.y + title.height)
  })

  it('the header fits the smallest phone while updates are paused', async () => {
    await page.setViewportSize(SMALLEST)
    await opened.visit(LOGS)
    await page.keyboard.press('.')
    const paused = page.getByRole('button', { name: 'Live updates, paused' })
    await expect(paused).toHaveText('Updates paused')
    const menu = await boxOf(page.getByRole('button', { name: /^You: / }))
    assert.deepEqual(await opened.axe(), [])
    await paused.click()

    assert.ok(menu.x + menu.width <= SMALLEST.width, JSON.stringify(menu))
  })

  it('the tab bar does not cover the button that sends from the sandbox inbox on a tablet', async () => {
    await page.setViewportSize(TABLET)
    await opened.visit(`/sandbox?to=${UNKNOWN_DELIVERED}`)
    const button = page.locator('form').getByRole('button', { name: 'Send', exact: true })
    await button.waitFor()

    const [send, tabs] = [await boxOf(button), await boxOf(page.getByRole('navigation', { name: 'Main pages' }))]

    assert.ok(send.y + send.height <= tabs.y, JSON.stringify({ send, tabs }))
  })

  it('the tab bar marks More on a page without a tab', async () => {
    await page.setViewportSize(SMALLEST)
    const more = page.getByRole('button', { name: 'More', exact: true })

    await opened.visit('/developer/tokens')
    await expect(more).toHaveAttribute('aria-current', 'true')
    await opened.visit(`${LOGS}/${unconfirmed}`)
    await expect(more).not.toHaveAttribute('aria-current')
    await opened.visit('')
    await expect(more).not.toHaveAttribute('aria-current')
  })

  it('the list of requests shows each reason in full on a small laptop, and the column HTTP only if it has a value', async () => {
    await page.setViewportSize(LAPTOP)
    await opened.visit(LOGS)
    const table = page.getByRole('table', { name: 'Requests to the API, newest first' })
    const row = table.getByRole('row').filter({ hasText: 'Unconfirmed' })
    await row.waitFor()

    const cells = await row.getByRole('cell').nth(1).locator('span').all()
    for (const cell of cells)
      assert.ok(await cell.evaluate((one) => one.scrollWidth <= one.clientWidth || one.clientWidth === 0))
    const http = table.getByRole('columnheader', { name: 'HTTP' })
    await expect(http).toHaveCount(0)
    const refused = await post(await opened.createToken('refused'), '15550009999', { to: UNKNOWN })
    assert.equal(refused.status, 404)
    await expect(http).toHaveCount(1)

    await page.setViewportSize(SMALLEST)
    const shown = (text: string) =>
      table
        .getByRole('row')
        .filter({ hasText: text })
        .getByText(/^(?:200|404)$/)
    await expect(shown('15550009999')).toBeVisible()
    await expect(shown('Unconfirmed')).toBeHidden()
  })

  it.each([1280, 1440, 1920])('each row of the tokens and of the requests has one line at %i px', async (width) => {
    await page.setViewportSize({ width, height: 900 })
    const token = await opened.createToken(`wrong ${width}`)
    assert.equal((await post(token, '15550001000', { to: '+49 170 1234' })).status, 400)
    assert.equal((await post(token, '15550001000', { to: '15559998888', key: 'x'.repeat(256) })).status, 400)
    for (const [path, table] of [
      ['/developer/tokens', 'active API tokens, newest first'],
      [LOGS, 'Requests to the API, newest first'],
    ] as const) {
      await opened.visit(path)
      const rows = page.getByRole('table', { name: table }).getByRole('row')
      await expect(rows.nth(1)).toBeVisible()
      if (path === LOGS) await expect(rows.filter({ hasText: /Invalid key|Give digits/ })).not.toHaveCount(0)

      const heights = await Promise.all((await rows.all()).map(async (row) => (await boxOf(row)).height))
      assert.ok(Math.max(...heights) < 40, `${path}: ${heights}`)
    }
  })

  it.each([SMALLEST, PHONE])('the results to choose from fit into two rows at $width px', async (size) => {
    await page.setViewportSize(size)
    await opened.visit(LOGS)
    const choices = await page.getByRole('radiogroup', { name: 'Which requests' }).locator('label').all()
    const boxes = await Promise.all(choices.map(boxOf))
    const cut = await Promise.all(choices.map((one) => one.evaluate((label) => label.scrollWidth > label.clientWidth)))

    assert.equal(choices.length, 6)
    assert.equal(new Set(boxes.map(({ y }) => Math.round(y))).size, 2)
    assert.ok(!cut.includes(true), String(cut))
  })

  it('G10: a message that may have been sent already is yellow in the list', async () => {
    await page.setViewportSize(TABLET)
    await opened.visit(LOGS)
    const rows = page.getByRole('row')

    // Only important states have a badge.
    await expect(rows.filter({ hasText: UNKNOWN_DELIVERED }).locator('.mantine-Badge-root')).toHaveText('Queued')
    await expect(rows.filter({ hasText: FINE }).first().getByText('Queued')).toBeVisible()
    await expect(rows.filter({ hasText: FINE }).locator('.mantine-Badge-root')).toHaveCount(0)
  })
})

/** Sends a message. Returns its id. */
async function send(token: string, from: string, to: string): Promise<string> {
  const reply = await post(token, from, { to })
  assert.equal(reply.status, 200)
  return reply.headers.get('x-message-id') ?? ''
}

function post(token: string, from: string, { to, key }: { to: string; key?: string }): Promise<Response> {
  const idempotency = key === undefined ? {} : { 'idempotency-key': key }
  return fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token, ...idempotency },
    body: JSON.stringify({ from, to, message: { type: 'message', message: 'Hello there' } }),
  })
}

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox()
  assert.ok(box, String(locator))
  return box
}
