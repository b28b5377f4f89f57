import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it, onTestFinished } from 'vitest'
import { createToken } from '../../src/core/token/token-format.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const PAUSED = '15550002222'
const NEWCOMERS = '15550002000'

let service: ConsoleService
let opened: OpenConsole
let page: Page

describe.skipIf(obstacle !== null).each(ENGINES)(`the overview, on %s${skipNote(obstacle)}`, (engine) => {
  beforeAll(async () => {
    service = await startConsole({ engine })
  })
  afterAll(() => service?.close())
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('shows where the token of the first start is', async () => {
    await open(service.openFirstAccount())
    let before = -1
    await page.route('**/assets/first-steps-*.js', async (route) => {
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
      before = await page.locator('[data-tile]').count()
      await route.continue()
    })
    await opened.visit('')

    await page.getByText('export NUNCIO_TOKEN=nco_…').waitFor()
    await page.getByText('The terminal printed your token when Nuncio first started. Lost?').waitFor()
    await page.getByRole('link', { name: 'Create another' }).waitFor()
    // Otherwise figures that are there already would be pushed down.
    assert.equal(before, 0)
  })

  // Uses the first account, because the size of the database is shown only while there is no other account.
  it('shows retention periods, and applies shorter ones of the account', async () => {
    await open(service.openFirstAccount())
    await post(await opened.createToken('browser'), '15550001000', { to: '15551234567' })
    await opened.visit('/settings/retention')

    await expect(page.locator('[data-fact="Messages"]')).toContainText('1 (counted')
    await expect(page.locator('[data-fact="The database"]')).toContainText(/B$/)
    const messages = page.locator('[data-fact="Messages and the API log"]')
    await messages.getByText('Kept 90 days.').waitFor()
    await page.getByLabel('Messages and the log, in days').fill('3')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('alert').getByText('Nothing was changed').waitFor()
    assert.deepEqual(await opened.axe(), [])
    assert.deepEqual(await findBarriersOnPhone(page), [])

    await page.getByLabel('Messages and the log, in days').fill('30')
    await page.getByLabel('Texts and addresses, in days').fill('7')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByText('Retention changed').waitFor()
    await messages.getByText('Kept 30 days (the installation: 90 days).').waitFor()
    assert.equal(await page.getByRole('alert').filter({ hasText: 'Nothing was changed' }).count(), 0)
    await page.reload()
    assert.equal(await page.getByLabel('Messages and the log, in days').inputValue(), '30')
    assert.equal(await page.getByLabel('Texts and addresses, in days').inputValue(), '7')
  })

  it('leads a new account to its first message, and ticks off each step as it is done', async () => {
    await open(service.openAccount({ isEmpty: true }))
    await opened.visit('')
    await stepsDone([])
    assert.deepEqual(await opened.axe(), [])

    await cli('connection', 'add', NEWCOMERS, '--channel', 'sandbox')
    await stepsDone(['connection'])
    await opened.createToken('first')
    await stepsDone(['connection', 'token'])
    await page.getByText('The console showed your token when it was created. Lost? Create another').waitFor()
    await page.getByRole('link', { name: 'Open the quickstart' }).click()
    await sendFromQuickstart(await opened.createToken('browser'))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Your first message was accepted.').waitFor()
    await stepsDone(['connection', 'token'])
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('link', { name: 'Open the API log' }).click()
    await page
      .getByRole('row', { name: /15551234567/ })
      .getByRole('link')
      .first()
      .click()
    await page.getByRole('heading', { name: 'What happened' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await expect(page.locator('[data-tile="Accepted"]')).toHaveText('1')
    await expect(page.locator('[data-step]')).toHaveCount(0)
    await page.reload()
    await page.locator('[data-tile="Accepted"]').waitFor()
    assert.equal(await page.locator('[data-step]').count(), 0)
  })

  it('links each figure to exactly what it counts', async () => {
    await open(service.openAccount())
    const token = await opened.createToken('browser')
    await cli('connection', 'add', PAUSED, '--channel', 'sandbox')
    await cli('connection', 'pause', PAUSED)
    const sent = [
      ['15550001000', '15551234567', 'once'],
      ['15550001000', '15551234567', 'once'],
      ['15550001000', '15550100001', 'refused for good'],
      ['15550001000', '15550100001', 'refused for good'],
      ['15550001000', '15550100003', 'unknown'],
      [PAUSED, '15551234567', 'waits'],
      [PAUSED, '15551234567', 'waits'],
      ['15550001000', 'no-number', 'malformed'],
    ] as const
    for (const [from, to, key] of sent) await post(token, from, { to, key })
    await opened.visit('')
    await total('published', '1')
    await total('failed', '1')
    await total('refused', '1')
    const words = ['message', 'list', '--state', 'FAILED', '--account', opened.account]
    const failed = await opened.cli.json<{ id: string }[]>(...words)
    await opened.cli.json('message', 'retry', failed[0]?.id ?? '')
    await total('failed', '2')

    const figures = {
      ...{ Accepted: 5, Sent: 1, 'Failed or expired': 2 },
      ...{ Refused: 1, Waiting: 1 },
    }
    for (const [label, count] of Object.entries(figures)) {
      await expect(page.locator(`[data-tile="${label}"]`)).toHaveText(String(count))
      await page.getByRole('region', { name: 'Figures' }).getByRole('link', { name: label, exact: true }).click()
      await logShows(count)
      await page.goBack()
    }
    await page.getByRole('button', { name: 'Show as table' }).click()
    const bars = page.getByRole('region', { name: /^Results/ }).locator('tbody tr')
    await bars.first().waitFor()
    const counted: number[] = []
    for (const [at, cells] of (await bars.allInnerTexts()).map((text) => text.split('\t').slice(1)).entries()) {
      const count = cells.reduce((sum, text) => sum + Number(text), 0)
      if (count === 0) continue
      counted.push(count)
      await bars.nth(at).getByRole('link').click()
      await logShows(count)
      await page.goBack()
      await bars.first().waitFor()
    }

    expect(counted.reduce((sum, count) => sum + count)).toBe(6)
  })

  it('shows figures, the chart and its table, and what needs attention, without a reload', async () => {
    await open(service.openAccount())
    const token = await opened.createToken('browser')
    await opened.visit('')
    await post(token, '15550001000', { to: '15551234567' })
    // The sandbox refuses every message to this recipient.
    await post(token, '15550001000', { to: '15550100001' })
    await post(token, '15550001000', { to: 'no-number' })

    await total('published', '1')
    await total('failed', '1')
    await total('refused', '1')
    const chart = page.getByRole('figure', { name: /The same figures are in the table/ })
    await chart.locator('title', { hasText: /: 1 sent, 1 failed, 1 refused$/ }).waitFor({ state: 'attached' })
    const failed = page.locator('[data-attention="messages FAILED recipient_refused"]')
    await failed.getByText('1 message failed').waitFor()
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('button', { name: 'Show as table' }).click()
    await page.getByRole('columnheader', { name: 'Refused' }).waitFor()
    assert.deepEqual(await opened.axe(), [])
    for (const range of ['1 h', '7 d', '30 d']) {
      await page.getByText(range, { exact: true }).click()
      await total('published', '1')
    }
    assert.match(page.url(), /range=30d/)
    await failed.getByRole('link', { name: 'Show 1' }).click()
    await page.waitForURL(/developer\/logs\?.*result=failed/)
    await page.getByRole('button', { name: 'Remove the filter: Reason: recipient_refused' }).waitFor()
    await logShows(1)
  })

  it('counts the first message at once, and links to its result', async () => {
    await open(service.openAccount({ isEmpty: true }))
    await cli('connection', 'add', NEWCOMERS, '--channel', 'sandbox')
    const token = await opened.createToken('browser')
    await opened.visit('')
    await stepsDone(['connection', 'token'])

    await post(token, NEWCOMERS, { to: '15551234567' })

    // This is shown before the background job counts.
    await page.getByText('median of the last 1,', { exact: false }).waitFor()
    assert.equal(await page.locator('[data-tile="Accepted"]').innerText(), '1')
    assert.equal(await page.locator('[data-tile="Sent"]').innerText(), '1')
    await page.getByText('Your first message was accepted.').waitFor()
  })

  it('reports that all lanes are held, and what to do', async () => {
    await open(service.openAccount())
    await opened.visit('')
    await opened.cli.json('hold', '--because', 'restored the backup of Monday')
    onTestFinished(() => opened.cli.json('hold', '--release'))

    await page.getByText('All messages are held back').waitFor()
    assert.deepEqual(await opened.axe(), [])
  })

  it('writes the call of each type in each language, and shows faults at their fields', async () => {
    await open(service.openAccount())
    await opened.visit('/developer/quickstart')
    const form = page.locator('form')
    const text = page.getByRole('textbox', { name: 'Text', exact: true })
    await text.fill('')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Paste a token that may send messages').waitFor()
    assert.equal(await text.getAttribute('aria-invalid'), 'true')
    await page.getByText('Audio', { exact: true }).click()
    assert.equal(await page.getByLabel('Caption').count(), 0)
    await page.getByText('Image', { exact: true }).click()
    await page.getByLabel('API token').fill(await opened.createToken('browser'))
    await page.getByLabel('To', { exact: true }).fill('12')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await form.getByText('7 to 15 digits, no leading zero, no +,').waitFor()
    await form.getByText('The address of the file is empty').waitFor()
    await form.getByText('The file name is empty').waitFor()
    const refused = page.getByRole('group', { name: 'Sent to 12' })
    await expect(refused).toContainText(
      /Not accepted, so there is no message\. .*7 to 15 digits.*The file name is empty/,
    )
    await refused.getByRole('link', { name: 'Open in the API log' }).waitFor()
    await page.getByLabel('Address of the file').fill('ftp://files.example.com/a.png')
    await expect(page.getByLabel('File name')).toHaveValue('a.png')
    await expect(refused).toHaveCount(0)
    await page.getByLabel('Caption').fill("it's here")
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await form.getByText('must be absolute and start with http').waitFor()
    // Each press of Send made a request.
    assert.equal((await opened.cli.json<unknown[]>('log', 'list', '--account', opened.account)).length, 2)
    for (const language of ['curl', 'Node', 'Python', 'PHP']) {
      await page.getByRole('tab', { name: language }).click()
      const code = await page.getByRole('group', { name: `The call in ${language}` }).innerText()
      assert.match(code, /a\.png/)
      assert.doesNotMatch(code, /nco_/)
    }
    assert.match(page.url(), /type=image&language=php/)
    assert.deepEqual(await opened.axe(), [])
  })

  it('accepts a number as people write it, shows the ids of the reply, and keeps the token while documents are open', async () => {
    await open(service.openAccount())
    await opened.visit('/developer/quickstart')
    const token = await opened.createToken('browser')
    await page.getByLabel('API token').fill(token)
    const opening = page.waitForEvent('popup')
    await page.locator('main').getByRole('link', { name: 'API reference' }).click()
    await (await opening).close()
    await expect(page.getByLabel('API token')).toHaveValue(token)

    await page.getByLabel('To', { exact: true }).fill('+1 555 123-4567')
    await expect(page.getByRole('group', { name: 'The call in curl' })).toContainText('"to": "15551234567"')
    await page.getByText('Image', { exact: true }).click()
    await page.getByLabel('Caption').fill('Our bread')
    await page.getByText('Document', { exact: true }).click()
    await page.getByRole('button', { name: 'Use a sample' }).click()
    await expect(page.getByLabel('Caption')).toHaveValue('')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const sent = page.getByRole('group', { name: 'Sent to 15551234567' })
    await expect(sent.getByRole('group', { name: 'Ids in the headers of the reply' })).toHaveText(
      /x-request-id: \S+\s+x-message-id: [0-9a-f-]{36}/,
    )
    await expect(sent.getByRole('group', { name: 'The body of the reply' })).toContainText('"code": "HC-1"')
  })

  it('keeps the sender that was chosen in the quickstart, unless a link names another', async () => {
    await open(service.openAccount())
    await cli('connection', 'add', '15550001010', '--channel', 'sandbox')
    const from = page.getByLabel('From', { exact: true })
    await opened.visit('/developer/quickstart?from=15550001010')
    await expect(from).toHaveValue('15550001010')
    await opened.visit('/developer/quickstart')
    await expect(from).toHaveValue('15550001000')
    await from.selectOption('15550001010')
    await expect(page.getByRole('group', { name: 'The call in curl' })).toContainText('"from": "15550001010"')

    await page.getByRole('link', { name: 'Sandbox inbox' }).click()
    await page.getByRole('link', { name: 'Quickstart' }).click()
    await expect(from).toHaveValue('15550001010')
    await page.reload()
    await expect(from).toHaveValue('15550001010')
    await opened.visit('/developer/quickstart?from=15550001000')
    await expect(from).toHaveValue('15550001000')
    await from.selectOption('15550001010')
    await expect(from).toHaveValue('15550001010')
  })

  it('says in the quickstart that a request with an unknown token is not in the API log', async () => {
    await open(service.openAccount())
    await opened.visit('/developer/quickstart')
    await page.getByLabel('API token').fill(createToken(randomBytes))
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    const refused = page.getByRole('group', { name: /^Sent to/ })
    await expect(refused).toContainText('Not in the API log of this account')
    await expect(refused.getByRole('link')).toHaveCount(0)
  })

  it('says in the quickstart why the message is not sent yet', async () => {
    await open(service.openAccount())
    await cli('connection', 'pause', '15550001000')
    await opened.visit('/developer/quickstart')
    await sendFromQuickstart(await opened.createToken('browser'))

    await expect(page.getByRole('group', { name: /^Sent to/ })).toContainText(/Not sent yet\. .*paused/)
  })
})

async function open(opening: Promise<OpenConsole>): Promise<void> {
  opened = await opening
  page = opened.page
}

async function stepsDone(expected: readonly string[]): Promise<void> {
  await page.locator('[data-step]').first().waitFor()
  await expect
    .poll(() => page.locator('[data-done="true"]').evaluateAll((steps) => steps.map((step) => step.dataset['step'])))
    .toEqual(expected)
}

const TILES = { published: 'Sent', failed: 'Failed or expired', refused: 'Refused' } as const

async function total(result: keyof typeof TILES, count: string): Promise<void> {
  await expect(page.locator(`[data-tile="${TILES[result]}"]`)).toHaveText(count)
}

async function sendFromQuickstart(token: string): Promise<void> {
  await page.getByLabel('API token').fill(token)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('200 OK').waitFor()
  await page.getByRole('link', { name: 'Open in the API log' }).waitFor()
  assert.deepEqual(await opened.axe(page), [])
}

/** Expects exactly this many requests in the API log. */
async function logShows(count: number): Promise<void> {
  await page.getByRole('heading', { level: 1, name: 'API logs' }).waitFor()
  await expect(page.getByRole('table').locator('tbody tr')).toHaveCount(count)
}

async function cli(...words: string[]): Promise<void> {
  await opened.cli.json(...words, '--account', opened.account)
}

async function post(token: string, from: string, { to, key }: { to: string; key?: string }): Promise<void> {
  const idempotency = key === undefined ? {} : { 'idempotency-key': key }
  await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token, ...idempotency },
    body: JSON.stringify({ from, to, message: { type: 'message', message: 'Hello' } }),
  })
}
