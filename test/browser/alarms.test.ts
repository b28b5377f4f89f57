import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect as expectSoon } from '@playwright/test'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'
import { withClient } from '../support/postgres/postgres-server.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const DAY_MS = 86_400_000
const UNKNOWN_DELIVERED = '15550100003'
// The watchdog checks every 15 seconds, and clears an alarm only after it has not seen the cause for a while.
const expect = expectSoon.configure({ timeout: 180_000 })

describe.skipIf(obstacle !== null).each(ENGINES)(
  `what needs attention, in the browser, on %s${skipNote(obstacle)}`,
  (engine) => {
    let opened: OpenConsole

    beforeEach(async () => {
      opened = await openConsole({ engine })
    })

    // Throws if a page failed or broke its policy.
    afterEach(() => opened?.close())

    it('is counted in the menu, shown on the overview, linked to its object, hidden after it was seen, and cleared', async () => {
      const { page } = opened
      const token = await opened.createToken('nearly-gone')
      await makeOlder(opened, 30 * DAY_MS)
      await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': token },
        body: JSON.stringify({
          from: '15550001000',
          to: UNKNOWN_DELIVERED,
          message: { type: 'message', message: 'Hello' },
        }),
      })

      // Without a reload: the page updates itself.
      await opened.visit('')
      const attention = page.getByRole('region', { name: 'Needs attention' })
      await expect(attention.locator('[data-attention^="alarm unconfirmed"]')).toContainText(
        'Nobody knows whether 1 message arrived',
      )
      await expect(page.getByRole('link', { name: /^Needs attention [1-9]$/ })).toBeVisible()
      expect(await opened.axe()).toEqual([])
      expect(await findBarriersOnPhone(page)).toEqual([])
      await attention.getByRole('link', { name: 'All, with those seen' }).click()
      await expect(page.getByRole('heading', { level: 1, name: 'Needs attention' })).toBeVisible()
      const token7d = page.locator('[data-attention^="alarm token_expiring"]')
      await expect(token7d).toContainText('nearly-gone')
      expect(await opened.axe()).toEqual([])
      expect(await findBarriersOnPhone(page)).toEqual([])

      await token7d.getByRole('button', { name: 'Seen' }).click()
      await expect(page.getByRole('region', { name: 'Now' }).getByText('nearly-gone')).toHaveCount(0)
      await expect(page.getByRole('region', { name: 'Seen' })).toContainText('Seen by ')
      expect(await opened.axe()).toEqual([])
      await page.getByRole('link', { name: 'Open nearly-gone' }).click()
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('nearly-gone')
      await page.goBack()
      await page.getByRole('link', { name: 'Decide' }).click()
      await expect(page).toHaveURL(/view=attention/)
      await page.getByRole('row').filter({ hasText: UNKNOWN_DELIVERED }).getByRole('link').first().click()
      await page.getByRole('button', { name: 'It arrived' }).click()
      await expect(page.getByRole('list', { name: 'What happened' })).toContainText(/: “It arrived”/)

      await opened.visit('/attention')
      const over = page.getByRole('row', { name: /^Over .*Nobody knows/ })
      await expect(over).toContainText(', over ')
      await expect(page.getByRole('link', { name: 'Show these messages.' })).toBeVisible()
      expect(await opened.axe()).toEqual([])
    })
  },
)

/** Dates a token back. An alarm about its end depends on the share of its life that is left. */
async function makeOlder({ service }: OpenConsole, byMs: number): Promise<void> {
  const sql = `update token set created_at = created_at - ${byMs} where name = 'nearly-gone'`
  const { dataDir, environment } = service.settings
  const url = environment?.['NUNCIO_DATABASE_URL']
  if (url) return withClient(url, async (client) => void (await client.query(sql)))
  const database = new DatabaseSync(join(dataDir, 'nuncio.db'), { timeout: 60_000 })
  database.exec(sql)
  database.close()
}
