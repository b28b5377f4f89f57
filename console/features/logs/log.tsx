import { Alert, Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ArrowLeft, ArrowRight, EyeOff, Info } from 'lucide-react'
import { useEffect } from 'react'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { endNote } from '../../../src/contract/console/waits.ts'
import { call } from '../../api/call.ts'
import { useApiQuery } from '../../api/queries.ts'
import type { StateGroup } from '../../app/theme.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { HttpStatus } from '../../components/http-status.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { ReasonNote } from '../../components/reason-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { StateLabel } from '../../components/state-label.tsx'
import { useShortcutSetting } from '../../components/stored-setting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { BlockButton } from '../recipients/block-button.tsx'
import { LogActions } from './log-actions.tsx'
import { LogFacts, MediaFacts } from './log-facts.tsx'
import { stateOf, sumText } from './log-labels.ts'
import { type LogSearch, logSearch } from './log-search.ts'
import { LogTimeline } from './log-timeline.tsx'
import { useLogRows } from './use-log-rows.ts'

/** One request or message with its result and its actions. */
export function Log() {
  const { id: account } = useAccount()
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string }
  const [search] = useSearchState(logSearch)
  const { data: detail, error, refetch } = useApiQuery('showLogEntry', { params: { account, id } })
  useFirstMessageSeen(detail)
  return (
    <Page
      title="API log"
      detail={detail ? titleOf(detail) : id}
      back={
        <TextLink to="/a/$account/developer/logs" params={{ account }} search={search as never} size="sm">
          All requests
        </TextLink>
      }
      actions={<Neighbours id={id} search={search} />}
    >
      {error && !detail ? (
        <ProblemNote problem={error} title="This entry could not be loaded" onRetry={() => void refetch()} />
      ) : null}
      {detail ? <Detail detail={detail} /> : error ? null : <Skeleton height={320} />}
    </Page>
  )
}

// Once per account and tab: only the server knows whether it was the first message.
const reported = new Set<string>()

/** Ends the first steps of a new account on its overview. It may fail, because nothing on this page depends on it. */
function useFirstMessageSeen(detail: LogDetail | undefined): void {
  const { id: account, can } = useAccount()
  const client = useQueryClient()
  const isDue = Boolean(detail?.message) && can('developer')
  useEffect(() => {
    if (!isDue || reported.has(account)) return
    reported.add(account)
    call('noteMessageSeen', { params: { account } }).then(
      () => client.invalidateQueries({ queryKey: ['readOverview'] }),
      () => reported.delete(account),
    )
  }, [isDue, account, client])
}

function titleOf({ entry }: LogDetail): string {
  if (entry.summed) return `${sumText(entry.summed.requests)}, refused alike`
  return entry.messageId === null ? `Request ${entry.requestId ?? entry.id}` : `Message ${entry.messageId}`
}

/** The previous and next entries of the list that it was opened from. */
function Neighbours({ id, search }: { readonly id: string; readonly search: LogSearch }) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const [hasShortcuts] = useShortcutSetting()
  const { source } = useLogRows(search)
  const at = source.rows.findIndex((row) => row.id === id)
  const newer = at > 0 ? source.rows[at - 1]?.id : undefined
  const older = at >= 0 ? source.rows[at + 1]?.id : undefined
  const open = (other: string | undefined) => {
    if (other === undefined) return
    const to = '/a/$account/developer/logs/$id'
    void navigate({ to, params: { account, id: other }, search: search as never })
  }
  useHotkeys(
    hasShortcuts
      ? [
          ['j', () => open(older)],
          ['k', () => open(newer)],
        ]
      : [],
  )
  return (
    <Group gap="xs">
      <Button
        variant="default"
        leftSection={<ArrowLeft size={16} aria-hidden />}
        disabled={newer === undefined}
        onClick={() => open(newer)}
      >
        Newer
      </Button>
      <Button
        variant="default"
        rightSection={<ArrowRight size={16} aria-hidden />}
        disabled={older === undefined}
        onClick={() => open(older)}
      >
        Older
      </Button>
    </Group>
  )
}

