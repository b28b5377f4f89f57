import { Alert, Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { KeyRound, OctagonPause } from 'lucide-react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useCommandLine } from '../../api/command-line.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { StateLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { numberText } from './results.ts'

/** All lanes are held until a person releases them. */
export function HoldBanner({ hold }: Pick<OverviewReply, 'hold'>) {
  const commandLine = useCommandLine()
  if (hold === null) return null
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      icon={<OctagonPause aria-hidden />}
      title="All messages are held back"
    >
      <Stack gap="xs">
        <Text size="sm" component="div">
          Since <TimeAgo at={hold.since} />, no attempt begins on any connection: {hold.reason}. One that had begun is
          brought to its end. Messages are still accepted, and wait in their order.
        </Text>
        <Text size="sm" component="div">
          If the database has gone back, such as to a backup, what was sent since may be sent once more. So check what
          arrived meanwhile, cancel what must not go out again, and then ask the person who runs the service to type{' '}
          <Code>{commandLine`hold --release`}</Code>.
        </Text>
      </Stack>
    </Alert>
  )
}

/** Failed, expired and unconfirmed messages that need a person, by reason. */
export function Attention({ attention }: Pick<OverviewReply, 'attention'>) {
  const { id: account } = useAccount()
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="attention">
      <Stack gap="sm">
        <Title order={2} id="attention">
          Needs attention
        </Title>
        {attention.groups.length === 0 ? (
          <Text size="sm" c="dimmed">
            Nothing needs your attention.
          </Text>
        ) : null}
        {attention.groups.map((group) => (
          <div key={`${group.state} ${group.reason ?? ''}`}>
            <Group gap="sm">
              <StateLabel state={group.state} />
              <TextLink
                to="/a/$account/developer/logs"
                params={{ account }}
                search={searchOf(group, attention.from) as never}
                size="sm"
                fw={600}
              >
                {`${numberText(group.count)} × ${group.meaning ?? group.reason ?? 'for no known reason'}`}
              </TextLink>
            </Group>
            <Text size="sm" c="dimmed" component="div" mt={2}>
              {group.whatToDo ?? ''} The latest came <TimeAgo at={group.latestAt} />.
            </Text>
          </div>
        ))}
      </Stack>
    </Paper>
  )
}

const DAY_MS = 86_400_000

/** Tokens that end within two weeks or have ended; the nearer, the more urgent. */
export function EndingTokens({ seen: { endingTokens, now } }: { readonly seen: OverviewReply }) {
  const { id: account } = useAccount()
  const [first] = endingTokens
  if (!first) return null
  const left = first.expiresAt - now
  return (
    <Alert
      color={left <= DAY_MS ? 'red' : 'yellow'}
      variant="light"
      icon={<KeyRound aria-hidden />}
      title={titleOf(left)}
      component="section"
    >
      <Stack gap={4}>
        {endingTokens.map(({ id, name, expiresAt }) => (
          <Text key={id} size="sm" component="div">
            <TextLink to="/a/$account/developer/tokens/$id" params={{ account, id }} size="sm">
              {name}
            </TextLink>{' '}
            {expiresAt <= now ? 'expired' : 'expires'} <TimeAgo at={expiresAt} />
          </Text>
        ))}
        <Text size="sm">Rotate what is still in use: until then its requests go on, afterwards they are refused.</Text>
      </Stack>
    </Alert>
  )
}

function titleOf(leftMs: number): string {
  if (leftMs <= 0) return 'A token has expired'
  if (leftMs <= DAY_MS) return 'A token expires within a day'
  return leftMs <= 7 * DAY_MS ? 'A token expires within 7 days' : 'A token expires within 14 days'
}

type ReasonGroup = OverviewReply['attention']['groups'][number]

/** The log filter for exactly these messages. */
function searchOf({ state, reason }: ReasonGroup, since: number): Readonly<Record<string, unknown>> {
  // The same set as counted: without resolved messages and without repeats of a request.
  const which = state === 'UNCONFIRMED' ? { view: 'attention' } : { result: state.toLowerCase(), open: 'yes' }
  return { ...which, reason: reason ?? undefined, since }
}
