import { Grid, Paper, Stack, Table, Text, Title, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { TokenActivityReply, TokenCallerReply } from '../../../src/contract/console/tokens.ts'
import type { CallProblem } from '../../api/call-problem.ts'
import { rowsOf, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { localDateTime } from '../../components/instants.ts'
import { TextLink } from '../../components/links.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel, StateLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { counted, usageText } from './token-labels.ts'

const EVERY_MS = 30_000

/** The activity of a token in the last 30 days, from as far back as can be read quickly. */
export function TokenActivity({ id }: { readonly id: string }) {
  const { id: account } = useAccount()
  const activity = useApiQuery('describeTokenUse', { params: { account, id } }, { everyMs: EVERY_MS, isLive: false })
  return (
    <Stack gap="sm" component="section" aria-labelledby="activity">
      <Title order={2} id="activity">
        What it did
      </Title>
      {activity.error ? (
        <ProblemNote problem={activity.error} onRetry={() => void activity.refetch()} />
      ) : activity.data ? (
        <Activity account={account} id={id} activity={activity.data} query={activity} />
      ) : null}
    </Stack>
  )
}

interface ActivityProps {
  readonly account: string
  readonly id: string
  readonly activity: TokenActivityReply
  readonly query: UseQueryResult<TokenActivityReply, CallProblem>
}

function Activity({ account, id, activity, query }: ActivityProps) {
  const since = activity.isComplete ? 'in the last 30 days' : `since ${localDateTime(activity.countedFrom)}`
  return (
    <>
      <Text size="sm">
        {activity.requests === 0
          ? `It was not used ${since}.`
          : `${counted(activity.requests, 'request')} ${since}: ${usageText(activity)}.`}{' '}
        <TextLink to="/a/$account/developer/logs" params={{ account }} search={{ token: id } as never} size="sm">
          Show them in the API logs
        </TextLink>
      </Text>
      {activity.isComplete ? null : (
        <Text size="xs" c="dimmed">
          This account is busy, so only its newest requests are counted here. The API logs go back further.
        </Text>
      )}
      {activity.requests === 0 ? null : (
        <>
          <Callers activity={query} />
          <Grid>
            <Tally title="Results" rows={activity.results} show={(value) => <Result value={value} />} />
            <Tally title="Sender numbers" rows={activity.numbers} show={(value) => value ?? 'Unknown'} />
            <Tally title="Types" rows={activity.types} show={(value) => TYPE_LABELS[value ?? ''] ?? value} />
          </Grid>
        </>
      )}
    </>
  )
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  message: 'Text',
  image: 'Image',
  document: 'Document',
  video: 'Video',
  audio: 'Audio',
}

function Result({ value }: { readonly value: string | null }) {
  if (value?.startsWith('Refused')) return <GroupLabel group="refused">{value}</GroupLabel>
  return <StateLabel state={value ?? ''} />
}

/** Every request that is listed one by one has an address. */
function unnamed({ address }: TokenCallerReply): string {
  return address === null ? 'Refused, and not listed one by one' : 'It gave no name'
}

const CALLERS: readonly Column<TokenCallerReply>[] = [
  { key: 'address', header: 'Address', cell: ({ address }) => address ?? 'Not kept' },
  {
    key: 'program',
    header: 'Program',
    wraps: true,
    card: 'text',
    cell: (caller) => <span style={{ overflowWrap: 'anywhere' }}>{caller.userAgent ?? unnamed(caller)}</span>,
  },
  { key: 'requests', header: 'Requests', align: 'right', cell: ({ requests }) => requests.toLocaleString('en') },
  { key: 'refused', header: 'Refused', align: 'right', cell: ({ refused }) => refused.toLocaleString('en') },
  { key: 'last', header: 'Last one', cell: ({ lastAt }) => <TimeAgo at={lastAt} isQuiet /> },
]

/** The callers of a token, which need the new one when it is replaced. */
function Callers({ activity }: { readonly activity: UseQueryResult<TokenActivityReply, CallProblem> }) {
  return (
    <Stack gap="xs">
      <Title order={3}>Callers</Title>
      <DataTable
        caption="Who used this token"
        columns={CALLERS}
        source={rowsOf(activity, ({ callers }) => callers)}
        keyOf={({ address, userAgent }) => JSON.stringify([address, userAgent])}
        empty={null}
      />
    </Stack>
  )
}

interface TallyProps {
  readonly title: string
  readonly rows: TokenActivityReply['results']
  readonly show: (value: string | null) => ReactNode
}

function Tally({ title, rows, show }: TallyProps) {
  if (rows.length === 0) return null
  return (
    <Grid.Col span={{ base: 12, sm: 4 }}>
      <Paper withBorder p="sm" h="100%">
        <Title order={3} mb="xs">
          {title}
        </Title>
        <Table verticalSpacing={6}>
          <Table.Caption>
            <VisuallyHidden>{title}, the most frequent first</VisuallyHidden>
          </Table.Caption>
          <Table.Thead>
            <VisuallyHidden component="tr">
              <th scope="col">{title}</th>
              <th scope="col">How many</th>
            </VisuallyHidden>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ value, count }) => (
              <Table.Tr key={value}>
                <Table.Td>{show(value)}</Table.Td>
                <Table.Td ta="right">{count.toLocaleString('en')}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
    </Grid.Col>
  )
}