function Detail({ detail }: { readonly detail: LogDetail }) {
  const { entry, message, media } = detail
  return (
    <Stack gap="lg">
      <Stack gap="sm">
        <Group gap="sm">
          {entry.status === null ? null : <HttpStatus status={entry.status} isNamed />}
          {stateOf(entry) === 'GONE' ? null : <StateLabel state={stateOf(entry)} />}
        </Group>
        <Text fw={500}>{detail.sentence}</Text>
        <Reasons detail={detail} />
        {message ? (
          <Group gap="xs">
            <LogActions message={message} detail={detail} />
            <BlockButton number={entry.to} />
          </Group>
        ) : null}
      </Stack>
      {detail.isMasked ? (
        <Alert icon={<EyeOff aria-hidden />} color="gray" title="Recipients and texts are hidden">
          Your role in this account is viewer. A developer or an owner sees them.
        </Alert>
      ) : null}
      <LogFacts detail={detail} />
      {media ? <MediaFacts media={media} /> : null}
      <Tabs defaultValue={message ? 'timeline' : detail.request ? 'request' : 'raw'} keepMounted={false}>
        <Tabs.List aria-label="Details">
          {message ? <Tabs.Tab value="timeline">Timeline</Tabs.Tab> : null}
          {detail.request ? <Tabs.Tab value="request">Request</Tabs.Tab> : null}
          {detail.reply ? <Tabs.Tab value="reply">Reply</Tabs.Tab> : null}
          <Tabs.Tab value="raw">Raw JSON</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="timeline" pt="md">
          <Title order={2} mb="sm">
            What happened
          </Title>
          <LogTimeline entries={detail.timeline} />
        </Tabs.Panel>
        <Tabs.Panel value="request" pt="md">
          {detail.request ? <RequestPanel request={detail.request} deletedAt={detail.bodyDeletedAt} /> : null}
        </Tabs.Panel>
        <Tabs.Panel value="reply" pt="md">
          {detail.reply ? <ReplyPanel reply={detail.reply} /> : null}
        </Tabs.Panel>
        <Tabs.Panel value="raw" pt="md">
          <CodeBlock code={JSON.stringify(detail, null, 2)} language="json" label="All of it as JSON" />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

// A waiting message is moving, and everything else has gone well.
const REASON_GROUPS: Readonly<Record<string, StateGroup>> = {
  FAILED: 'notsent',
  EXPIRED: 'notsent',
  UNCONFIRMED: 'attend',
  CANCELLED: 'closed',
  PUBLISHED: 'sent',
  DELIVERED: 'sent',
  READ: 'sent',
}

function Reasons({ detail: { entry, message } }: { readonly detail: LogDetail }) {
  const { id: account } = useAccount()
  const reason = message?.reason
  const lane = message?.lane
  return (
    <>
      {entry.errors.map(({ field, code, message: words }) => (
        <ReasonNote
          key={`${code} ${field ?? ''} ${words}`}
          code={code}
          meaning={entry.summed ? words : `${field ?? 'The whole request'}: ${words}`}
        />
      ))}
      {message?.done ? (
        <Alert color="gray" variant="light" icon={<Info aria-hidden />} title={message.done}>
          {message.resentAs === null ? null : (
            <TextLink to="/a/$account/developer/logs/$id" params={{ account, id: message.resentAs }} size="sm">
              Open that message
            </TextLink>
          )}
        </Alert>
      ) : null}
      {reason ? (
        <ReasonNote
          code={reason.code}
          meaning={reason.meaning}
          whatToDo={reason.nextStep}
          channelSaid={reason.words}
          group={REASON_GROUPS[message.state] ?? 'moving'}
        />
      ) : null}
      {message?.reportsMissing ? (
        <ReasonNote
          code="reports_missing"
          meaning={message.reportsMissing.meaning}
          whatToDo={message.reportsMissing.nextStep}
          group="attend"
        >
          <TextLink to="/a/$account/connections/$id" params={{ account, id: message.connection.id }} size="sm">
            Open the connection
          </TextLink>
        </ReasonNote>
      ) : null}
      {lane ? (
        <ReasonNote
          code={lane.code}
          meaning={`Its lane stands still. ${lane.meaning}`}
          whatToDo={lane.nextStep}
          channelSaid={lane.words}
          group="attend"
        >
          {lane.until === null ? null : (
            <Text size="sm">
              Goes on <TimeAgo at={lane.until} />
              {endNote(lane.code)}
            </Text>
          )}
        </ReasonNote>
      ) : null}
    </>
  )
}

function RequestPanel({
  request,
  deletedAt,
}: {
  readonly request: NonNullable<LogDetail['request']>
  readonly deletedAt: number | null
}) {
  return (
    <Stack>
      <CodeBlock
        code={[`${request.method} ${request.url}`, ...headerLines(request.headers)].join('\n')}
        label="Request line and headers that are kept"
      />
      {request.body === null ? (
        <Text size="sm">
          {deletedAt === null ? (
            'The body is not kept, because it was not read or is no text.'
          ) : (
            <>
              Its content was deleted <TimeAgo at={deletedAt} />, because its time was over. What became of it stays.
            </>
          )}
        </Text>
      ) : (
        <CodeBlock code={request.body} language="json" label="Body as it came" maxHeight={480} />
      )}
      {request.curl === null ? null : (
        <CodeBlock code={request.curl} language="bash" label="The same as curl, with your token in $API_TOKEN" />
      )}
    </Stack>
  )
}

function ReplyPanel({ reply }: { readonly reply: NonNullable<LogDetail['reply']> }) {
  return (
    <Stack>
      <CodeBlock
        code={[`HTTP ${reply.status}`, ...headerLines(reply.headers)].join('\n')}
        label="Status and headers of the reply"
      />
      <CodeBlock code={reply.body} language="json" label="Body of the reply" maxHeight={480} />
    </Stack>
  )
}

function headerLines(headers: readonly { readonly name: string; readonly value: string }[]): readonly string[] {
  return headers.map(({ name, value }) => `${name}: ${value}`)
}
