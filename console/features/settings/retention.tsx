import { Alert, Text } from '@mantine/core'
import { Info } from 'lucide-react'
import type { RetentionReply } from '../../../src/contract/console/overview.ts'
import { bytesText } from '../../../src/format/bytes.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { RetentionForm } from './retention-form.tsx'

const COUNTED_EVERY_MS = 10_000

/** How much data is kept, since when, and its size. */
export function Retention() {
  const { id: account, can } = useAccount()
  const asked = useApiQuery('readRetention', { params: { account } }, { everyMs: COUNTED_EVERY_MS })
  return (
    <Page title="Retention" about="What this service keeps for this account, and how much room it takes.">
      {asked.error ? <ProblemNote problem={asked.error} onRetry={() => void asked.refetch()} /> : null}
      {asked.data ? <Waiting kept={asked.data} /> : null}
      {asked.data ? <Kept kept={asked.data} account={account} /> : null}
      {asked.data && can('owner') ? <RetentionForm kept={asked.data} account={account} /> : null}
    </Page>
  )
}

/** Old data is deleted soon for the first time, and a person can still prevent that. */
function Waiting({ kept: { waitsUntil, waitsFor } }: { readonly kept: RetentionReply }) {
  if (waitsUntil === null) return null
  return (
    <Alert color="yellow" variant="light" icon={<Info aria-hidden />} title="Old data will be deleted soon">
      <Text size="sm">
        {waitsFor === 'pause'
          ? 'Nothing was deleted for a long time, or the clock was set forward. '
          : 'This installation was copied from another. '}
        Deletion begins <TimeAgo at={waitsUntil} />. Until then, the person who runs Nuncio can set longer retention
        times: NUNCIO_RETENTION_BODIES_DAYS and NUNCIO_RETENTION_MESSAGES_DAYS.
      </Text>
    </Alert>
  )
}

function keptFor(days: number, own: number | null): string {
  const text = (count: number) => (count === 0 ? 'for ever' : count === 1 ? '1 day' : `${count} days`)
  return own === null || own === days ? `Kept ${text(days)}` : `Kept ${text(own)} (the installation: ${text(days)})`
}

function Kept({ kept, account }: { readonly kept: RetentionReply; readonly account: string }) {
  const { spool, databaseBytes, countedAt, isComplete, oldestAt, installation, own, lastSweptAt } = kept
  return (
    <Facts isWide>
      <Fact name="Texts, captions, URLs, file names">
        {keptFor(installation.bodiesDays, own.bodiesDays)} after a message was accepted. Messages that still wait keep
        theirs.
      </Fact>
      <Fact name="Messages and the API log">
        {keptFor(installation.messagesDays, own.messagesDays)}. Waiting and unresolved messages stay.
      </Fact>
      <Fact name="The audit log">{keptFor(installation.auditDays, null)}.</Fact>
      <Fact name="Old data last deleted">
        {lastSweptAt === null ? 'Not yet' : <TimeAgo at={lastSweptAt} />}, and again every hour.
      </Fact>
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
      <Fact name="Oldest message">{oldestAt === null ? 'None yet' : <TimeAgo at={oldestAt} />}</Fact>
      <Fact name="Media that wait to be sent">
        {spool.files === 0
          ? 'None'
          : `${spool.isMore ? 'over ' : ''}${spool.files.toLocaleString('en')} ${spool.files === 1 ? 'file' : 'files'}, ${bytesText(spool.bytes)}. Each is deleted when its message has ended.`}
      </Fact>
      <Fact name="The database">
        {databaseBytes === null
          ? 'It is shared with other accounts, so its size is shown only to the person who runs the service.'
          : bytesText(databaseBytes)}
      </Fact>
    </Facts>
  )
}
