import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import {
  Activity,
  Archive,
  Ban,
  Bell,
  BookOpen,
  Braces,
  Inbox,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  ScrollText,
  Settings,
  Smartphone,
  Terminal,
  Users,
  Webhook,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { Role } from '../../src/contract/console/route.ts'
import { useApiQuery } from '../api/queries.ts'
import { SERVICE_PATH } from '../app/service-path.ts'
import classes from './shell.module.css'

interface Place {
  readonly to: string
  readonly label: string
  readonly icon: LucideIcon
  readonly isExact?: boolean
  readonly count?: ComponentType<{ readonly account: string }>
}

const OVERVIEW: Place = { to: '/a/$account', label: 'Overview', icon: LayoutDashboard, isExact: true }
const SANDBOX: Place = { to: '/a/$account/sandbox', label: 'Sandbox inbox', icon: Inbox }
const CONNECTIONS: Place = { to: '/a/$account/connections', label: 'Connections', icon: Smartphone }
const LOGS: Place = { to: '/a/$account/developer/logs', label: 'API logs', icon: Activity }
const WORK: readonly Place[] = [
  OVERVIEW,
  SANDBOX,
  CONNECTIONS,
  { to: '/a/$account/attention', label: 'Needs attention', icon: Bell, count: AttentionCount },
]
const DEVELOPER: readonly Place[] = [
  { to: '/a/$account/developer/tokens', label: 'API tokens', icon: KeyRound },
  LOGS,
  { to: '/a/$account/developer/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/a/$account/developer/quickstart', label: 'Quickstart', icon: Terminal },
]
const PEOPLE: Place = { to: '/a/$account/settings/people', label: 'People', icon: Users }
const RECIPIENTS: Place = { to: '/a/$account/settings/recipients', label: 'Recipients', icon: Ban }
const AUDIT: Place = { to: '/a/$account/settings/audit', label: 'Audit log', icon: ScrollText }

/** On phones, the places that are used most have a bar at the bottom. Its labels are short, so that five fit into 320 px. */
export const TABS: readonly Place[] = [
  { ...OVERVIEW, count: AttentionCount },
  { ...LOGS, label: 'Logs' },
  CONNECTIONS,
  { ...SANDBOX, label: 'Inbox' },
]

export function Navigation({ account, role }: { readonly account: string; readonly role: Role }) {
  const settings: readonly Place[] = [
    { to: '/a/$account/settings/account', label: 'Account', icon: Settings },
    ...(role === 'owner' ? [PEOPLE] : []),
    ...(role === 'viewer' ? [] : [RECIPIENTS]),
    { to: '/a/$account/settings/retention', label: 'Retention', icon: Archive },
    ...(role === 'owner' ? [AUDIT] : []),
  ]
  return (
    <>
      <Places account={account} places={WORK} />
      <Heading>Developer</Heading>
      <Places account={account} places={DEVELOPER} />
      <ServiceItem href="/docs/api" label="API reference" icon={Braces} />
      <ServiceItem href="/docs/" label="Docs" icon={BookOpen} />
      <Heading>Settings</Heading>
      <Places account={account} places={settings} />
    </>
  )
}

function Heading({ children }: { readonly children: string }) {
  return (
    <Text size="xs" fw={500} c="dimmed" px={10} mt={14} mb={4}>
      {children}
    </Text>
  )
}

interface PlacesProps {
  readonly account: string
  readonly places: readonly Place[]
  readonly iconPx?: number
}

export function Places({ account, places, iconPx = 16 }: PlacesProps) {
  return places.map(({ to, label, icon: Icon, isExact = false, count: Count }) => (
    <Link
      key={to}
      to={to as '/a/$account'}
      params={{ account }}
      className={classes['place'] ?? ''}
      activeOptions={{ exact: isExact, includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
    >
      <Icon size={iconPx} aria-hidden />
      {label}
      {Count ? <Count account={account} /> : null}
    </Link>
  ))
}

/** A link to the documents, which open in a tab of their own; see `DocsLink`. */
function ServiceItem({ href, label, icon: Icon }: { readonly href: string } & Pick<Place, 'label' | 'icon'>) {
  return (
    <a href={`${SERVICE_PATH}${href}`} target="_blank" className={classes['place'] ?? ''} rel="noopener">
      <Icon size={16} aria-hidden />
      {label}
    </a>
  )
}

/** How many things need attention and were not seen. */
function AttentionCount({ account }: { readonly account: string }) {
  const { data } = useApiQuery('readAttention', { params: { account } })
  const open = data?.items.filter(({ seen }) => seen === null) ?? []
  if (open.length === 0) return null
  const isCritical = open.some(({ alarm }) => alarm?.severity === 'critical')
  return (
    <span className={classes['count'] ?? ''} data-critical={isCritical}>
      {open.length}
    </span>
  )
}
