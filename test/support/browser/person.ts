import { request as requests } from '@playwright/test'
import type { Role } from '../../../src/core/people/role.ts'
import type { NuncioCli } from '../black-box/nuncio-cli.ts'

export interface Person {
  readonly name: string
  readonly email: string
  readonly password: string
}

interface Place {
  /** By name or id; needed when there are several. */
  readonly account?: string
  readonly role?: Role
}

/** The cookies and storage that a browser keeps for a signed-in person. */
export type StoredSession = Awaited<ReturnType<Awaited<ReturnType<typeof requests.newContext>>['storageState']>>

/** Adds a person with the command line, to the only account if none is named. */
export async function addPerson(
  cli: Pick<NuncioCli, 'runWith'>,
  { name, email, password }: Person,
  { account, role = 'owner' }: Place = {},
): Promise<void> {
  const of = account === undefined ? [] : ['--account', account]
  const words = ['user', 'add', email, '--name', name, '--role', role, '--password-stdin', ...of]
  const { code, stderr } = await cli.runWith(`${password}\n`, ...words)
  if (code !== 0) throw new Error(`nuncio user add ended with ${code}: ${stderr}`)
}

/** Signs in without the form, which has its own tests. */
export async function signIn(url: string, { email, password }: Person): Promise<StoredSession> {
  return await withRequests(url, async (context) => {
    const reply = await context.post('/console/api/sign-in', { data: { email, password, keep: false } })
    if (!reply.ok()) throw new Error(`Signing in was answered with ${reply.status()}: ${await reply.text()}`)
    return await context.storageState()
  })
}

/** Accepts an invitation to another account, as a person who already has one. */
export async function join(url: string, { link, session }: { readonly link: string; readonly session: StoredSession }) {
  await withRequests(
    url,
    async (context) => {
      const reply = await context.post('/console/api/links/join', { data: { link } })
      if (!reply.ok()) throw new Error(`Joining was answered with ${reply.status()}: ${await reply.text()}`)
    },
    session,
  )
}

type Requests = Awaited<ReturnType<typeof requests.newContext>>

async function withRequests<Result>(
  url: string,
  work: (context: Requests) => Promise<Result>,
  session?: StoredSession,
): Promise<Result> {
  const context = await requests.newContext({
    baseURL: url,
    extraHTTPHeaders: { origin: url },
    ...(session && { storageState: session }),
  })
  try {
    return await work(context)
  } finally {
    await context.dispose()
  }
}
