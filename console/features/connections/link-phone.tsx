import { Alert, Button, Group, Paper, RingProgress, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Info, Keyboard, QrCode } from 'lucide-react'
import { QRCodeSVG } from 'qrcode.react'
import { useEffect, useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import type { PhoneRequestKind, PhoneRequestView } from '../../../src/contract/console/phone.ts'
import { call } from '../../api/call.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { nameText, waitingText } from './connection-labels.ts'
import { countdownText } from './countdown-text.ts'
import classes from './link-phone.module.css'
import { LinkSteps } from './link-steps.tsx'

type LinkKind = Extract<PhoneRequestKind, 'qr' | 'code'>

// As often as the server writes what happens.
const WATCHED_EVERY_MS = 1_500

/** Links a number to its phone. In a hidden tab it is not watched, so it ends there after a minute. */
export function LinkPhone() {
  const { id = '' } = useParams({ strict: false })
  const { id: account, can } = useAccount()
  const asked = useApiQuery('readConnection', { params: { account, id } })
  const connection = asked.data
  return (
    <Page
      title={connection ? `Link ${connection.number} to its phone` : 'Link a phone'}
      back={
        <TextLink to="/a/$account/connections/$id" params={{ account, id }} size="sm" data-alone>
          {connection?.number ?? 'Connection'}
        </TextLink>
      }
      {...(connection ? { badge: <Named connection={connection} /> } : {})}
    >
      {connection && !can('developer') ? (
        <Alert color="yellow" variant="light" title="You may not link phones">
          Viewers cannot link phones; developers and owners can. Ask an owner of this account for another role.
        </Alert>
      ) : connection ? (
        <Linking key={id} connection={connection} />
      ) : asked.error ? (
        <ProblemNote problem={asked.error} onRetry={() => void asked.refetch()} />
      ) : null}
    </Page>
  )
}

function Named({ connection }: { readonly connection: ConnectionView }) {
  const { waiting } = connection
  return (
    <Text size="sm" c="dimmed">
      {`${nameText(connection)} · ${waiting.count > 0 ? waitingText(waiting) : 'nothing waits'}`}
    </Text>
  )
}

function Linking({ connection }: { readonly connection: ConnectionView }) {
  const { id: account } = useAccount()
  const { id } = connection
  const [kind, setKind] = useState<LinkKind>('qr')
  const begin = useApiMutation('requestPhone')
  const [request, setRequest] = useState<PhoneRequestView | null>(null)
  const start = (wanted: LinkKind) => {
    setKind(wanted)
    setRequest(null)
    begin.mutate({ params: { account, id }, body: { kind: wanted } }, { onSuccess: setRequest })
  }
  // Once, when the page is opened.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `start` is another function in each render
  useEffect(() => start('qr'), [])
  const params = { account, id, request: request?.id ?? '' }
  const watched = useApiQuery(
    'watchPhone',
    { params },
    { enabled: request !== null && request.end === null, everyMs: WATCHED_EVERY_MS, isLast: hasEnded, isLive: false },
  )
  const current = watched.data?.id === request?.id ? (watched.data ?? request) : request
  useCancelOnLeaving(current, { account, id })
  const problem = begin.error ?? watched.error
  if (problem)
    return <ProblemNote problem={problem} title="The phone cannot be linked now" onRetry={() => start(kind)} />
  if (current?.end) return <Ended connection={connection} end={current.end} kind={kind} onStart={start} />
  return (
    <Paper withBorder p={{ base: 'sm', sm: 'lg' }} maw={1000}>
      <div className={classes['columns']}>
        <Stack gap="md" align="flex-start">
          <SegmentedControl
            size="xs"
            aria-label="How to link"
            value={kind}
            onChange={(next) => start(next)}
            disabled={current?.state === 'confirmed' || current?.state === 'logging-in'}
            data={[
              { value: 'qr', label: <Choice icon={<QrCode size={14} aria-hidden />} text="QR code" /> },
              { value: 'code', label: <Choice icon={<Keyboard size={14} aria-hidden />} text="Code instead" /> },
            ]}
          />
          <Code request={current} kind={kind} number={connection.number} />
        </Stack>
        <LinkSteps connection={connection} kind={kind} request={current} />
      </div>
    </Paper>
  )
}

function hasEnded({ end }: PhoneRequestView): boolean {
  return end !== null
}

function Choice({ icon, text }: { readonly icon: React.ReactNode; readonly text: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      {icon}
      {text}
    </Group>
  )
}

/** Leaving the page ends it at once, unless the phone has confirmed it. */
function useCancelOnLeaving(
  request: PhoneRequestView | null,
  { account, id }: { readonly account: string; readonly id: string },
): void {
  const open = request !== null && request.end === null ? request.id : null
  useEffect(() => {
    if (open === null) return
    return () => {
      // When it fails, it ends by itself after a minute.
      call('cancelPhone', { params: { account, id, request: open } }).catch(() => {})
    }
  }, [open, account, id])
}

interface CodeProps {
  readonly request: PhoneRequestView | null
  readonly kind: LinkKind
  readonly number: string
}

function Code({ request, kind, number }: CodeProps) {
  const code = request?.code ?? null
  const isConfirmed = request?.state === 'confirmed' || request?.state === 'logging-in'
  return (
    <>
      <div className={classes['frame']} data-kind={kind}>
        {code === null ? (
          <Text size="sm" ta="center">
            {isConfirmed ? 'The phone has confirmed it.' : 'The code comes in a moment…'}
          </Text>
        ) : kind === 'qr' ? (
          <QRCodeSVG value={code} size={264} marginSize={0} title={`QR code that links ${number} to its phone`} />
        ) : (
          <TypedCode code={code} />
        )}
      </div>
      {request?.shown && code !== null ? <Countdown key={code} shown={request.shown} /> : null}
    </>
  )
}

function TypedCode({ code }: { readonly code: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Text component="output" aria-label="Code to type into the phone" className={classes['code']}>
        {`${code.slice(0, 4)}-${code.slice(4)}`}
      </Text>
      <CopyButton value={code} label="Copy the code" />
    </Group>
  )
}

/** By the browser's clock, from when the code came. */
function Countdown({ shown }: { readonly shown: NonNullable<PhoneRequestView['shown']> }) {
  const [begun] = useState(() => ({ at: Date.now(), validMs: shown.validMs }))
  const [now, setNow] = useState(begun.at)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const left = Math.max(0, Math.ceil((begun.at + begun.validMs - now) / 1_000))
  const share = begun.validMs === 0 ? 0 : Math.min(100, (left * 100_000) / begun.validMs)
  const hasNext = shown.number < shown.of
  return (
    <Group gap="xs" wrap="nowrap">
      <RingProgress
        size={40}
        thickness={4}
        sections={[{ value: share, color: 'blue' }]}
        label={
          <Text size="xs" ta="center" fw={600}>
            {left}
          </Text>
        }
        aria-hidden
      />
      <div>
        <Text size="sm" fw={600}>
          {countdownText(shown, left)}
        </Text>
        {shown.of > 1 ? (
          <Text size="sm" c="dimmed">
            {`Code ${shown.number} of ${shown.of}. ${hasNext ? 'It is replaced by itself.' : 'It is the last one.'}`}
          </Text>
        ) : null}
      </div>
    </Group>
  )
}

interface EndedProps {
  readonly connection: ConnectionView
  readonly end: NonNullable<PhoneRequestView['end']>
  readonly kind: LinkKind
  readonly onStart: (kind: LinkKind) => void
}

function Ended({ connection, end, kind, onStart }: EndedProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const open = () => void navigate({ to: '/a/$account/connections/$id', params: { account, id: connection.id } })
  return (
    <Paper withBorder p="xl" maw={1000} role="status">
      <Stack align="center" gap="sm" ta="center">
        <Title order={2}>{end.isDone ? 'The phone is linked' : 'The phone was not linked'}</Title>
        <Text size="sm" maw={520}>
          {end.sentence}
        </Text>
        {end.nextStep === null ? null : (
          <Text size="sm" maw={520}>
            {end.nextStep}
          </Text>
        )}
        {end.isDone || end.code === 'login-pending' ? (
          <Button onClick={open}>Show the connection</Button>
        ) : (
          <Group gap="xs" justify="center">
            <Button onClick={() => onStart(kind)}>{end.code === 'expired' ? 'Show new codes' : 'Try again'}</Button>
            {kind === 'code' ? (
              <Button variant="default" onClick={() => onStart('qr')}>
                Show a QR code
              </Button>
            ) : null}
          </Group>
        )}
        {connection.waiting.count > 0 && !end.isDone ? (
          <Alert variant="light" color="gray" icon={<Info aria-hidden />}>
            {`${waitingText(connection.waiting)}. Nothing is lost.`}
          </Alert>
        ) : null}
      </Stack>
    </Paper>
  )
}
