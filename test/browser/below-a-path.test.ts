import { afterAll, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoBrowser } from '../support/browser/chromium.ts'
import { expect } from '../support/browser/expect.ts'
import { type OpenConsole, openConsole } from '../support/browser/open-console.ts'

const obstacle = whyNoBrowser()

describe.skipIf(obstacle !== null)(`a service whose public URL has a path${skipNote(obstacle)}`, () => {
  let opened: OpenConsole
  let token: string

  beforeAll(async () => {
    opened = await openConsole({ environment: { NUNCIO_PUBLIC_URL: 'http://127.0.0.1/tools/nuncio' } })
    token = await opened.createToken('nightly')
  })
  afterAll(() => opened?.close())

  it('can be used below it: sign in on the way to a page, reload it, go to others, come back', async () => {
    const { account, person, url } = opened
    const page = await (await opened.openContext()).newPage()
    const home = `${url}/tools/nuncio`
    const tokens = `${home}/console/a/${account}/developer/tokens`
    await page.goto(tokens)
    await page.getByLabel('E-mail').fill(person.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(person.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()

    await page.waitForURL(tokens)
    await expect(page.getByRole('link', { name: 'nightly' })).toBeVisible()
    await page.reload()
    await page.getByRole('link', { name: 'nightly' }).click()
    await page.waitForURL(new RegExp(`^${tokens}/`))
    const opening = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Docs' }).click()
    const docs = await opening
    await docs.waitForURL(`${home}/docs/`)
    await docs.getByLabel('Search the docs').fill('commit_unknown')
    await docs.getByRole('search').getByRole('link').first().click()
    await docs.waitForURL(new RegExp(`^${home}/docs/.`))
    await docs.getByRole('link', { name: 'Console', exact: true }).click()
    await docs.waitForURL(`${home}/console/a/${account}`)
    // Programs on the machine itself leave the path out.
    await page.goto(`${url}/console/a/${account}/developer/tokens`)
    await expect(page.getByRole('link', { name: 'nightly' })).toBeVisible()
    opened.checkPages()
  })

  it('tries calls below it, from the documents', async () => {
    const { page, url } = opened
    await page.goto(`${url}/tools/nuncio/docs/api`)
    const form = page.getByRole('form', { name: 'Try a call' })
    await form.getByLabel('API token').fill(token)
    await form.getByRole('button', { name: 'Send' }).click()

    await expect(form.getByRole('status')).toHaveText(/^200 /)
    await expect(form.getByRole('group', { name: 'The same with curl' })).toContainText(`${url}/tools/nuncio/chat/api/`)
    opened.checkPages()
  })
})
