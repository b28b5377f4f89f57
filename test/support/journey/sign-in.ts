import { randomBytes } from 'node:crypto'
import type { AdministrationSession } from '../../../src/server/wiring/open-administration.ts'

/** The headers that the console's own pages send. */
const BROWSER = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }

export interface SignedIn {
  /** The first account of the installation. */
  readonly account: string
  readonly headers: Readonly<Record<string, string>>
}

/** Signs an owner of the first account in to the running service. */
export async function signInOwner(url: string, operator: AdministrationSession): Promise<SignedIn> {
  const account = (await operator.administration.listAccounts())[0]?.id as never
  const email = 'anna@example.org'
  const password = randomBytes(12).toString('base64url')
  const person = { email, name: 'Anna', passwordHash: await operator.hashPassword(password) }
  await operator.people.addPerson(person, { accountId: account, role: 'owner' }, 'test')
  const signedIn = await fetch(`${url}/console/api/sign-in`, {
    method: 'POST',
    headers: BROWSER,
    body: JSON.stringify({ email, password }),
  })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { account, headers: { ...BROWSER, cookie } }
}
