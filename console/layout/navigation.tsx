import { Badge, Text } from '@mantine/core'
import {
  Activity,
  Archive,
  Ban,
  BellRing,
  BookOpen,
  Braces,
  Inbox,
  KeyRound,
  LayoutDashboard,
  LifeBuoy,
  type LucideIcon,
  ScrollText,
  Settings,
  Smartphone,
  Users,
  Webhook,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { Role } from '../../src/contract/console/route.ts'
import { useApiQuery } from '../api/queries.ts'
import { NavItem, ServiceItem } from '../components/links.tsx'

interface Place {
  readonly to: string
  readonly label: string
  readonly icon: LucideIcon
  readonly isExact?: boolean
  readonly count?: ComponentType<{ readonly account: string }>
}

const WORK: readonly Place[] = [
  { to: '/a/$account', label: 'Overview', icon: LayoutDashboard, isExact: true },
  { to: '/a/$account/sandbox', label: 'Sandbox inbox', icon: Inbox },
  { to: '/a/$account/connections', label: 'Connections', icon: Smartphone },
  { to: '/a/$account/alarms', label: 'Alarms', icon: BellRing, count: AlarmCount },
]
const DEVELOPER: readonly Place[] = [
  { to: '/a/$account/developer/tokens', label: 'API tokens', icon: KeyRound },
  { to: '/a/$account/developer/logs', label: 'API logs', icon: Activity },
  { to: '/a/$account/developer/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/a/$account/developer/quickstart', label: 'Quickstart', icon: BookOpen },
]
const PEOPLE: Place = { to: '/a/$account/settings/people', label: 'People', icon: Users }
const RECIPIENTS: Place = { to: '/a/$account/settings/recipients', label: 'Recipients', icon: Ban }
const AUDIT: Place = { to: '/a/$account/settings/audit', label: 'Audit log', icon: ScrollText }

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
      <ServiceItem href="/docs/api" label="API reference" leftSection={<Braces size={18} aria-hidden />} />
      <ServiceItem href="/docs/" label="Documents" leftSection={<LifeBuoy size={18} aria-hidden />} />
      <Heading>Settings</Heading>
      <Places account={account} places={settings} />
    </>
  )
}

function Heading({ children }: { readonly children: string }) {
  return (
    <Text size="xs" fw={600} c="dimmed" px="sm" mt="md" mb={4}>
      {children}
    </Text>
  )
}

function Places({ account, places }: { readonly account: string; readonly places: readonly Place[] }) {
  return places.map(({ to, label, icon: Icon, isExact = false, count: Count }) => (
    <NavItem
      key={to}
      to={to as '/a/$account'}
      params={{ account }}
      activeOptions={{ exact: isExact, includeSearch: false }}
      activeProps={{ active: true, 'aria-current': 'page' }}
      label={label}
      leftSection={<Icon size={18} aria-hidden />}
      rightSection={Count ? <Count account={account} /> : null}
    />
  ))
}

/** The number of open alarms that need attention. */
function AlarmCount({ account }: { readonly account: string }) {
  const { data } = useApiQuery('readOpenAlarms', { params: { account } })
  const open = data?.items.filter(({ severity }) => severity !== 'info') ?? []
  if (open.length === 0) return null
  const isCritical = open.some(({ severity }) => severity === 'critical')
  return (
    <Badge size="sm" circle={open.length < 10} color={isCritical ? 'red' : 'yellow'} variant="filled" autoContrast>
      {open.length}
    </Badge>
  )
}
