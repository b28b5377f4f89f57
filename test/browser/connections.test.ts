import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { findBarriersOnPhone } from '../support/browser/on-phone.ts'
import { type ConsoleService, type OpenConsole, startConsole } from '../support/browser/open-console.ts'

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()
const NUMBER = '15550007777'
const OTHER_NUMBER = '15550008888'
const UNKNOWN_DELIVERED = '15550100003'
const AWAY = '15550100006'
const ANNA = '15551234567'

let service: ConsoleService
let opened: OpenConsole
let page: Page
let token: string

describe.skipIf(obstacle !== null).each(ENGINES)(
  `connections and their lanes, on %s${skipNote(obstacle)}`,
  (engine) => {
    beforeAll(async () => {
      service = await startConsole({ engine })
    })
    afterAll(() => service?.close())
    beforeEach(async () => {
      opened = await service.openAccount()
      page = opened.page
      token = await opened.createToken('for-all')
    })
    // Throws if a page failed or broke its policy.
    afterEach(() => opened?.close())

    it('are added, watched, emptied and removed by hand', async () => {
      await addByForm()
      assert.deepEqual(await opened.axe(), [])

      await send(UNKNOWN_DELIVERED)
      const unconfirmed = page.getByRole('region', { name: 'Unconfirmed messages' })
      await unconfirmed.getByRole('link', { name: UNKNOWN_DELIVERED }).waitFor()
      assert.deepEqual(await opened.axe(), [])
      await unconfirmed.getByRole('button', { name: /^Send again/ }).click()
      await page.getByRole('dialog').getByText('gets the message twice').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await unconfirmed.getByRole('button', { name: /^It arrived/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'It arrived' }).click()
      await expect(unconfirmed).toHaveCount(0)

      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText(`${NUMBER} is paused.`).first().waitFor()
      for (let at = 0; at < 3; at++) await send(ANNA)
      const lane = page.getByRole('region', { name: 'Lane', exact: true })
      const rows = lane.locator('tbody tr:has(a)')
      await expect(rows).toHaveCount(3)
      await expect(rows.last()).toContainText('3')
      assert.deepEqual(await opened.axe(), [])

      await page.getByRole('button', { name: 'Cancel the message at place 2' }).click()
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
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByRole('button', { name: 'Remove…' }).click()
      await page.getByRole('dialog').getByText('Nothing waits on it.').waitFor()
      assert.deepEqual(await opened.axe(), [])
      await page.getByLabel(/to confirm/).fill(NUMBER)
      await page.getByRole('button', { name: 'Remove connection' }).click()
      await page.waitForURL(/\/connections$/)
      await page.getByRole('heading', { name: 'Connections' }).waitFor()
      await expect(page.getByRole('link', { name: NUMBER })).toHaveCount(0)
    })

    it('G5: say what is cancelled and what may have arrived anyway, for one message and for many', async () => {
      const rows = page.getByRole('region', { name: 'Lane', exact: true }).locator('tbody tr:has(a)')
      // The latency leaves a busy machine time to pause the connection meanwhile, because a second attempt would be the last.
      const settings = ['on_unconfirmed=resend', 'latency=15s']
      const one = await addByCommand(NUMBER, ...settings)
      const many = await addByCommand(OTHER_NUMBER, ...settings)
      await pauseWhileHandedOver(one)
      await pauseWhileHandedOver(many)

      await opened.visit(one.path)
      await page.getByRole('button', { name: 'Cancel the message at place 1' }).click()
      await page
        .getByRole('dialog')
        .getByText('If an earlier attempt may have arrived, it becomes unconfirmed')
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
      await page
        .getByText('Taken out of its lane. An earlier attempt may have arrived, so it is unconfirmed.')
        .waitFor()
      await expect(rows).toHaveCount(0)

      await opened.visit(many.path)
      await page.getByRole('button', { name: 'Cancel the message at place 1' }).waitFor()
      await send(ANNA, OTHER_NUMBER)
      await send(ANNA, OTHER_NUMBER)
      await expect(rows).toHaveCount(3)
      await page.getByRole('button', { name: 'Cancel all that waits' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click()
      await page
        .getByText(
          `${OTHER_NUMBER}: Cancelled 2 messages. 1 message may have arrived by an earlier attempt and is unconfirmed.`,
        )
        .waitFor()
      await expect(rows).toHaveCount(0)
    })

    it('say why they wait, try again at once on request, and keep their settings', async () => {
      await opened.visit((await addByCommand(NUMBER)).path)
      // Each of these messages makes the sandbox unavailable for ten seconds. Together that is long enough for a busy machine.
      const away: string[] = []
      for (let at = 0; at < 6; at++) away.push(await send(AWAY))
      await send(ANNA)
      await page.getByText('The sandbox is away for 10 s').first().waitFor()
      const rows = page.getByRole('region', { name: 'Lane', exact: true }).locator('tbody tr:has(a)')
      await expect(rows.first()).toContainText(AWAY)
      await expect(rows.last()).toContainText(ANNA)
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByText('The wait is ended: the lane tries at once.').waitFor()
      // Those that were sent meanwhile cannot be cancelled.
      for (const id of away.slice(1)) await opened.cli.run('message', 'cancel', id)
      // The sandbox stays away for ten seconds after the first attempt, however often a message is tried.
      await page.getByText('Ready').waitFor()

      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Front desk')
      await page.getByRole('button', { name: 'Save name' }).click()
      await page.getByText(`${NUMBER} is now called “Front desk”.`).waitFor()
      await page.getByText('Front desk · Sandbox').waitFor()
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
      await page.getByText(/sends nothing until \d\d:\d\d/).waitFor()
      assert.deepEqual(await opened.axe(), [])

      await page.reload()
      await expect(page.getByLabel('Least gap')).toHaveValue('2s')
      await expect(page.getByLabel('Latency')).toHaveValue('200ms')
      await page.getByRole('button', { name: 'Remove…' }).click()
      await page.getByLabel(/to confirm/).fill(NUMBER)
      await page.getByRole('button', { name: 'Cancel what waits and remove' }).click()
      await page.waitForURL(/\/connections$/)
    })

    it('ask before they send an old backlog, and send it after a person has confirmed', async () => {
      await opened.visit((await addByCommand(NUMBER)).path)
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByLabel('Confirm a backlog after').fill('1s')
      await page.getByText('1 change: confirm a backlog after').waitFor()
      await page.getByRole('button', { name: 'Save lane settings' }).click()
      await page.getByText('Saved. It holds at once').waitFor()
      await page.getByRole('tab', { name: /^Lane/ }).click()
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

async function addByForm(): Promise<void> {
  await opened.visit('/connections')
  await page.getByRole('link', { name: 'Add connection' }).click()
  await page.getByRole('heading', { level: 1, name: 'Add connection' }).waitFor()
  await page.getByLabel('Number').fill('12')
  await page.getByRole('button', { name: 'Add connection' }).click()
  await page.getByText('7 to 15 digits, no leading zero, no +,').waitFor()
  assert.deepEqual(await opened.axe(), [])
  await page.getByLabel('Number').fill('+1 555 000 7777')
  await page.getByRole('button', { name: 'Add connection' }).click()
  await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
  await page.getByRole('link', { name: 'Send a test' }).click()
  await expect(page.getByLabel('From')).toHaveValue(NUMBER)
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
}

interface Added {
  readonly number: string
  /** The id in the URL of its page. */
  readonly path: string
}

async function addByCommand(number: string, ...settings: readonly string[]): Promise<Added> {
  const { account, cli } = opened
  const words = ['connection', 'add', number, '--channel', 'sandbox', '--account', account]
  const { id } = await cli.json<{ id: string }>(...words)
  if (settings.length > 0) await cli.json('connection', 'set', number, ...settings, '--account', account)
  return { number, path: `/connections/${id}` }
}

/** Pauses a connection during an attempt. Afterwards one message waits whose result is unknown. */
async function pauseWhileHandedOver({ number, path }: Added): Promise<void> {
  await opened.visit(path)
  await send(UNKNOWN_DELIVERED, number)
  await page.getByRole('row').filter({ hasText: UNKNOWN_DELIVERED }).getByText('Attempt 1').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
}

/** Pauses the lane for longer than the second that messages may wait without a confirmation, and lets some wait. */
async function pileUp(count: number): Promise<void> {
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText(`${NUMBER} is paused.`).first().waitFor()
  for (let at = 0; at < count; at++) await send(ANNA)
  await setTimeout(1_500)
  await page.getByRole('button', { name: 'Resume' }).click()
}

/** Sends a message. Returns its id. */
async function send(to: string, from = NUMBER): Promise<string> {
  const reply = await fetch(`${opened.url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify({ from, to, message: { type: 'message', message: 'Hello' } }),
  })
  assert.equal(reply.status, 200, await reply.text())
  return reply.headers.get('x-message-id') ?? ''
}

/** From an hour ago until two hours from now, in UTC. */
function hoursAround(now: Date): readonly [string, string] {
  const hour = (by: number) => `${String((now.getUTCHours() + by + 24) % 24).padStart(2, '0')}:00`
  return [hour(-1), hour(2)]
}
