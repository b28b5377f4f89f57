import assert from 'node:assert/strict'
import type { Page } from '@playwright/test'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { enginesOr, type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const NUMBER = '15550007777'
const UNKNOWN_DELIVERED = '15550100003'
const AWAY = '15550100006'
const ANNA = '15551234567'

let opened: OpenConsole
let page: Page
let token: string | null

describe.skipIf(obstacle !== null).each(ENGINES)(
  `connections and their lanes, on %s${skipNote(obstacle)}`,
  (engine) => {
    beforeEach(async () => {
      opened = await openConsole({ engine })
      page = opened.page
      token = null
    })
    // It throws when any page failed or broke its policy.
    afterEach(() => opened?.close())

    it('are added, watched, emptied and removed by hand', async () => {
      await add()
      assert.deepEqual(await opened.axe(), [])

      await send(UNKNOWN_DELIVERED)
      const unconfirmed = page.getByRole('region', { name: 'Unconfirmed messages' })
      await unconfirmed.getByText(UNKNOWN_DELIVERED).waitFor()
      assert.deepEqual(await opened.axe(), [])
      await unconfirmed.getByRole('button', { name: /^Send again/ }).click()
      await page.getByRole('dialog').getByText('gets the message twice').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await unconfirmed.getByRole('button', { name: /^It arrived/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'It arrived' }).click()
      await expect(unconfirmed).toHaveCount(0)

      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Why it waits: The connection is paused.').waitFor()
      for (let at = 0; at < 3; at++) await send(ANNA)
      const lane = page.getByRole('region', { name: 'Lane', exact: true })
      const rows = lane.locator('tbody tr')
      await expect(rows).toHaveCount(3)
      await expect(rows.last()).toContainText('3')
      assert.deepEqual(await opened.axe(), [])

      await page.getByRole('button', { name: 'Cancel the message at position 2' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
      await page.getByText('Cancelled: it will not be sent.').waitFor()
      await expect(rows).toHaveCount(2)
      await page.getByRole('button', { name: 'Cancel all that waits' }).click()
      await page.getByRole('dialog').getByText('2 messages will not be sent').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click()
      await page.getByText(`${NUMBER}: Cancelled 2 messages.`).waitFor()
      await lane.getByText('Nothing waits').waitFor()

      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('Ready').waitFor()
      await page.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('dialog').getByText('Nothing waits on it.').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await page.getByLabel(/to confirm/).fill(NUMBER)
      await page.getByRole('button', { name: 'Remove connection' }).click()
      await page.waitForURL(/\/connections$/)
      await page.getByRole('heading', { name: 'Connections' }).waitFor()
      await expect(page.getByRole('link', { name: NUMBER })).toHaveCount(0)
    })

    it('G5: say what is cancelled and what may have arrived all the same, of one and of many', async () => {
      await add()
      await opened.cli.run('connection', 'set', NUMBER, 'on_unconfirmed=resend', 'latency=2s')
      const rows = page.getByRole('region', { name: 'Lane', exact: true }).locator('tbody tr')

      await pauseWhileHandedOver()
      await page.getByRole('button', { name: 'Cancel the message at position 1' }).click()
      await page
        .getByRole('dialog')
        .getByText('If an earlier attempt may have arrived, it becomes unconfirmed')
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
      await page
        .getByText('Taken out of its lane. An earlier attempt may have arrived, so it is unconfirmed.')
        .waitFor()
      await expect(rows).toHaveCount(0)

      await page.getByRole('button', { name: 'Resume' }).click()
      await pauseWhileHandedOver()
      await send(ANNA)
      await send(ANNA)
      await expect(rows).toHaveCount(3)
      await page.getByRole('button', { name: 'Cancel all that waits' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click()
      await page
        .getByText(
          `${NUMBER}: Cancelled 2 messages. 1 message may have arrived by an earlier attempt and is unconfirmed.`,
        )
        .waitFor()
      await expect(rows).toHaveCount(0)
    })

    it('say why they wait, are told to try at once, and remember what was set', async () => {
      await add()
      // Ten seconds later it would be over.
      await send(AWAY)
      await send(ANNA)
      await page.getByText('Why it waits: The connection cannot reach its network right now.').waitFor()
      await expect(page.getByRole('region', { name: 'Lane', exact: true }).locator('tbody tr')).toHaveCount(2)
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByText('The wait is ended: the lane tries at once.').waitFor()
      // The sandbox stays away for ten seconds after the first attempt, whoever is impatient.
      await page.getByText('Ready').waitFor({ timeout: 40_000 })

      await page.getByLabel('Least gap').fill('soon')
      await page.getByRole('button', { name: 'Save lane settings' }).click()
      await page.getByText('Write a time from 0s to 1d').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await page.getByLabel('Least gap').fill('2s')
      await page.getByLabel('Quiet hours').check()
      await page.getByRole('combobox', { name: 'By the clock of' }).fill('UTC')
      const [from, to] = hoursAround(new Date())
      await page.getByLabel('Quiet from').fill(from)
      await page.getByLabel('Quiet until').fill(to)
      await page.getByRole('button', { name: 'Save lane settings' }).click()
      await page.getByText('Saved. It holds at once').waitFor()
      await page.getByLabel('Latency').fill('200ms')
      await page.getByRole('button', { name: 'Save channel settings' }).click()
      await page.getByText('Saved. It holds from the next message on.').waitFor()
      await send(ANNA)
      await page.getByText('It is a time of day at which this connection sends nothing.').waitFor()
      assert.deepEqual(await opened.axe(), [])

      await page.reload()
      await expect(page.getByLabel('Least gap')).toHaveValue('2s')
      await expect(page.getByLabel('Latency')).toHaveValue('200ms')
      await page.getByRole('button', { name: 'Remove' }).click()
      await page.getByLabel(/to confirm/).fill(NUMBER)
      await page.getByRole('button', { name: 'Cancel what waits and remove' }).click()
      await page.waitForURL(/\/connections$/)
    })

    it('ask before an old backlog goes out, and send it once a person has confirmed', async () => {
      await add()
      await page.getByLabel('Confirm a backlog after').fill('1s')
      await page.getByRole('button', { name: 'Save lane settings' }).click()
      await page.getByText('Saved. It holds at once').waitFor()
      const dialog = page.getByRole('dialog', { name: `Send what has piled up on ${NUMBER}?` })
      const nothingWaits = page.getByRole('region', { name: 'Lane', exact: true }).getByText('Nothing waits')

      await pileUp(2)
      await page.getByRole('button', { name: 'Send what waits' }).click()
      await dialog.getByText('2 messages will be sent in their order.').waitFor()
      assert.deepEqual(await opened.axe(), [])
      assert.deepEqual(await findBarriersOnPhone(page), [])
      await dialog.getByRole('button', { name: 'Send it' }).click()
      await page.getByText('Confirmed: the lane goes on.').waitFor()
      await nothingWaits.waitFor()
      await expect(page.getByRole('button', { name: 'Send what waits' })).toHaveCount(0)

      await pileUp(3)
      await page.getByRole('button', { name: 'Send what waits' }).click()
      const age = dialog.getByLabel('Cancel first what is older than')
      await age.fill('soon')
      await dialog.getByRole('button', { name: 'Send it' }).click()
      await dialog.getByText('“soon” is not a time.').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await age.fill('1s')
      await dialog.getByRole('button', { name: 'Send it' }).click()
      await page.getByText('Cancelled 3 messages. Confirmed: the lane goes on.').waitFor()
      await nothingWaits.waitFor()
    })
  },
)

async function add(): Promise<void> {
  await opened.visit('/connections')
  await page.getByRole('link', { name: 'Add connection' }).click()
  await page.getByRole('heading', { level: 1, name: 'Add connection' }).waitFor()
  await page.getByLabel('Number').fill('+1 555 000 7777')
  await page.getByRole('button', { name: 'Add connection' }).click()
  await page.getByText(`Write this number as ${NUMBER}`).waitFor()
  assert.deepEqual(await opened.axe(), [])
  await page.getByLabel('Number').fill(NUMBER)
  await page.getByRole('button', { name: 'Add connection' }).click()
  await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
}

/** What waits afterwards is one message whose only attempt came to nobody knows what. */
async function pauseWhileHandedOver(): Promise<void> {
  await send(UNKNOWN_DELIVERED)
  await page.getByRole('group', { name: 'Being handed over now' }).getByText(UNKNOWN_DELIVERED).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Cancel the message at position 1' }).waitFor()
}

/** On a lane that stands still meanwhile, for longer than it may, by the clocks of both. */
async function pileUp(count: number): Promise<void> {
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Why it waits: The connection is paused.').waitFor()
  for (let at = 0; at < count; at++) await send(ANNA)
  await page.waitForTimeout(3_000)
  await page.getByRole('button', { name: 'Resume' }).click()
}

async function send(to: string): Promise<void> {
  token ??= (await opened.cli.json<{ token: string }>('token', 'create', '--name', 'for-all', '--expires', '7d')).token
  const reply = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify({ from: NUMBER, to, message: { type: 'message', message: 'Hello' } }),
  })
  assert.equal(reply.status, 200, await reply.text())
}

/** An hour before and two after, by UTC. */
function hoursAround(now: Date): readonly [string, string] {
  const hour = (by: number) => `${String((now.getUTCHours() + by + 24) % 24).padStart(2, '0')}:00`
  return [hour(-1), hour(2)]
}
