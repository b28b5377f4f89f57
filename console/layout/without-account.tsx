import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { CurrentSession } from '../../src/contract/console/session.ts'
import { call } from '../api/call.ts'
import { useApiQuery } from '../api/queries.ts'
import { useStoredSetting } from '../components/stored-setting.ts'
import { NotFound } from './not-found.tsx'

// The pages of an account, whose addresses begin with the account: `/a/ACCOUNT/developer/logs`.
const PAGES = ['attention', 'connections', 'developer', 'sandbox', 'settings']

/** Reads the object that an address names, such as `developer/logs/ID`. */
const READS: readonly (readonly [RegExp, (account: string, id: string) => Promise<unknown>])[] = [
  [/^developer\/logs\/([^/]+)/, (account, id) => call('showLogEntry', { params: { account, id } })],
  [/^developer\/tokens\/([^/]+)/, (account, id) => call('readToken', { params: { account, id } })],
  [/^developer\/webhooks\/([^/]+)/, (account, id) => call('readWebhook', { params: { account, id } })],
  [/^connections\/([^/]+)/, (account, id) => call('readConnection', { params: { account, id } })],
]

/** An address without an account, as in the documents: opens it in the account that has what it names, or was used last. */
export function WithoutAccount() {
  const { _splat: path = '' } = useParams({ strict: false }) as { readonly _splat?: string }
  const navigate = useNavigate()
  const me = useApiQuery('currentSession', {})
  const [last] = useStoredSetting<string | null>('account', null)
  const isPage = PAGES.includes(path.split('/')[0] ?? '')
  const accounts = me.data?.accounts ?? []
  const found = useQuery({
    queryKey: ['account of', path, accounts.map(({ id }) => id)],
    queryFn: () => findAccount(path, accounts),
    enabled: isPage && accounts.length > 1,
    meta: { isLive: false },
  })
  const account = isPage && me.data && !found.isLoading ? (found.data ?? preferredOf(accounts, last)) : null
  useEffect(() => {
    if (account === null) return
    void navigate({ to: `/a/${account}/${path}` as '/', search: true as never, hash: true, replace: true })
  }, [account, path, navigate])
  if (!me.data || found.isLoading || account !== null) return null
  return <NotFound />
}

function preferredOf(accounts: CurrentSession['accounts'], last: string | null): string | null {
  return (accounts.find(({ id }) => id === last) ?? accounts[0])?.id ?? null
}

/** Null: the address names nothing, or no account has it. */
async function findAccount(path: string, accounts: CurrentSession['accounts']): Promise<string | null> {
  for (const [pattern, read] of READS) {
    const [, id] = pattern.exec(path) ?? []
    if (id === undefined || id === 'new') continue
    const tried = accounts.map((account) => read(account.id, id).then(() => account.id))
    return await Promise.any(tried).catch(() => null)
  }
  return null
}
