import { ActionIcon, Box, Group, Text, useMantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { Monitor, Moon, Search, Sun } from 'lucide-react'
import { useCallback, useEffect } from 'react'
import type { CurrentSession } from '../../src/contract/console/session.ts'
import { useApiQuery } from '../api/queries.ts'
import { CONSOLE_PATH } from '../app/service-path.ts'
import { AccountProvider } from '../components/account.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Hint } from '../components/hint.tsx'
import { ButtonLink } from '../components/links.tsx'
import { LiveProvider } from '../components/live.tsx'
import { LiveSwitch } from '../components/live-status.tsx'
import { Page } from '../components/page.tsx'
import { ProblemNote } from '../components/problem-note.tsx'
import { Shortcuts } from '../components/shortcuts.tsx'
import { useStoredSetting } from '../components/stored-setting.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { Navigation } from './navigation.tsx'
import { NotFound } from './not-found.tsx'
import { PersonMenu } from './person-menu.tsx'
import classes from './shell.module.css'
import { TabBar } from './tab-bar.tsx'

/** The frame of every page of a signed-in person. */
export function Shell() {
  const me = useApiQuery('currentSession', {})
  const { account: wanted } = useParams({ strict: false })
  const [last, setLast] = useStoredSetting<string | null>('account', null)
  useEffect(() => {
    if (wanted !== undefined) setLast(wanted)
  }, [wanted, setLast])
  if (me.error) {
    // Without a session the person is being sent to the sign-in page.
    if (me.error.status === 401) return null
    return (
      <Box component="main" p="lg">
        <Page title="Console">
          <ProblemNote problem={me.error} onRetry={() => void me.refetch()} />
        </Page>
      </Box>
    )
  }
  if (!me.data) return null
  const { accounts } = me.data
  const account = accounts.find(({ id }) => id === (wanted ?? last)) ?? (wanted === undefined ? accounts[0] : undefined)
  return <Frame me={me.data} account={account} isUnknown={wanted !== undefined && account === undefined} />
}

interface FrameProps {
  readonly me: CurrentSession
  readonly account: CurrentSession['accounts'][number] | undefined
  readonly isUnknown: boolean
}

function Frame({ me, account, isUnknown }: FrameProps) {
  const onSignedOut = useGoToSignIn()
  const { account: wanted } = useParams({ strict: false })
  if (!account) {
    return (
      <Layout me={me} account={undefined}>
        {isUnknown ? <NotFound /> : <Outlet />}
      </Layout>
    )
  }
  if (!account.isOpen) {
    return (
      <Layout me={me} account={undefined}>
        {wanted === undefined ? <Outlet /> : <NeedsSecondFactor account={account.name} />}
      </Layout>
    )
  }
  return (
    <LiveProvider account={account.id} onSignedOut={onSignedOut}>
      <AccountProvider account={account}>
        <Layout me={me} account={account}>
          {/* Another account is another page: nothing that was opened or typed for the one may stay for the other. */}
          <Outlet key={account.id} />
        </Layout>
      </AccountProvider>
    </LiveProvider>
  )
}

function Layout({ me, account, children }: Omit<FrameProps, 'isUnknown'> & { readonly children: React.ReactNode }) {
  return (
    <Shortcuts account={account?.id ?? null}>
      {(open) => (
        <>
          <a href="#content" className={classes['skip'] ?? ''}>
            Skip to the content
          </a>
          <header className={classes['header'] ?? ''}>
            <span className={classes['brand'] ?? ''}>
              <img src={`${CONSOLE_PATH}/icon.svg`} alt="" />
              Nuncio
            </span>
            <Text size="xs" c="dimmed" className={classes['host'] ?? ''} title="This installation">
              {location.host}
            </Text>
            <div className={classes['account'] ?? ''}>
              <AccountSwitcher accounts={me.accounts} current={account} />
            </div>
            {account ? (
              <button type="button" className={classes['find'] ?? ''} onClick={open.palette} aria-haspopup="dialog">
                <Search size={16} aria-hidden />
                <span>Search or go to…</span>
                <kbd>Ctrl K</kbd>
              </button>
            ) : null}
            <Group gap={4} wrap="nowrap">
              {account ? <LiveSwitch /> : null}
              <ThemeSwitch />
              <PersonMenu person={me.person} onHelp={open.help} />
            </Group>
          </header>
          <div className={classes['frame'] ?? ''}>
            <nav aria-label="Pages" className={classes['side'] ?? ''}>
              {account ? <Navigation account={account.id} role={account.role} /> : null}
              <button type="button" onClick={open.help} className={classes['keys'] ?? ''}>
                Keyboard shortcuts <kbd>?</kbd>
              </button>
            </nav>
            <main id="content" tabIndex={-1} className={classes['main'] ?? ''}>
              {children}
            </main>
          </div>
          {account ? <TabBar account={account.id} role={account.role} /> : null}
        </>
      )}
    </Shortcuts>
  )
}

/** Removes all loaded data, so that the next person at this browser cannot see it. */
function useGoToSignIn(): () => void {
  const client = useQueryClient()
  const navigate = useNavigate()
  return useCallback(() => {
    client.clear()
    void navigate({ to: '/sign-in', search: { to: location.pathname + location.search } as never })
  }, [client, navigate])
}

/** Shown in place of every page of an account that requires a second factor. */
function NeedsSecondFactor({ account }: { readonly account: string }) {
  return (
    <Page title="One more step">
      <EmptyState
        kind="nothing-yet"
        title={`${account} requires a second factor`}
        text="Its owners let in only people who prove themselves by a passkey or by a code of an app, beside the password. Set one of them up in your profile; it takes a minute."
        action={<ButtonLink to="/me">Set up a second factor</ButtonLink>}
      />
    </Page>
  )
}

const SCHEMES = {
  auto: { label: 'as the system', icon: Monitor, next: 'light' },
  light: { label: 'light', icon: Sun, next: 'dark' },
  dark: { label: 'dark', icon: Moon, next: 'auto' },
} as const

/** Cycles through: system, light, dark. */
function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const { label, icon: Icon, next } = SCHEMES[colorScheme]
  const words = `Colours: ${label}. Change to ${SCHEMES[next].label}`
  return (
    <Hint<HTMLButtonElement> label={words}>
      {(spot) => (
        <ActionIcon
          {...spot}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={words}
          onClick={() => setColorScheme(next)}
        >
          <Icon size={18} aria-hidden />
        </ActionIcon>
      )}
    </Hint>
  )
}
