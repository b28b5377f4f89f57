import { Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { SandboxCommandView } from '../../../src/contract/console/sandbox.ts'
import { withoutMarks } from '../../components/without-marks.ts'
import classes from './sandbox.module.css'

interface FailureCommandsProps {
  readonly commands: readonly SandboxCommandView[]
  readonly onTry: (recipient: string) => void
}

/** Recipients that fail on request, so that people can see every state without a real network. */
export function FailureCommands({ commands, onTry }: FailureCommandsProps) {
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="failure-commands">
      <Stack gap="sm">
        <div>
          <Title order={2} id="failure-commands">
            Recipients that fail on request
          </Title>
          <Text size="sm" c="dimmed">
            Every other number is simply delivered to.
          </Text>
        </div>
        <ul className={classes['commands'] ?? ''}>
          {commands.map(({ recipient, happens, ends }) => (
            <li key={recipient}>
              <Group justify="space-between" wrap="nowrap" gap="sm" align="flex-start">
                <div>
                  <Text size="sm" fw={600}>
                    <Code>{recipient}</Code> {happens}
                  </Text>
                  <Text size="xs" c="dimmed">
                    How it ends: {withoutMarks(ends)}
                  </Text>
                </div>
                <Button
                  variant="default"
                  size="compact-sm"
                  flex="none"
                  aria-label={`Send to ${recipient}: ${happens}`}
                  onClick={() => onTry(recipient)}
                >
                  Send
                </Button>
              </Group>
            </li>
          ))}
        </ul>
      </Stack>
    </Paper>
  )
}
