import { Navigate } from '@tanstack/react-router'
import { useApiQuery } from '../api/queries.ts'
import { useCommandLine } from '../api/use-command-line.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'
import { useStoredSetting } from '../components/stored-setting.ts'

/** `/console/` opens the account that was used last. */
export function Home() {
  const commandLine = useCommandLine()
  const me = useApiQuery('currentSession', {})
  const [last] = useStoredSetting<string | null>('account', null)
  if (!me.data) return null
  const { accounts } = me.data
  const account = accounts.find(({ id }) => id === last) ?? accounts[0]
  if (account) return <Navigate to="/a/$account" params={{ account: account.id }} replace />
  return (
    <Page title="No account">
      <EmptyState
        kind="nothing-yet"
        title="You belong to no account"
        text={`An owner of an account can invite you: ask for a link. The person who runs this service can do so with: ${commandLine`user add`}`}
      />
    </Page>
  )
}
