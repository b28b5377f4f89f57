import { Box, Group, List, Paper, Stack, Text, ThemeIcon, Title, VisuallyHidden } from '@mantine/core'
import { Check, Circle } from 'lucide-react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useAccount } from '../../components/account.tsx'
import { ButtonLink } from '../../components/links.tsx'

type Steps = NonNullable<OverviewReply['firstSteps']>

interface Step {
  readonly key: keyof Steps
  readonly title: string
  readonly text: string
  readonly to: string
  readonly label: string
}

const STEPS: readonly Step[] = [
  {
    key: 'connection',
    title: 'A connection',
    text: 'The number that messages go out from. A sandbox number needs nothing and sends nothing to the world.',
    to: '/a/$account/connections/new',
    label: 'Add a connection',
  },
  {
    key: 'token',
    title: 'A token',
    text: 'What your program shows with each call, so that it is let in.',
    to: '/a/$account/developer/tokens/new',
    label: 'Create a token',
  },
  {
    key: 'message',
    title: 'A message',
    text: 'One call. The quickstart writes it for you and sends it. Then see in the API log what became of it.',
    to: '/a/$account/developer/quickstart',
    label: 'Open the quickstart',
  },
]

const SEE_IT: Partial<Step> = {
  text: 'Your first message was accepted. Open it in the API log to see what became of it.',
  to: '/a/$account/developer/logs',
  label: 'Open the API log',
}

/** The steps to a new account's first message. Each is ticked off by itself; they disappear once a message was opened in the log. */
export function FirstSteps({ steps }: { readonly steps: OverviewReply['firstSteps'] }) {
  const { can } = useAccount()
  if (steps === null) return null
  // A sent message proves a connection and a token, and is still to be opened.
  const done: Steps = steps.message ? { connection: true, token: true, message: false } : steps
  const next = STEPS.find(({ key }) => !done[key])
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="first-steps">
      <Stack gap="sm">
        <Title order={2} id="first-steps">
          Three steps to the first message
        </Title>
        <VisuallyHidden role="status">{`${STEPS.filter(({ key }) => done[key]).length} of 3 steps done`}</VisuallyHidden>
        <List type="ordered" listStyleType="none" spacing="sm" withPadding={false}>
          {STEPS.map((step) => (
            <List.Item key={step.key} data-step={step.key} data-done={done[step.key]}>
              <StepLine
                step={step.key === 'message' && steps.message ? { ...step, ...SEE_IT } : step}
                isDone={done[step.key]}
                isNext={step === next && can('developer')}
              />
            </List.Item>
          ))}
        </List>
      </Stack>
    </Paper>
  )
}

function StepLine({
  step,
  isDone,
  isNext,
}: {
  readonly step: Step
  readonly isDone: boolean
  readonly isNext: boolean
}) {
  const { id: account } = useAccount()
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon variant={isDone ? 'filled' : 'light'} color={isDone ? 'green' : 'gray'} radius="xl" mt={2} aria-hidden>
        {isDone ? <Check size={16} /> : <Circle size={16} />}
      </ThemeIcon>
      <Box>
        <Text fw={600}>
          {step.title}
          <VisuallyHidden>{isDone ? ': done' : ': still to do'}</VisuallyHidden>
        </Text>
        <Text size="sm" c="dimmed">
          {step.text}
        </Text>
        {isNext ? (
          <ButtonLink to={step.to as never} params={{ account } as never} mt="xs" size="compact-md">
            {step.label}
          </ButtonLink>
        ) : null}
      </Box>
    </Group>
  )
}
