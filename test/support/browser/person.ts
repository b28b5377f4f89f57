import type { Page } from '@playwright/test'
import type { Role } from '../../../src/core/people/role.ts'
import type { NuncioCli } from '../black-box/nuncio-cli.ts'

export interface Person {
  readonly name: string
  readonly email: string
  readonly password: string
}

interface Place {
  /** By name; needed when there are several. */
  readonly account?: string
  readonly role?: Role
}

/** Makes the person with the command line, in the only account if none is named. Returns the account's id. */
export async function addPerson(cli: NuncioCli, person: Person, { account, role = 'owner' }: Place = {}) {
  const of = account === undefined ? [] : ['--account', account]
  const { name, email, password } = person
  const words = ['user', 'add', email, '--name', name, '--role', role, '--password-stdin', ...of]
  const { code, stderr } = await cli.runWith(`${password}\n`, ...words)
  if (code !== 0) throw new Error(`nuncio user add ended with ${code}: ${stderr}`)
  const accounts = await cli.json<{ id: string; name: string }[]>('account', 'list')
  const found = accounts.find((candidate) => account === undefined || candidate.name === account)
  if (!found) throw new Error(`There is no account ${account}`)
  return found.id
}

/** Signs in past the form, which has tests of its own. The browser of this page keeps the session. */
export async function signInAs(page: Page, { email, password }: Person): Promise<void> {
  const origin = await originOf(page)
  const reply = await page.request.post('/console/api/sign-in', {
    data: { email, password, keep: false },
    headers: { origin },
  })
  if (!reply.ok()) throw new Error(`Signing in was answered with ${reply.status()}: ${await reply.text()}`)
}

/** Without opening a page for it: that would take longer than all the rest. */
async function originOf(page: Page): Promise<string> {
  if (page.url() !== 'about:blank') return new URL(page.url()).origin
  const reply = await page.request.get('/health/live')
  return new URL(reply.url()).origin
}
