import { Alert, Button, Group, Paper, Skeleton, Stack, Tabs, Text, Title, VisuallyHidden } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ArrowLeft, ArrowRight, EyeOff } from 'lucide-react'
import { useEffect } from 'react'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { call } from '../../api/call.ts'
import { CallProblem } from '../../api/call-problem.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { GoesOn } from '../../components/goes-on.tsx'
import { TextLink } from '../../components/links.tsx'
import { FileName } from '../../components/message-preview.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { Cause, ResultCard } from '../../components/result-card.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { displayOf, type StateFacts } from '../../components/state-display.ts'
import { StateLabel } from '../../components/state-label.tsx'
import { useShortcutSetting } from '../../components/stored-setting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { withoutMarks } from '../../components/without-marks.ts'
import { Decide } from './decide.tsx'
import classes from './log.module.css'
import { LogActions } from './log-actions.tsx'
import { LogFacts, MediaFacts } from './log-facts.tsx'
import { stateOf, sumText, TYPE_LABELS } from './log-labels.ts'
import { LogMore } from './log-more.tsx'
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
  const state = detail ? stateOf(detail.entry) : 'GONE'
  return (
    <Page
      title="API log"
      detail={detail ? titleOf(detail) : id}
      badge={detail && state !== 'GONE' ? <StateLabel state={state} {...factsOf(detail)} /> : null}
      back={
        <Group justify="space-between" mb={4}>
          <TextLink to="/a/$account/developer/logs" params={{ account }} search={search as never} size="sm" data-alone>
            API logs
          </TextLink>
          <Neighbours id={id} search={search} />
        </Group>
      }
      actions={
        detail?.message ? (
          <>
            <LogActions message={detail.message} detail={detail} />
            <LogMore detail={detail} />
          </>
        ) : null
      }
    >
      {error && !detail ? <NotShown problem={error} onRetry={() => void refetch()} /> : null}
      {detail ? <Detail detail={detail} /> : error ? null : <Skeleton height={320} />}
    </Page>
  )
}

interface NotShownProps {
  readonly problem: Error
  readonly onRetry: () => void
}

/** An entry that does not exist gets no retry. */
function NotShown({ problem, onRetry }: NotShownProps) {
  return problem instanceof CallProblem && problem.code === 'request_unknown' ? (
    <ProblemNote problem={problem} title="This entry is not in the API log" />
  ) : (
    <ProblemNote problem={problem} title="This entry could not be loaded" onRetry={onRetry} />
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

/** "Text to 15551112222 · not sent". */
function titleOf({ entry, short }: LogDetail): string {
  if (entry.summed) return `${sumText(entry.summed.requests)}, refused alike`
  const type = TYPE_LABELS[entry.type ?? '']
  if (entry.outcome === 'refused' || type === undefined) return `Request · ${short}`
  return `${type} to ${entry.to ?? 'an unknown recipient'} · ${short}`
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
        variant="subtle"
        size="compact-sm"
        leftSection={<ArrowLeft size={16} aria-hidden />}
        disabled={newer === undefined}
        onClick={() => open(newer)}
      >
        Newer
      </Button>
      <Button
        variant="subtle"
        size="compact-sm"
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
    <Stack gap="md">
      <Result detail={detail} />
      {detail.isMasked ? (
        <Alert icon={<EyeOff aria-hidden />} color="gray" title="Recipients and texts are hidden">
          Your role in this account is viewer. A developer or an owner sees them.
        </Alert>
      ) : null}
      <div className={classes['columns'] ?? ''}>
        <Stack gap="md" miw={0}>
          <Content detail={detail} />
          <Paper withBorder>
            <Details detail={detail} />
          </Paper>
        </Stack>
        <Stack gap="md" miw={0}>
          <LogFacts detail={detail} />
          {media ? <MediaFacts media={media} /> : null}
        </Stack>
      </div>
      {message === null && entry.messageId !== null ? (
        <Text size="sm" c="dimmed">
          Its message is no longer kept.
        </Text>
      ) : null}
    </Stack>
  )
}

function Details({ detail }: { readonly detail: LogDetail }) {
  const { message } = detail
  return (
    <Tabs defaultValue={message ? 'timeline' : detail.request ? 'request' : 'raw'} keepMounted={false}>
      <Tabs.List aria-label="Details">
        {message ? <Tabs.Tab value="timeline">Timeline</Tabs.Tab> : null}
        {detail.request ? <Tabs.Tab value="request">Request</Tabs.Tab> : null}
        {detail.reply ? <Tabs.Tab value="reply">Reply</Tabs.Tab> : null}
        <Tabs.Tab value="raw">Raw JSON</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="timeline" p="md">
        <VisuallyHidden component="h2">What happened</VisuallyHidden>
        <LogTimeline entries={detail.timeline} />
      </Tabs.Panel>
      <Tabs.Panel value="request" p="md">
        {detail.request ? (
          <RequestPanel request={detail.request} deletedAt={detail.bodyDeletedAt} status={detail.entry.status} />
        ) : null}
      </Tabs.Panel>
      <Tabs.Panel value="reply" p="md">
        {detail.reply ? <ReplyPanel reply={detail.reply} /> : null}
      </Tabs.Panel>
      <Tabs.Panel value="raw" p="md">
        <CodeBlock code={JSON.stringify(detail, null, 2)} language="json" label="All of it as JSON" />
      </Tabs.Panel>
    </Tabs>
  )
}

/** What it says. */
function Content({ detail: { entry, content, bodyDeletedAt } }: { readonly detail: LogDetail }) {
  if (content === null && bodyDeletedAt === null) return null
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="content">
      <Title order={2} id="content" mb="sm">
        Message
      </Title>
      {bodyDeletedAt === null ? (
        <div className={classes['bubble'] ?? ''}>
          {content?.fileName ? <FileName type={entry.type ?? 'document'} name={content.fileName} /> : null}
          {content?.text ? <Text style={{ whiteSpace: 'pre-wrap' }}>{content.text}</Text> : null}
          {content?.text || content?.fileName ? null : <Text c="dimmed">(empty)</Text>}
        </div>
      ) : (
        <Text size="sm" c="dimmed" component="div">
          Its content was deleted <TimeAgo at={bodyDeletedAt} />, when its retention time was over.
        </Text>
      )}
    </Paper>
  )
}

