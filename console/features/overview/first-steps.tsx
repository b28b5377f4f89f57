import { Box, Button, Group, Loader, Paper, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { Check } from 'lucide-react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { SERVICE_PATH } from '../../app/service-path.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ButtonLink, TextLink } from '../../components/links.tsx'
import { showErrorToast } from '../../components/toast.ts'
import { TokenVariable } from '../../components/token-variable.tsx'
import { SNIPPETS } from '../quickstart/snippets.ts'
import classes from './first-steps.module.css'

type Steps = NonNullable<OverviewReply['firstSteps']>

interface Step {
  readonly key: Exclude<keyof Steps, 'byFirstStart'>
  readonly title: string
  readonly text: string
  readonly to: string
  readonly label: string
}

const STEPS: readonly Step[] = [
  {
    key: 'connection',
    title: 'Add a connection',
    text: 'The number that messages are sent from. A sandbox number behaves like a real one, and nothing leaves this machine.',
    to: '/a/$account/connections/new',
    label: 'Add a connection',
  },
  {
    key: 'token',
    title: 'Create an API token',
    text: 'Your program sends it with each call. It is shown once, when it is created.',
    to: '/a/$account/developer/tokens/new',
    label: 'Create a token',
  },
  {
    key: 'message',
    title: 'Send a message',
    text: 'From your terminal, or from here.',
    to: '/a/$account/developer/quickstart',
    label: 'Open the quickstart',
  },
]

const SEE_IT: Partial<Step> = {
  title: 'See what became of it',
  text: 'Your first message was accepted. The API log shows whether it was sent, delivered and read, or why not. The sandbox inbox shows it as the recipient would see it.',
  to: '/a/$account/developer/logs',
  label: 'Open the API log',
}

/**
 * The steps to a new account's first message. Each is ticked off by itself. They disappear once a message was opened in the
 * log.
 */
export function FirstSteps({ steps }: { readonly steps: Steps }) {
  const { can } = useAccount()
  // A sent message proves a connection and a token, and is still to be opened.
  const done = steps.message ? { ...steps, connection: true, token: true, message: false } : steps
  const next = STEPS.find(({ key }) => !done[key])
  return (
    <Stack gap="xs" component="section" aria-labelledby="first-steps" maw={860}>
      <Title order={2} id="first-steps">
        Send your first message
      </Title>
      <VisuallyHidden role="status">{`${STEPS.filter(({ key }) => done[key]).length} of 3 steps done`}</VisuallyHidden>
      <Paper withBorder>
        <ol className={classes['steps']}>
          {STEPS.map((step, at) => (
            <li key={step.key} data-step={step.key} data-done={done[step.key]} data-next={step === next}>
              <StepLine
                number={at + 1}
                step={step.key === 'message' && steps.message ? { ...step, ...SEE_IT } : step}
                isDone={done[step.key]}
                isByFirstStart={step.key !== 'message' && steps.byFirstStart[step.key]}
                isNext={step === next && can('developer')}
                isTokenByFirstStart={steps.byFirstStart.token}
                hasSent={steps.message}
              />
            </li>
          ))}
        </ol>
      </Paper>
      {can('developer') ? <Hide /> : null}
    </Stack>
  )
}

interface StepLineProps {
  readonly number: number
  readonly step: Step
  readonly isDone: boolean
  readonly isByFirstStart: boolean
  readonly isNext: boolean
  readonly isTokenByFirstStart: boolean
  readonly hasSent: boolean
}

/** A step that is done is one line; only the next one has its text and its button. */
function StepLine({ number, step, isDone, isByFirstStart, isNext, isTokenByFirstStart, hasSent }: StepLineProps) {
  const { id: account } = useAccount()
  const isSending = step.key === 'message' && !hasSent
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <span className={classes['number']} aria-hidden>
        {isDone ? <Check size={16} /> : number}
      </span>
      <Box style={{ flex: 1, minWidth: 0 }}>
        <Text fw={600}>
          {step.title}
          <VisuallyHidden>{isDone ? ': done' : ': still to do'}</VisuallyHidden>
        </Text>
        {isDone && !isByFirstStart ? null : (
          <Text size="sm" c="dimmed">
            {isDone ? 'Made for you at the first start.' : step.text}
          </Text>
        )}
        {isNext ? (
          <Stack gap="xs" mt="xs">
            {isSending ? <FirstCall isByFirstStart={isTokenByFirstStart} /> : null}
            <Group gap="sm">
              <ButtonLink to={step.to as never} params={{ account } as never} size="compact-md">
                {step.label}
              </ButtonLink>
              {isSending ? (
                <Group gap={8} wrap="nowrap">
                  <Loader size={14} aria-hidden />
                  <Text size="sm">Waiting for your first request. This page notices it by itself.</Text>
                </Group>
              ) : null}
            </Group>
          </Stack>
        ) : null}
      </Box>
    </Group>
  )
}

/** The call, with a number of this account. */
function FirstCall({ isByFirstStart }: { readonly isByFirstStart: boolean }) {
  const { id: account } = useAccount()
  const { data } = useApiQuery('listConnections', { params: { account }, query: {} })
  const from = data?.items[0]?.number ?? '15550001000'
  const endpoint = `${location.origin}${SERVICE_PATH}/chat/api/v1/public/message/send`
  const body = { from, to: '15551234567', message: { type: 'message', message: 'Hello from Nuncio' } }
  return (
    <>
      <CodeBlock code={SNIPPETS.curl.write(endpoint, body)} language="bash" label="Your first call" />
      <TokenVariable>
        {isByFirstStart
          ? 'The terminal printed your token when Nuncio first started.'
          : 'The console showed your token when it was created.'}{' '}
        Lost?{' '}
        <TextLink to="/a/$account/developer/tokens/new" params={{ account }} size="sm">
          Create another
        </TextLink>
      </TokenVariable>
    </>
  )
}

function Hide() {
  const { id: account } = useAccount()
  const note = useApiMutation('noteMessageSeen')
  return (
    <Text size="sm" c="dimmed">
      These steps stay until you have opened a message in the API log.{' '}
      <Button
        variant="transparent"
        size="compact-sm"
        px={0}
        td="underline"
        loading={note.isPending}
        onClick={() => void note.mutateAsync({ params: { account } }).catch(showErrorToast)}
      >
        Hide them now
      </Button>
    </Text>
  )
}
