import assert from 'node:assert/strict'
import type { Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { newSecret, ScriptedAdapter } from '../support/bridge/scripted-adapter.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()
const NUMBER = '15550107799'

let adapter: ScriptedAdapter
let opened: OpenConsole
let page: Page

describe.skipIf(obstacle !== null)(`a bridge connection in the console${skipNote(obstacle)}`, () => {
  beforeAll(async () => {
    adapter = await ScriptedAdapter.start({ secret: newSecret() })
    opened = await openConsole({ environment: { NUNCIO_BRIDGE_ORIGINS: adapter.origin } })
    page = opened.page
  })

  afterEach(() => opened.checkPages())
  afterAll(async () => {
    await opened?.close()
    await adapter?.close()
  })

  it('is added with a secret that the form creates, once the adapter that its command starts has the secret', async () => {
    await opened.visit('/connections/new')
    await page.getByRole('textbox', { name: /^Number/ }).fill(NUMBER)
    await page.getByRole('radio', { name: 'Bridge (your own gateway)' }).click()
    await page.getByLabel('URL of the adapter').fill(adapter.origin)
    await page.getByRole('button', { name: 'Generate' }).click()
    const secret = page.getByRole('textbox', { name: 'Secret', exact: true })
    const made = await secret.inputValue()
    assert.match(made, /^whsec_/)
    await expect(page.getByRole('main')).toContainText(
      `adapter kannel --listen 127.0.0.1:${adapter.port} --secret-file`,
    )
    assert.deepEqual(await opened.axe(), [])

    await page.getByRole('button', { name: 'Add connection' }).click()
    await expect(page.getByRole('main')).toContainText('it has another secret')

    adapter.secret = made
    await page.getByRole('button', { name: 'Add connection' }).click()
    await page.getByRole('heading', { level: 1, name: NUMBER }).waitFor()
  })

  it('shows how its adapter describes itself, and when it last reported', async () => {
    await page.getByRole('tab', { name: 'Network' }).click()
    const said = page.getByRole('region', { name: 'What the network says' })
    await said.getByRole('button', { name: 'Check now' }).click()

    await expect(said).toContainText('scripted 1.0')
    await expect(said).toContainText(/Last report\s*none yet/)
  })
})