function factsOf({ message, short }: LogDetail): StateFacts {
  return { code: message?.code, mayHaveLeft: short === 'perhaps sent' }
}

/** Whether it was sent, why or why not, and what to do. */
function Result({ detail }: { readonly detail: LogDetail }) {
  const { entry, message, sentence, note } = detail
  const { group, icon, iconGroup = group } = displayOf(stateOf(entry), factsOf(detail))
  return (
    <ResultCard display={{ group: iconGroup, icon }} sentence={sentence}>
      {note === null ? null : <Text>{note}</Text>}
      <Errors detail={detail} />
      {message ? <Reasons message={message} /> : null}
      {message?.actions.includes('mark-arrived') ? (
        <Decide id={message.id} to={entry.to ?? ''} canSendAgain={message.actions.includes('send-again')} />
      ) : null}
    </ResultCard>
  )
}

/** Why a token is not valid is said above, and not to the caller. */
function Errors({ detail: { entry, nextSteps } }: { readonly detail: LogDetail }) {
  const isAboutToken = entry.status === 401
  return entry.errors.map(({ field, code, message }, index) => (
    <Cause
      key={`${code} ${field ?? ''} ${message}`}
      code={code}
      page="refusals"
      meaning={`${entry.summed ? '' : `${isAboutToken || field === null ? 'The reply says' : field}: `}${withoutMarks(message)}`}
      whatToDo={nextSteps[index] ?? null}
    />
  ))
}

function Reasons({ message }: { readonly message: NonNullable<LogDetail['message']> }) {
  const { code, cause, nextStep, quote, until, other } = message
  const { id: account } = useAccount()
  if (cause === null) return nextStep === '' ? null : <Text>{nextStep}</Text>
  return (
    <Cause code={code === 'reports_missing' ? null : code} meaning={cause} whatToDo={nextStep} quote={quote}>
      {/* The pace of its number: when its own turn comes stands in the cause. */}
      {until === null || code === 'pace' ? null : <GoesOn until={until} code={code ?? ''} />}
      <Group gap="md">
        {other === null ? null : (
          <TextLink to="/a/$account/developer/logs/$id" params={{ account, id: other }}>
            Open that message
          </TextLink>
        )}
        <NextPage message={message} />
      </Group>
    </Cause>
  )
}

const PAGES = {
  connections: ['/a/$account/connections', 'Open the connections'],
  recipients: ['/a/$account/settings/recipients', 'Open the block list'],
  inbox: ['/a/$account/sandbox', 'Open the sandbox inbox'],
} as const

/** The page on which the next step is done. */
function NextPage({ message: { opens, connection } }: { readonly message: NonNullable<LogDetail['message']> }) {
  const { id: account } = useAccount()
  if (opens === null) return null
  if (opens === 'connection')
    return (
      <TextLink to="/a/$account/connections/$id" params={{ account, id: connection.id }}>
        {`Open ${connection.number}`}
      </TextLink>
    )
  const [to, label] = PAGES[opens]
  return (
    <TextLink to={to} params={{ account }}>
      {label}
    </TextLink>
  )
}

function RequestPanel({
  request,
  deletedAt,
  status,
}: {
  readonly request: NonNullable<LogDetail['request']>
  readonly deletedAt: number | null
  readonly status: number | null
}) {
  const bodyNote =
    status === 401
      ? 'The body is not kept: without a valid token it is not read.'
      : 'The body is not kept: it was not read, or it is no text.'
  return (
    <Stack>
      <CodeBlock
        code={[`${request.method} ${request.url}`, ...headerLines(request.headers)].join('\n')}
        label="Request line and headers that are kept"
      />
      {request.body === null ? (
        <Text size="sm">
          {deletedAt === null ? (
            bodyNote
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
        <CodeBlock code={request.curl} language="bash" label="The same as curl, with your token in $NUNCIO_TOKEN" />
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
