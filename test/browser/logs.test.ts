import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'
import { addPerson } from '../support/browser/person.ts'

const ENGINES = enginesOr('SQLite')
const obstacle = whyNoBrowser()
const LIST = '/developer/logs'
const FROM = '15550001000'
const [FINE, REFUSED, UNKNOWN, LATER] = ['15551234567', '15550100001', '15550100004', '15550100007']

let service: ConsoleService
let opened: OpenConsole
let page: Page
let token: string

async function send(to: string, message: object = { type: 'message', message: 'Hello there' }): Promise<Response> {
  return fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', 'user-agent': 'shop/1.0' },
    body: JSON.stringify({ from: FROM, to, message }),
  })
}

function row(words: string | RegExp) {
  return page.getByRole('row').filter({ hasText: words })
}

async function chooseExport(format: string): Promise<void> {
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('menuitem', { name: format }).click()
}

async function takeFile(format: string): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), chooseExport(format)])
  return readFile(await download.path(), 'utf8')
}

describe.skipIf(obstacle !== null).each(ENGINES)(`API logs in the console, on %s${skipNote(obstacle)}`, (engine) => {
  beforeAll(async () => {
    service = await startConsole({ engine, environment: { NUNCIO_REFUSED_LOG_MB_PER_HOUR: '1' } })
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    opened = await service.openAccount()
    page = opened.page
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => opened?.close())

  it('show the result of each request, find it, and export it as a file', async () => {
    await opened.visit(LIST)
    await expect(page.getByRole('heading', { name: 'No requests in the last 24 hours' })).toBeVisible()

    token = await opened.createToken('web-shop')
    const fine = await send(FINE)
    const id = fine.headers.get('x-message-id') ?? ''
    assert.equal((await send(REFUSED)).status, 200)
    assert.equal((await send(UNKNOWN)).status, 200)
    assert.equal((await send('+1 555')).status, 400)

    // Without a reload: the page updates itself.
    await expect(row(FINE)).toContainText(/Published|Delivered|Read/)
    await expect(row(REFUSED)).toContainText('Failed')
    await expect(row(REFUSED)).toContainText('Number rejected')
    await expect(row(UNKNOWN)).toContainText('Unconfirmed')
    const refused = row(/Refused/)
    await expect(refused).toContainText('to: ')
    await expect(refused).toContainText('400')
    await expect(row(FINE)).toContainText('Hello there')
    await expect(row(FINE)).toContainText(/in [\d.]+ m?s/)
    assert.deepEqual(await opened.axe(), [])
    assert.deepEqual(await findBarriersOnPhone(page), [])

    await page.getByText(/^Unconfirmed1$/).click()
    await expect(page).toHaveURL(/result=unconfirmed/)
    await expect(page.getByRole('row')).toHaveCount(2)
    await expect(row(UNKNOWN)).toBeVisible()
    await page.getByText(/^Refused1$/).click()
    await expect(row('to: ')).toBeVisible()
    await expect(page.getByRole('row')).toHaveCount(2)

    // The filters are in the URL, so a link shows the same to other people.
    await opened.visit(`${LIST}?state=FAILED&to=1555010*`)
    await expect(row(REFUSED)).toBeVisible()
    await expect(page.getByRole('row')).toHaveCount(2)
    await expect(page.getByRole('button', { name: 'Remove the filter: Result: Failed' })).toBeVisible()
    assert.deepEqual(await opened.axe(), [])
    const failed = await takeFile('CSV')
    assert.equal(failed.trimEnd().split('\r\n').length, 2)
    assert.ok(failed.includes('recipient_refused'))
    const problem = { code: 'exports_exceeded', message: 'At most 2 exports run at once.' }
    const check = '**/log-export/check'
    await page.route(check, (route) => route.fulfill({ status: 429, json: { error: problem } }), { times: 1 })
    await chooseExport('CSV')
    await expect(page.getByText(problem.message)).toBeVisible()
    await page.getByRole('button', { name: 'Remove the filter: Result: Failed' }).click()
    await expect(page.getByRole('row')).toHaveCount(3)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect(page.getByRole('row')).toHaveCount(5)
    assert.equal((await takeFile('NDJSON')).trimEnd().split('\n').length, 4)

    await page.getByRole('searchbox').fill(id)
    await page.keyboard.press('Enter')
    await expect(page.getByRole('row')).toHaveCount(2)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('searchbox').fill('+1 555 01')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/to=155501(?:\*|%2A)/)
    await expect(page.getByRole('row')).toHaveCount(3)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('button', { name: 'Filters', exact: true }).click()
    const filters = page.getByRole('dialog', { name: 'Filters' })
    await filters.getByLabel('Recipient').fill('+1555 0100*')
    assert.deepEqual(await opened.axe(), [])
    await filters.getByRole('button', { name: 'Apply filters' }).click()
    await expect(page).toHaveURL(/to=15550100(?:\*|%2A)/)
    await expect(page.getByRole('row')).toHaveCount(3)
    await opened.visit(`${LIST}?text=nothing-says-so`)
    await expect(page.getByRole('heading', { name: 'Nothing matches these filters' })).toBeVisible()
    assert.deepEqual(await opened.axe(), [])
  })

  it('return the focus to a menu whose dialog was closed', async () => {
    token = await opened.createToken('web-shop')
    const id = (await send(FINE)).headers.get('x-message-id') ?? ''
    const leaves = async (menu: string, entry: RegExp) => {
      await page.getByRole('button', { name: menu }).click()
      await page.getByRole('menuitem', { name: entry }).click()
      const field = page.getByRole('dialog').locator('[data-autofocus]')
      await expect(field).toBeFocused()
      await page.keyboard.press('Escape')
      await expect(field).toBeHidden()
      await expect(page.getByRole('button', { name: menu })).toBeFocused()
    }

    await opened.visit(LIST)
    await leaves(`Actions for the request to ${FINE}`, /^Block /)
    await leaves('Saved views', /^Save these filters/)
    await opened.visit(`${LIST}/${id}`)
    await leaves('More actions', /^Block /)
  })

  it.each([
    ['/log', LIST, '/log-counts'],
    ['/connections', '/connections', '/sent-counts'],
  ])('and other lists are counted again whenever their rows are reloaded: %s', async (rows, list, counts) => {
    token = await opened.createToken('web-shop')
    const asked = { [rows]: 0, [counts]: 0 }
    page.on('request', (request) => {
      const [, last = ''] = /(\/[^/]+)$/.exec(new URL(request.url()).pathname) ?? []
      if (request.resourceType() === 'fetch' && last in asked) asked[last] = (asked[last] ?? 0) + 1
    })
    await opened.visit(list)
    await page.getByRole('heading', { level: 1 }).waitFor()
    for (let reloaded = 1; reloaded < 6; reloaded += 1) {
      await send(FINE)
      await expect.poll(() => asked[rows]).toBeGreaterThan(reloaded)
    }

    // The last rows may have been requested just now, and the first before their counts were known.
    assert.ok((asked[counts] ?? 0) >= (asked[rows] ?? 0) - 2, JSON.stringify(asked))
  })

  it('show the timeline of one message, by its id and by the keyboard, and its actions', async () => {
    token = await opened.createToken('web-shop')
    const fine = await send(FINE)
    const [id, requestId] = [fine.headers.get('x-message-id') ?? '', fine.headers.get('x-request-id') ?? '']
    await send(LATER)
    await send(UNKNOWN)

    await opened.visit(`${LIST}/${id}`)
    await expect(page.getByRole('list', { name: 'What happened' })).toContainText('The sandbox accepted it')
    await expect(page.getByText(/^Sent.* after the request\.$/)).toBeVisible()
    await expect(page.getByRole('region', { name: 'Message' })).toContainText('Hello there')
    await expect(page.getByRole('link', { name: 'web-shop' })).toBeVisible()
    await expect(page.getByText(requestId, { exact: true })).toBeVisible()
    assert.deepEqual(await opened.axe(), [])
    assert.deepEqual(await findBarriersOnPhone(page), [])
    await page.getByRole('tab', { name: 'Request' }).click()
    await expect(page.getByRole('group', { name: 'Body as it came' })).toContainText('Hello there')
    await expect(page.getByRole('group', { name: /The same as curl/ })).toContainText('x-api-key: $NUNCIO_TOKEN')
    assert.ok(!(await page.content()).includes(token))
    assert.deepEqual(await opened.axe(), [])
    await page.getByRole('tab', { name: 'Reply' }).click()
    await expect(page.getByRole('group', { name: 'Body of the reply' })).toContainText('success_200')
    assert.deepEqual(await opened.axe(), [])
    await opened.visit(`${LIST}/${requestId}`)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Text to 15551234567 · (?:sent|delivered|read)$/)

    await opened.visit(LIST)
    await expect(row(UNKNOWN)).toContainText('Unconfirmed')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Text to ${UNKNOWN} · nobody knows`)
    await expect(page.getByText(/^Nobody knows whether it arrived\./)).toBeVisible()
    await expect(page.getByRole('button', { name: 'Older' })).toBeEnabled()
    assert.deepEqual(await opened.axe(), [])
    await page.getByRole('button', { name: 'It arrived' }).click()
    await expect(page.getByRole('list', { name: 'What happened' })).toContainText('olivia@example.com: “It arrived”')
    await page.keyboard.press('j')
    await expect(page.getByRole('group', { name: 'Result' }).getByText('Sent, but not delivered.')).toBeVisible()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await expect(page.getByText(/^Made by olivia@example\.com to repeat another message\./)).toBeVisible()
    await opened.visit(LIST)
    await expect(row(/By olivia@example\.com/)).toBeVisible()
    await expect(row('Sent again by olivia@example.com')).toContainText('Failed')
  })

  it('G10: explain that a request with an unknown token is in no API log', async () => {
    token = 'AbCd1234.unknown'
    const refused = await send(FINE)
    assert.equal(refused.status, 401)
    await opened.visit(`${LIST}/${refused.headers.get('x-request-id')}`)

    const note = page.getByRole('alert').filter({ hasText: 'This entry is not in the API log' })
    await expect(note).toContainText('Requests with no token or an unknown one are in no API log')
    // There is no second try, and no id of another request.
    await expect(note.getByRole('button')).toHaveCount(0)
  })

  it('G10: show for requests that are not listed one by one how many were refused, and why', async () => {
    token = await opened.createToken('web-shop')
    const tooMuch = { type: 'message', message: 'x'.repeat(63_000) }
    for (let sent = 0; sent < 30; sent++) assert.equal((await send('+1 555', tooMuch)).status, 400)
    // Counts are written when their minute is over or when the service stops.
    await opened.service.stop()
    await opened.service.start()

    await opened.visit(LIST)
    const sum = row('not listed one by one').first()
    await expect(sum).toContainText(/\d+ requests?, not listed one by one: \w/)
    assert.deepEqual(await opened.axe(), [])
    await sum.getByRole('link').first().click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\d+ requests?, refused alike$/)
    await expect(page.getByText(/refused like this, and not listed one by one/).first()).toBeVisible()
    await expect(page.getByText('First one received')).toBeVisible()
    await expect(page.getByRole('tab', { name: 'Request' })).toHaveCount(0)
    await expect(page.getByRole('tab', { name: 'Reply' })).toHaveCount(0)
    await expect(page.getByRole('tabpanel')).toContainText('"summed"')
    assert.deepEqual(await opened.axe(), [])

    const words = ['log', 'list', '--account', opened.account]
    const sums = await opened.cli.json<{ summed: { requests: number } | null }[]>(...words)
    assert.equal(
      sums.reduce((all, { summed }) => all + (summed?.requests ?? 1), 0),
      30,
    )
  })

  it('hide recipients and texts from a viewer', async () => {
    token = await opened.createToken('web-shop')
    const id = (await send(FINE)).headers.get('x-message-id') ?? ''
    const viewer = { name: 'Vera Viewer', email: 'vera@example.com', password: 'copper window basket tundra' }
    await addPerson(opened.cli, viewer, { role: 'viewer', account: opened.account })
    const other = await opened.openPageOf(viewer)

    await other.goto(`/console/a/${opened.account}${LIST}`)
    await expect(other.getByRole('row').filter({ hasText: '1555•••4567' })).toBeVisible()
    assert.ok(!(await other.content()).includes(FINE))
    await other.goto(`/console/a/${opened.account}${LIST}/${id}`)
    await expect(other.getByText('Recipients and texts are hidden')).toBeVisible()
    await other.getByRole('tab', { name: 'Request' }).click()
    await expect(other.getByRole('group', { name: 'Body as it came' })).toContainText('1555•••4567')
    const text = await other.content()
    assert.ok(!text.includes(FINE) && !text.includes('Hello there'))
    assert.deepEqual(await opened.axe(other), [])
  })
})
