import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { CDPSession, Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { totpCode } from '../../src/http/console-api/people/totp.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { enginesOr } from '../support/browser/engines.ts'
import { expect } from '../support/browser/expect.ts'
import { type ConsoleService, type OpenConsole, openConsole, startConsole } from '../support/browser/open-console.ts'
import { readSetupLink } from '../support/browser/setup-link.ts'

const PASSWORD = 'violet tractor napkin orbit'
const NEW_PASSWORD = 'purple anvil drizzle seven'
const ANOTHER_OWNER = { name: 'Paula Owner', email: 'paula@example.com', password: PASSWORD }
const THIRD_OWNER = { name: 'Petra Owner', email: 'petra@example.com', password: PASSWORD }
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function fromBase32(text: string): Buffer {
  const bits = Array.from(text.replaceAll(/\s/g, ''), (sign) => BASE32.indexOf(sign).toString(2).padStart(5, '0')).join(
    '',
  )
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

/** The code of the next 30 seconds, because the current one may have been used. */
function nextCode(secret: Buffer): string {
  return totpCode(secret, Math.floor(Date.now() / 30_000) + 1)
}

async function signIn(page: Page, { email, password = PASSWORD }: { email: string; password?: string }): Promise<void> {
  await page.goto('/console/sign-in')
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^You: / }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

async function confirmIdentity(page: Page, fill: () => Promise<void>): Promise<void> {
  await page.getByRole('dialog', { name: 'Confirm that it is you' }).waitFor()
  await fill()
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
}

/** Dates this person's last confirmation far back. */
async function forgetProof(open: OpenConsole, email: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(join(open.service.settings.dataDir, 'nuncio.db'))
  database.exec('pragma busy_timeout = 60000')
  const ofPerson = 'person_id in (select id from person where email = ?)'
  database.prepare(`update session set proven_at = proven_at - 600000 where ${ofPerson}`).run(email)
  database.close()
}

async function addAuthenticator(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  })
  return session
}

const ENGINES = enginesOr('PostgreSQL')
const obstacle = whyNoBrowser()

/** Opens the service under the name `localhost`, because a passkey cannot belong to an IP address. */
async function openRelay() {
  const server = createServer((client) => {
    const service = connect(relay.target, '127.0.0.1')
    for (const socket of [client, service]) socket.on('error', () => socket.destroy())
    client.pipe(service).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const relay = { target: 0, url: `http://localhost:${port}`, close: async () => void server.close() }
  return relay
}

let open: OpenConsole

describe.skipIf(obstacle !== null).each(ENGINES)(`the first owner, on %s${skipNote(obstacle)}`, (engine) => {
  afterEach(() => open?.close())

  it('uses the link of the first start, sets up codes, and signs in with them', async () => {
    open = await openConsole({ engine, hasPerson: false })
    const { page } = open
    const file = join(open.service.settings.dataDir, 'setup-link')
    const link = await readSetupLink(open)
    assert.equal(statSync(file).mode & 0o777, 0o600)

    await page.goto(link)
    await page.getByText('At least 15 characters. Some words in a row are fine.', { exact: true }).waitFor()
    await page.getByLabel('Your name').fill('Olga')
    await page.getByRole('textbox', { name: 'Password' }).fill('Password123456789')
    await page.getByRole('button', { name: 'Create owner account' }).click()
    await page.getByText('This is no e-mail address').waitFor()
    await page.getByText('This password is among the first that are guessed').waitFor()
    await expect(page.getByLabel('E-mail')).toBeFocused()
    await page.getByLabel('E-mail').fill('olga@example.org')
    assert.deepEqual(await open.axe(), [])
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create owner account' }).click()
    await page.waitForURL(/\/console\/a\/acc_/)

    await page.goto('/console/me')
    await page.getByRole('button', { name: 'Set up an app' }).click()
    const secret = fromBase32((await page.locator('[data-totp-secret]').textContent()) ?? '')
    assert.equal(secret.length, 20)
    assert.deepEqual(await open.axe(), [])
    await page.getByLabel('2. Type the six digits').fill('000000')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('This code is wrong').waitFor()
    await page.getByLabel('2. Type the six digits').fill(totpCode(secret, Math.floor(Date.now() / 30_000)))
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('dialog', { name: 'Your recovery codes' }).waitFor()
    const codes = (await page.locator('[role="dialog"] pre').textContent())?.trim().split('\n') ?? []
    assert.equal(codes.length, 10)
    await page.getByRole('button', { name: 'I have kept them' }).click()
    assert.deepEqual(await open.axe(), [])

    await signOut(page)
    await signIn(page, { email: 'olga@example.org' })
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    assert.deepEqual(await open.axe(), [])
    await page.getByLabel('Code of your app').fill(nextCode(secret))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/console\/a\/acc_/)

    await signOut(page)
    await signIn(page, { email: 'olga@example.org' })
    await page.getByLabel('Code of your app').fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/console\/a\/acc_/)

    await page.goto(link)
    await page.getByText('Nuncio is set up already: sign in.').waitFor()
    assert.equal(existsSync(file), false)
  })
})

