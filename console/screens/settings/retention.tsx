import { Alert, Stack, Table, Text } from '@mantine/core'
import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import type { RetentionReply } from '../../../src/contract/console/overview.ts'
import { useAsk } from '../../api/queries.ts'
import { useAccount } from '../../parts/account.tsx'
import { TextLink } from '../../parts/links.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'

const COUNTED_EVERY_MS = 10_000

/** What is kept, since when, and how much room it takes. */
export function Retention() {
  const { id: account } = useAccount()
  const asked = useAsk('readRetention', { params: { account } }, { everyMs: COUNTED_EVERY_MS })
  return (
    <Page title="Retention" about="What this service keeps for this account, and how much room it takes.">
      {asked.error ? <ProblemNote problem={asked.error} onRetry={() => void asked.refetch()} /> : null}
      <Alert color="blue" variant="light" icon={<Info aria-hidden />} title="Nothing is deleted by itself yet">
        <Text size="sm">
          Messages, their texts and the API log are kept for as long as the database is. A later version will let you
          say after how many days they go. Until then, watch the disk: when it is full, nothing is accepted any more.
        </Text>
      </Alert>
      {asked.data ? <Facts kept={asked.data} account={account} /> : null}
    </Page>
  )
}

function Facts({ kept, account }: { readonly kept: RetentionReply; readonly account: string }) {
  const { spool, databaseBytes, countedAt, isComplete, oldestAt } = kept
  return (
    <Stack gap="xs">
      <Table variant="vertical" layout="auto" withTableBorder>
        <Table.Tbody>
          <Fact name="Messages">
            <TextLink to="/a/$account/developer/logs" params={{ account }} size="sm">
              {`${isComplete ? '' : 'at least '}${kept.messages.toLocaleString('en')}`}
            </TextLink>{' '}
            {countedAt === null ? (
              '(not counted yet)'
            ) : (
              <>
                (counted <TimeAgo at={countedAt} />)
              </>
            )}
          </Fact>
          <Fact name="The oldest">{oldestAt === null ? 'There is none yet' : <TimeAgo at={oldestAt} />}</Fact>
          <Fact name="Media that wait to be sent">
            {spool.files === 0
              ? 'None'
              : `${spool.isMore ? 'over ' : ''}${spool.files.toLocaleString('en')} ${spool.files === 1 ? 'file' : 'files'}, ${sizeText(spool.bytes)}. They go once their message is sent.`}
          </Fact>
          <Fact name="The database">
            {databaseBytes === null
              ? 'It is shared with other accounts, so its size is told only to whoever runs the service.'
              : sizeText(databaseBytes)}
          </Fact>
        </Table.Tbody>
      </Table>
    </Stack>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" w={220}>
        {name}
      </Table.Th>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  )
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** "812 bytes", "4.2 MB". */
function sizeText(bytes: number): string {
  const step = Math.min(UNITS.length - 1, bytes < 1_000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const size = bytes / 1_000 ** step
  return `${step === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[step] ?? ''}`
}
