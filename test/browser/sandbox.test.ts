import assert from 'node:assert/strict'
import type { Page, Response } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const ANNA = '15551234567'
const BEN = '15551234568'
const FIRST = '15550001000'
const SECOND = '15550001001'
const LOST = '15550100004'
const PICTURE = `document.querySelector('article img')`
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n')

let service: ConsoleService
let opened: OpenConsole
let page: Page

describe.skipIf(obstacle !== null).each(ENGINES)(`the sandbox inbox, on %s${skipNote(obstacle)}`, (engine) => {
  beforeAll(async () => {
    service = await startConsole({ engine, environment: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } })
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    opened = await service.openAccount()
    page = opened.page
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('shows sent messages live and in order, from the form under the chat to the API log', async () => {
    const files = await serveFiles({
      '/a.png': { body: tinyPng(), type: 'image/png' },
      '/a.pdf': { body: PDF, type: 'application/pdf' },
    })
    await opened.visit('/sandbox')
    await page.getByText('Nothing was delivered yet').waitFor()
    await page.getByLabel('API token').fill(await opened.createToken('browser'))

    await sendText(ANNA, 'Your parcel is here: https://files.example.com/not-fetched')
    await bubbles(1)
    await sendFile('Image', { url: `${files}/a.png`, name: 'a.png', caption: 'A caption' })
    await bubbles(2)
    await sendFile('Document', { url: `${files}/a.pdf`, name: 'letter.pdf', caption: '' })
    await bubbles(3)

    await page.getByLabel('Type').selectOption('Video')
    await page.getByRole('button', { name: 'Use a sample' }).click()
    await pressSend()
    await bubbles(4)
    await page.getByLabel('tour.mp4').waitFor()

    const [text, picture, document] = await page.locator('article').all()
    assert.match((await text?.innerText()) ?? '', /Your parcel is here/)
    assert.match((await picture?.innerText()) ?? '', /a\.png\s+A caption/)
    // The bubble is exactly as wide as its picture.
    assert.equal(Math.round((await picture?.boundingBox())?.width ?? 0), 320 + 2 * 12 + 2)
    assert.match((await document?.innerText()) ?? '', /letter\.pdf\s+Document · application\/pdf · 15 bytes/)
    assert.equal(await page.evaluate(`${PICTURE}.decode().then(() => ${PICTURE}.naturalWidth)`), 1)
    const download = page.waitForEvent('download')
    await document?.getByRole('link', { name: 'Download' }).click()
    assert.equal((await download).suggestedFilename(), 'letter.pdf')
    await page.getByRole('link', { name: /15551234567 .*tour\.mp4 4 delivered/ }).waitFor()
    assert.deepEqual(await opened.axe(), [])

    await text?.getByRole('button', { name: 'Details' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('"Your parcel is here: https://files.example.com/not-fetched"').waitFor()
    assert.deepEqual(await opened.axe(), [])
    await drawer.getByRole('link', { name: 'Open in the API log' }).click()
    await page.waitForURL(/developer\/logs\//)
    await page.getByText('Accepted', { exact: true }).first().waitFor()
    await page.getByRole('tab', { name: 'Request' }).click()
    await page.getByRole('tabpanel').getByText('Your parcel is here').first().waitFor()
  })

  it('opens the timeline of a message that failed on purpose, with one click', async () => {
    await opened.visit('/sandbox')
    await page.getByLabel('API token').fill(await opened.createToken('browser'))

    await page.getByRole('button', { name: `Send to ${LOST}` }).click()

    const note = page.getByRole('group', { name: `Sent to ${LOST}` })
    await note.getByText('200 OK').waitFor()
    await note.getByText('Unconfirmed').waitFor()
    await page.getByText('What is sent to this number: the connection breaks. How it ends: UNCONFIRMED').waitFor()
    assert.equal(await page.locator('article').count(), 0)
    assert.deepEqual(await opened.axe(), [])
  })

  it('shows at the field what the endpoint refused, and asks for a missing token', async () => {
    await opened.visit('/sandbox')
    const form = page.getByRole('region', { name: 'Send a message' })

    await form.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Paste a token that may send messages').waitFor()
    assert.equal(await page.getByLabel('To', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('API token').fill(await opened.createToken('browser'))
    await page.getByLabel('To', { exact: true }).fill('+1 555')
    await form.getByRole('button', { name: 'Send' }).click()

    const why = 'A number is its country code and digits only'
    const to = page.getByLabel('To', { exact: true })
    await expect(to).toHaveAccessibleDescription(new RegExp(why))
    assert.equal(await to.getAttribute('aria-invalid'), 'true')
    await expect(page.getByRole('group', { name: /^Sent to/ })).toContainText(`there is no message. ${why}`)
  })

  it('opens with the sender of the newest message, and keeps it when another one sends', async () => {
    const token = await opened.createToken('browser')
    await opened.cli.json('connection', 'add', SECOND, '--channel', 'sandbox', '--account', opened.account)
    await post(token, ANNA, 'From the first')
    // Waits until the first is delivered. Numbers do not wait for each other, so it could be delivered last.
    await opened.visit('/sandbox')
    await page.locator('article').getByText('From the first').waitFor()
    await postFrom(SECOND, { token, to: BEN, text: 'From the second' })
    const select = page.getByLabel('Connection', { exact: true })
    await expect
      .poll(async () => {
        await opened.visit('/sandbox')
        return (await select.locator('option:checked').textContent()) ?? ''
      })
      .toContain(SECOND)
    await page.locator('article').getByText('From the second').waitFor()

    await page.getByLabel('API token').fill(token)
    await page.getByLabel('Type').selectOption('Audio')
    await page.getByRole('button', { name: 'Use a sample' }).click()
    await pressSend()
    await bubbles(2)
    assert.match(await page.locator('article').last().innerText(), /hello\.wav/)
    const knows = page.waitForResponse(
      async (reply) => reply.url().endsWith('/sandbox') && (await newestIn(reply)) === FIRST,
    )
    await post(token, ANNA, 'From the first again')
    await knows
    await expect(select.locator('option:checked')).toContainText(SECOND)
    const boxes = [
      await select.boundingBox(),
      await page.getByRole('button', { name: 'More for this inbox' }).boundingBox(),
    ]
    const [top, menuTop] = boxes.map((box) => Math.round((box?.y ?? 0) + (box?.height ?? 0) / 2))
    assert.ok(Math.abs((top ?? 0) - (menuTop ?? 0)) < 8, `${top} and ${menuTop}`)

    // The cached data are about the first number.
    await page.getByRole('link', { name: 'Overview' }).click()
    await postFrom(SECOND, { token, to: BEN, text: 'While another page was open' })
    const list = (await knows).url()
    await expect.poll(async () => newestIn(await page.request.get(list))).toBe(SECOND)
    await page.getByRole('link', { name: 'Sandbox inbox' }).click()
    await expect(select.locator('option:checked')).toContainText(SECOND)
  })

  it('fits a phone: it shows the chats, then one of them, and goes back', async () => {
    const token = await opened.createToken('browser')
    await post(token, ANNA, 'Hello')
    await page.setViewportSize({ width: 360, height: 740 })
    await opened.visit('/sandbox')

    await page.getByRole('link', { name: new RegExp(ANNA) }).click()
    await bubbles(1)
    await post(token, ANNA, 'And hello again')
    await bubbles(2)

    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    assert.deepEqual(await opened.axe(), [])
    await page.getByRole('link', { name: 'All chats' }).click()
    await page.getByRole('link', { name: new RegExp(ANNA) }).waitFor()
  })

  it('finds a chat by a word in it, and marks chats as read like a phone', async () => {
    const token = await opened.createToken('browser')
    await opened.cli.json('connection', 'set', '15550001000', 'read_after=never', '--account', opened.account)
    await post(token, ANNA, 'Two loaves')
    await post(token, BEN, 'A cake')
    await opened.visit('/sandbox')

    const search = page.getByRole('searchbox', { name: 'Search by number or text' })
    // Types more slowly than the list updates, which must leave the field to the person.
    await search.pressSequentially('loaves', { delay: 400 })
    assert.equal(await search.inputValue(), 'loaves')
    await page.getByRole('link', { name: new RegExp(BEN) }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: new RegExp(ANNA) }).click()
    await page.getByText('Two loaves').last().waitFor()
    await page.getByRole('button', { name: 'Mark read' }).click()
    await page.getByText('Read: the report of 1 message comes within seconds.').waitFor()
    await page.locator('article').getByText('Read', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Mark read' }).waitFor({ state: 'detached' })
    await search.fill(`+${LOST.slice(0, 4)} ${LOST.slice(4)}`)
    await page.getByRole('button', { name: `Open the chat of ${LOST}` }).click()
    await page.getByRole('heading', { name: LOST }).waitFor()
    assert.deepEqual(await opened.axe(), [])

    await search.fill('')
    await page.getByRole('button', { name: 'More for this inbox' }).click()
    await page.getByRole('menuitem', { name: 'Clear inbox…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear inbox' }).click()
    await page.getByText('Cleared: 2 deliveries.').waitFor()
    await page.getByText('Nothing was delivered yet').waitFor()
  })
})

/** The number of the connection with the newest delivery. */
async function newestIn(reply: Pick<Response, 'json'>): Promise<string | undefined> {
  const { connections } = (await reply.json()) as { connections: { number: string; lastAt: number | null }[] }
  return connections.toSorted((one, other) => (other.lastAt ?? 0) - (one.lastAt ?? 0))[0]?.number
}

async function sendText(to: string, text: string): Promise<void> {
  await page.getByLabel('To', { exact: true }).fill(to)
  await page.getByLabel('Text', { exact: true }).fill(text)
  await pressSend()
}

async function sendFile(
  type: string,
  { url, name, caption }: Record<'url' | 'name' | 'caption', string>,
): Promise<void> {
  await page.getByLabel('Type').selectOption(type)
  await page.getByLabel('Address of the file').fill(url)
  await page.getByLabel('File name').fill(name)
  await page.getByLabel('Caption').fill(caption)
  await pressSend()
}

async function pressSend(): Promise<void> {
  await page.getByRole('region', { name: 'Send a message' }).getByRole('button', { name: 'Send', exact: true }).click()
}

/** Waits until this many are shown, without a reload of the page. */
async function bubbles(count: number): Promise<void> {
  await page
    .locator('article')
    .nth(count - 1)
    .waitFor()
}

async function post(token: string, to: string, text: string): Promise<void> {
  await postFrom(FIRST, { token, to, text })
}

async function postFrom(from: string, { token, to, text }: Record<'token' | 'to' | 'text', string>): Promise<void> {
  const response = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    body: JSON.stringify({ from, to, message: { type: 'message', message: text } }),
  })
  assert.equal(response.status, 200)
}
