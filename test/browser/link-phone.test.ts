import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Locator, Page, Request, Response } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'
import { LIBRARY_FOLDER, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { openSimulator, RECIPIENT, simulator } from '../support/whatsapp-web/library-world.ts'

const obstacle = whyNoBrowser() ?? whyNoLibrary()
const NUMBER = '15550107799'
const NEW_RECIPIENT = '15551234568'
const WATCH = /\/phone\/[^/]+\/watch$/
// Within this time the page polls an open request twice.
const TWO_QUESTIONS_MS = 3_500

const SMALLEST = { width: 320, height: 640 }
const QUIET_ZONE_PX = 20

let opened: OpenConsole
let page: Page

describe.skipIf(obstacle !== null)(`a phone in the console, against the simulator${skipNote(obstacle)}`, () => {
  openSimulator()

  beforeAll(async () => {
    const url = `${simulator.url}#${simulator.rootKey.public.toString('base64url')}`
    opened = await openConsole({ environment: { NUNCIO_WHATSAPP_WEB_URL: url } })
    page = opened.page
  })

  afterEach(() => opened.checkPages())
  afterAll(() => opened?.close())

  it('can be linked only if the channel is installed, and after its warning was accepted', async () => {
    await opened.visit('/connections/new')
    await page.getByRole('textbox', { name: /^Number/ }).fill(NUMBER)
    await page.getByRole('radio', { name: 'WhatsApp Web' }).click()
    const add = page.getByRole('button', { name: 'Add connection' })
    await expect(page.getByRole('main')).toContainText('channel install whatsapp-web')
    await page.getByRole('checkbox', { name: /may be restricted or banned/ }).check()
    await expect(add).toBeDisabled()
    assert.deepEqual(await opened.axe(), [])

    installChannel()
    await page.reload()
    await page.getByRole('textbox', { name: /^Number/ }).fill(NUMBER)
    await page.getByRole('radio', { name: 'WhatsApp Web' }).click()
    await expect(add).toBeDisabled()
    await page.getByRole('checkbox', { name: /may be restricted or banned/ }).check()
    await add.click()
    await page.getByRole('heading', { level: 1, name: `Link ${NUMBER} to its phone` }).waitFor()
  })

  it('scans the code, and the first message is sent', async () => {
    const code = await nextCode()
    const image = page.getByRole('img', { name: `QR code that links ${NUMBER} to its phone` })
    await image.waitFor()
    assert.deepEqual(await opened.axe(), [])
    await assertWholeOnSmallestPhone(image)
    assert.ok(!(await page.content()).includes(code))

    await expect(page.getByText('WhatsApp Web (simulator) · nothing waits')).toBeVisible()
    simulator.pairing.scan(NUMBER, code)
    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor()
    await expect(page.getByText(`${NUMBER} is linked.`, { exact: true })).toBeVisible()
    assert.equal(await countWatches(TWO_QUESTIONS_MS), 0)
    await page.getByRole('button', { name: 'Show the connection' }).click()
    await page.getByText(`${NUMBER} is linked and logged in.`).waitFor()
    assert.deepEqual(await opened.axe(), [])
    await send(RECIPIENT)

    await waitUntil('the text', async () => simulator.phone(RECIPIENT).texts.includes('Hello'), { deadlineMs: 30_000 })
  })

  it('shows with its settings how many new recipients it may still write to, which is Nuncio’s own count', async () => {
    await opened.cli.json('connection', 'set', NUMBER, 'new_recipients_per_day=1')
    await page.getByRole('tab', { name: 'Settings' }).click()

    await expect(page.getByRole('main')).toContainText('1 of 1 within 24 hours, none left')
    await expect(page.getByRole('tab', { name: 'Network' })).toHaveCount(0)
    assert.deepEqual(await opened.axe(), [])
  })

  it('G10: offers no retry while its messages wait for that count, and says at once when it must be linked', async () => {
    simulator.phone(NEW_RECIPIENT)
    await send(NEW_RECIPIENT)
    const main = page.getByRole('main')
    await expect(main).toContainText('1 of 1 new recipients were written to within 24 hours, so none is left.')
    await expect(main).toContainText('It goes on by itself')
    await expect(page.getByRole('button', { name: 'Retry now' })).toHaveCount(0)

    simulator.unlink(NUMBER)

    await expect(main).toContainText('Link the phone of the number.')
    await expect(main).not.toContainText('You need not do anything')
    await expect(page.getByRole('button', { name: 'Retry now' })).toHaveCount(0)
    assert.deepEqual(await opened.axe(), [])
  })

  it('is linked again, and its page says how many messages waited for that', async () => {
    await page.getByRole('link', { name: 'Link the phone' }).click()
    await expect(page.getByText('WhatsApp Web (simulator) · 1 message waits')).toBeVisible()
    simulator.pairing.scan(NUMBER, await nextCode())

    await expect(page.getByRole('status')).toContainText([`${NUMBER} is linked. What waits is sent now.`])
    await page.getByRole('button', { name: 'Show the connection' }).click()
    await page.getByText(`${NUMBER} is linked and logged in.`).waitFor()
    await expect(page.getByRole('main')).toContainText('so none is left.')

    await opened.cli.json('connection', 'set', NUMBER, 'new_recipients_per_day=2')
    const hasText = async () => simulator.phone(NEW_RECIPIENT).texts.includes('Hello')
    await waitUntil('the text', hasText, { deadlineMs: 30_000 })
    await expect(page.getByRole('main')).toContainText('Nothing waits.')
  })

  it('can be linked by a typed code after it was unlinked here', async () => {
    await page.getByRole('button', { name: 'Unlink…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByRole('link', { name: 'Link the phone' }).click()
    assert.equal(simulator.phone(NUMBER).devices.size, 0)

    simulator.pairing.isCodeRefused = true
    await page.getByRole('radio', { name: 'Code instead' }).press('Space')
    await expect(page.getByRole('status')).toContainText(['or scan a QR code instead.'])
    simulator.pairing.isCodeRefused = false
    await page.getByRole('button', { name: 'Show a QR code' }).click()
    await page.getByRole('radio', { name: 'Code instead' }).press('Space')
    const shown = page.getByLabel('Code to type into the phone')
    await expect(shown).toHaveText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
    simulator.pairing.typeCode(NUMBER, ((await shown.textContent()) ?? '').replace('-', ''))

    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor()
  })

  it('no longer lists this device after its number was removed, as the dialog announces', async () => {
    await page.getByRole('button', { name: 'Show the connection' }).click()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Remove…' }).click()
    await expect(page.getByRole('dialog')).toContainText(
      'If it stays there while Nuncio runs, log it out on the phone.',
    )
    await page.getByLabel(/to confirm/).fill(NUMBER)
    await page.getByRole('button', { name: 'Remove connection' }).click()
    await page.waitForURL(/\/connections$/)

    const { devices } = simulator.phone(NUMBER)
    await waitUntil('the end of the link', async () => devices.size === 0, { deadlineMs: 30_000 })
  })
})

function installChannel(): void {
  const extras = join(opened.service.settings.dataDir, 'extras')
  mkdirSync(extras, { recursive: true })
  symlinkSync(LIBRARY_FOLDER, join(extras, 'whatsapp-web'))
}

/** Asserts that the code is fully visible, with the quiet zone that cameras need. */
async function assertWholeOnSmallestPhone(image: Locator): Promise<void> {
  const before = page.viewportSize()
  await page.setViewportSize(SMALLEST)
  const [inner, frame] = [await image.boundingBox(), await image.locator('..').boundingBox()]
  if (before) await page.setViewportSize(before)
  assert.ok(inner && frame)
  const [left, right] = [inner.x - frame.x, frame.x + frame.width - inner.x - inner.width]
  assert.ok(Math.min(left, right) >= QUIET_ZONE_PX, JSON.stringify({ inner, frame }))
  assert.ok(frame.x + frame.width <= SMALLEST.width, JSON.stringify(frame))
}

/** How often the page polls the request in this time. */
async function countWatches(forMs: number): Promise<number> {
  let count = 0
  const see = (request: Request) => {
    if (WATCH.test(request.url())) count += 1
  }
  page.on('request', see)
  await setTimeout(forMs)
  page.off('request', see)
  return count
}

/** The code that a camera would read. The page gets it from the service alone. */
async function nextCode(): Promise<string> {
  let code: string | null = null
  const read = async (response: Response) => {
    if (!WATCH.test(response.url())) return
    assert.equal(response.headers()['cache-control'], 'no-store')
    const { code: found } = (await response.json()) as { readonly code: string | null }
    code = found ?? code
  }
  page.on('response', read)
  await waitUntil('a code', async () => code !== null, { deadlineMs: 30_000 })
  page.off('response', read)
  return code ?? ''
}

async function send(to: string): Promise<void> {
  const token = await opened.createToken(`to ${to}`)
  const response = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify({ from: NUMBER, to, message: { type: 'message', message: 'Hello' } }),
  })
  assert.equal(response.status, 200, await response.text())
}