describe.skipIf(obstacle !== null)(`people${skipNote(obstacle)}`, () => {
  let service: ConsoleService

  beforeAll(async () => {
    service = await startConsole()
  })
  afterAll(() => service?.close())
  beforeEach(async () => {
    open = await service.openAccount()
  })
  // Throws if a page failed or broke its policy.
  afterEach(() => open?.close())

  it('see an error after a wrong password, and then reach the page they wanted', async () => {
    const page = await (await open.openContext()).newPage()
    await page.goto(`/console/a/${open.account}/settings/account`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    await page.getByLabel('E-mail').fill(open.person.email)
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('The e-mail or the password is wrong.').waitFor()
    assert.deepEqual(await open.axe(page), [])
    await page.getByRole('textbox', { name: 'Password' }).fill(open.person.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()

    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
    assert.match(page.url(), /settings\/account$/)
  })

  it('confirm their identity before they change a password, and other sessions end', async () => {
    await open.close()
    open = await service.openAccount({ owner: ANOTHER_OWNER })
    const { page, person } = open
    const other = await (await open.openContext()).newPage()
    await signIn(other, { email: person.email, password: person.password })
    await other.waitForURL(/\/console\/a\/acc_/)
    await forgetProof(open, person.email)

    await page.goto('/console/me')
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Change password' }).click()
    const dialog = page.getByRole('dialog')
    await confirmIdentity(page, async () => {
      // This person has neither codes nor passkeys.
      assert.deepEqual(await dialog.getByRole('button').allTextContents(), ['', '', 'Cancel', 'Confirm'])
      assert.equal(await dialog.getByRole('radio').count(), 0)
      await dialog.getByRole('textbox', { name: 'Password' }).fill(person.password)
    })
    await page.getByText('Password changed').waitFor()

    await other.goto('/console/me')
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(other, { email: person.email, password: NEW_PASSWORD })
    await other.waitForURL(/\/console\//)
  })

  it('confirm who they are in the dialog of what they do', async () => {
    await open.close()
    open = await service.openAccount({ owner: THIRD_OWNER })
    const { page, person } = open
    await forgetProof(open, person.email)
    await open.visit('/developer/tokens')
    const dialog = page.getByRole('dialog')
    const password = dialog.getByRole('textbox', { name: 'Your password' })
    const act = dialog.getByRole('button', { name: 'Rotate token' })
    const choose = async (item: string) => {
      await page.getByRole('button', { name: 'Actions for the token first token', exact: true }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }

    await choose('Rotate…')
    await password.waitFor()
    assert.equal(await act.isDisabled(), true)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await choose('Delete…')
    await dialog.getByLabel('Type “first token” to confirm').fill('first token')
    assert.equal(await dialog.getByRole('button', { name: 'Delete token' }).isDisabled(), true)
    await password.fill('wrong')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await dialog.getByText('This is not your password. Try again.').waitFor()
    await page.waitForFunction(() => document.activeElement?.matches('input[data-path="proof"]'))
    assert.equal(await dialog.count(), 1)
    assert.deepEqual(await open.axe(), [])
    await password.fill(person.password)
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Token “first token” deleted.').waitFor()

    // From now on nothing is asked for some minutes.
    await open.visit('/settings/people')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByLabel('E-mail').fill('ben@example.org')
    assert.equal(await password.count(), 0)
    await page.getByRole('button', { name: 'Make a link' }).click()
    await page.getByRole('button', { name: 'Done' }).waitFor()
  })

  it('are invited, take part with their role, and can be removed', async () => {
    const { page } = open
    await open.visit('/settings/people')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByLabel('E-mail').fill('ben@example.org')
    await page.getByLabel('Role', { exact: true }).selectOption('viewer')
    assert.deepEqual(await open.axe(), [])
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = (await page.locator('[role="dialog"] pre').textContent())?.trim() ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { name: 'Invitations' }).waitFor()
    assert.deepEqual(await open.axe(), [])

    const bens = await (await open.openContext()).newPage()
    await bens.goto(link)
    await bens.getByLabel('Your name').fill('Ben')
    await bens.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    assert.deepEqual(await open.axe(bens), [])
    await bens.getByRole('button', { name: 'Join' }).click()
    await bens.waitForURL(/\/console\/a\/acc_/)
    assert.equal(await bens.getByRole('link', { name: 'People' }).count(), 0)

    await page.reload()
    await page.getByLabel('Role of Ben').selectOption('developer')
    await page.getByText('Ben is developer now').waitFor()
    await page.getByRole('button', { name: 'Remove Ben' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await bens.goto('/console/')
    await bens.getByText('You belong to no account').waitFor()

    await open.visit('/settings/audit')
    for (const words of ['Removed a person', 'Changed a role', 'Joined the account', 'Invited a person'])
      await page.getByText(words, { exact: true }).first().waitFor()
    assert.deepEqual(await open.axe(), [])
  })

  it('rename the account and require a second factor, which closes it to those without', async () => {
    const { page } = open
    await open.visit('/settings/account')
    await page.getByLabel('Name of the account').fill('Acme')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Account renamed').waitFor()
    assert.deepEqual(await open.axe(), [])

    await page.getByRole('button', { name: 'Require it' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Require it' }).click()
    await page.getByText('Acme requires a second factor').waitFor()
    assert.deepEqual(await open.axe(), [])
    await page.goto('/console/me')
    await page.getByText('Required: Acme stays closed to you').waitFor()
  })
})

describe.skipIf(obstacle !== null)(`passkeys${skipNote(obstacle)}`, () => {
  afterEach(() => open?.close())

  it('sign in without typing anything, and confirm their identity', async () => {
    const relay = await openRelay()
    open = await openConsole({ hasPerson: false, environment: { NUNCIO_PUBLIC_URL: relay.url } })
    relay.target = Number(new URL(open.url).port)
    const { page } = open
    await addAuthenticator(page)
    await page.goto(await readSetupLink(open))
    await page.getByLabel('Your name').fill('Olga')
    await page.getByLabel('E-mail').fill('olga@example.org')
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create owner account' }).click()
    await page.waitForURL(/\/console\/a\/acc_/)

    await page.goto(`${relay.url}/console/me`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('This laptop')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page
      .getByRole('paragraph')
      .filter({ hasText: /^This laptop$/ })
      .waitFor()
    assert.deepEqual(await open.axe(), [])

    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(/\/console\/a\/acc_/)
    await forgetProof(open, 'olga@example.org')
    await page.goto(`${relay.url}/console/me`)
    await page.getByRole('button', { name: /^Remove.*This laptop/ }).click()
    await page.getByText('Your device asks for your passkey.').waitFor()
    await page.getByRole('button', { name: 'Remove passkey' }).click()
    await page
      .getByRole('paragraph')
      .filter({ hasText: /^This laptop$/ })
      .waitFor({ state: 'detached' })
    await relay.close()
  })
})
