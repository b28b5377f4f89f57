import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'
import { startSimulator } from '../support/whatsapp-cloud/simulator.ts'
import type { Simulator } from '../support/whatsapp-cloud/simulator-types.ts'

const obstacle = whyNoBrowser()
const NUMBER = '15550107788'
const PHONE = {
  phoneNumberId: '106540352242922',
  businessAccountId: '102290129340398',
  number: NUMBER,
  accessToken: 'EAAGm0PX4ZCpsBA-token-of-a-system-user',
  appSecret: '0123456789abcdef0123456789abcdef',
  verifyToken: 'chosen-by-the-owner',
}

let simulator: Simulator
let opened: OpenConsole
let page: Page

describe.skipIf(obstacle !== null)(`a WhatsApp Cloud connection in the console${skipNote(obstacle)}`, () => {
  beforeAll(async () => {
    simulator = await startSimulator()
    simulator.addNumber(PHONE)
    const { businessAccountId } = PHONE
    simulator.addTemplate(businessAccountId, { name: 'notice', language: 'en_US', body: 'News: {{1}}' })
    simulator.addTemplate(businessAccountId, { name: 'two', language: 'en_US', body: '{{1}} and {{2}}' })
    opened = await openConsole({ environment: { NUNCIO_WHATSAPP_CLOUD_URL: simulator.url } })
    page = opened.page
  })

  afterEach(() => opened.checkPages())
  afterAll(async () => {
    await opened?.close()
    await simulator?.close()
  })

  it('is added only after the network has accepted its settings', async () => {
    await opened.visit('/connections/new')
    await page.getByRole('textbox', { name: /^Number/ }).fill(NUMBER)
    await page.getByRole('radio', { name: 'WhatsApp Cloud' }).click()
    await page.getByLabel('Phone number ID').fill(PHONE.phoneNumberId)
    await page.getByLabel('Business account ID').fill(PHONE.businessAccountId)
    await page.getByRole('textbox', { name: 'Access token' }).fill('of-another-app')
    await page.getByRole('textbox', { name: 'App secret' }).fill(PHONE.appSecret)
    await page.getByRole('textbox', { name: 'Verify token' }).fill(PHONE.verifyToken)
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('button', { name: 'Add connection' }).click()
    await expect(page.getByRole('textbox', { name: 'Access token' })).toHaveAttribute('data-invalid', 'true')

    await page.getByRole('textbox', { name: 'Access token' }).fill(PHONE.accessToken)
    await page.getByRole('button', { name: 'Add connection' }).click()
    await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
  })

  it('shows what the network says about it, and the callback URL', async () => {
    await page.getByRole('tab', { name: 'Network' }).click()
    const said = page.getByRole('region', { name: 'What the network says' })
    await said.getByRole('button', { name: 'Check now' }).click()
    await expect(said).toContainText('Nuncio Test')
    const address = page.getByRole('region', { name: 'Callback address' })
    await expect(address).toContainText(/\/channels\/whatsapp-cloud\/[0-9A-Za-z]{22}/)
    await expect(address).toContainText('The network delivers callbacks to https only')
    await expect(address).toContainText('No report yet.')
    assert.deepEqual(await opened.axe(), [])
  })

  it('reports that no reports arrive, on the page of a message too', async () => {
    const connection = page.url()
    const token = await opened.createToken('reports')
    const [id] = [await send(token), await send(token), await send(token)]
    const { dataDir } = opened.service.settings
    await waitUntil('all are taken', async () => countPublished(dataDir) === 3, { deadlineMs: 20_000 })
    pretendSilence(dataDir)
    const missing = page.getByRole('alert').filter({ hasText: 'Meta has never reported anything' })

    await page.goto(connection)
    await missing.getByText('Check the callback address').waitFor()
    assert.deepEqual(await opened.axe(), [])
    await opened.visit(`/developer/logs/${id}`)
    await expect(page.getByRole('main')).toContainText('Meta has never reported anything')
    await page
      .getByRole('main')
      .getByRole('link', { name: `Open ${NUMBER}` })
      .click()
    await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
  })

  it('lists the templates, and marks those that can carry a text', async () => {
    await page.getByRole('tab', { name: 'Network' }).click()
    const templates = page.getByRole('region', { name: 'Templates' })
    await templates.getByRole('button', { name: 'Show templates' }).click()

    await expect(templates.getByRole('row').filter({ hasText: 'notice:en_US' })).toContainText('template_text')
    await expect(templates.getByRole('row').filter({ hasText: 'two:en_US' })).not.toContainText('template_')
    assert.deepEqual(await opened.axe(), [])
  })

  it('keeps its secrets, and never shows them', async () => {
    await page.getByRole('tab', { name: 'Settings' }).click()
    const token = page.getByRole('textbox', { name: 'Access token' })
    await expect(token).toHaveValue('')
    await page.getByLabel('Template for texts').fill('notice:en_US')
    await page.getByRole('switch', { name: 'Link preview' }).click()
    await page.getByRole('button', { name: 'Save channel settings' }).click()
    await page.getByText('Saved. It holds from the next message on.').waitFor()

    await page.reload()
    await expect(page.getByLabel('Template for texts')).toHaveValue('notice:en_US')
    await expect(page.getByRole('switch', { name: 'Link preview' })).not.toBeChecked()
    const shown = await page.content()
    for (const secret of [PHONE.accessToken, PHONE.appSecret, PHONE.verifyToken]) assert.ok(!shown.includes(secret))
  })

  it('reports in one sentence what is wrong after its token was revoked', async () => {
    simulator.changeNumber(PHONE.phoneNumberId, { accessToken: 'another-one' })
    await page.getByRole('tab', { name: 'Network' }).click()
    const said = page.getByRole('region', { name: 'What the network says' })
    await said.getByRole('button', { name: 'Check now' }).click()

    await expect(said.getByRole('alert')).toContainText('access_token')
    assert.deepEqual(await opened.axe(), [])
  })
})

async function send(token: string): Promise<string> {
  const reply = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify({ from: NUMBER, to: '15551234567', message: { type: 'message', message: 'Hello' } }),
  })
  assert.equal(reply.status, 200)
  return reply.headers.get('x-message-id') ?? ''
}

function countPublished(dataDir: string): number {
  const database = new DatabaseSync(join(dataDir, 'nuncio.db'), { readOnly: true })
  try {
    return Number(database.prepare(`select count(*) as count from message where state = 'PUBLISHED'`).get()?.['count'])
  } finally {
    database.close()
  }
}

/** Dates the sent messages back by an hour, so that the watchdog raises its alarm. It repeats the alarm while the cause lasts. */
function pretendSilence(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'nuncio.db'), { timeout: 60_000 })
  try {
    const at = Date.now() - 3_600_000
    const facts = JSON.stringify({ number: NUMBER, channel: 'whatsapp-cloud', count: 3, oldestAt: at })
    database.exec(`begin immediate;
      update message set accepted_at = ${at}, published_at = ${at}, settled_at = ${at} where state = 'PUBLISHED';
      insert into alarm (account_id, kind, object, severity, facts, since, raised_at, changed_at, is_announced)
        select account_id, 'reports_missing', id, 'warning', '${facts}', ${at}, ${at}, ${at}, 1
          from connection where number = '${NUMBER}' and state <> 'removed';
      commit`)
  } finally {
    database.close()
  }
}
