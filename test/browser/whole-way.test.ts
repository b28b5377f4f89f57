import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'
import { readSetupLink } from '../support/browser/setup-link.ts'

const ENGINES = enginesOr('SQLite')
const obstacle = whyNoBrowser()

/** Sends like a customer's program: over HTTP, with only the token. */
async function send({ url }: OpenConsole, token: string): Promise<Response> {
  return fetch(`${url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    body: JSON.stringify({ from: '15550001000', to: '15551234567', message: { type: 'message', message: 'Hello' } }),
  })
}

describe.skipIf(obstacle !== null).each(ENGINES)(`a newcomer to the console, on %s${skipNote(obstacle)}`, (engine) => {
  it('uses the link of the first start, sends a message, sees it published, and deletes the token', async () => {
    const opened = await openConsole({ engine, hasPerson: false })
    try {
      const { page } = opened
      await page.goto(await readSetupLink(opened))
      await page.getByLabel('Your name').fill('Olivia Owner')
      await page.getByLabel('E-mail').fill('olivia@example.com')
      await page.getByRole('textbox', { name: 'Password' }).fill('violet tractor napkin orbit')
      await page.getByRole('button', { name: 'Create owner account' }).click()
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Overview')

      await page.getByRole('navigation').getByRole('link', { name: 'API tokens' }).click()
      await page.getByRole('link', { name: 'Create API Token' }).first().click()
      await page.getByLabel('API key name').fill('shop')
      await page.getByRole('button', { name: 'Create API Token' }).click()
      const token = await page.getByRole('group', { name: 'The token' }).innerText()
      const accepted = await send(opened, token)
      assert.equal(accepted.status, 200)
      await page.getByRole('button', { name: 'Copy token' }).click()
      await page.getByRole('button', { name: 'Done' }).click()

      await page.getByRole('navigation').getByRole('link', { name: 'API logs' }).click()
      const row = page.getByRole('row', { name: /15551234567/ })
      await expect(row).toContainText('Published')

      await page.getByRole('navigation').getByRole('link', { name: 'API tokens' }).click()
      await page.getByRole('link', { name: 'shop', exact: true }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByLabel('Type “shop” to confirm').fill('shop')
      await page.getByRole('button', { name: 'Delete token' }).click()
      await expect(page.getByRole('dialog')).toBeHidden()
      const refused = await send(opened, token)
      assert.equal(refused.status, 401)

      await page.getByRole('navigation').getByRole('link', { name: 'API logs' }).click()
      await page.getByRole('row', { name: /401/ }).getByRole('link').first().click()
      await expect(page.getByText(/The token “shop” was deleted by/)).toBeVisible()
      await expect(page.getByText(/^The reply says: The API token is/)).toBeVisible()
    } finally {
      await opened.close()
    }
  })
})
