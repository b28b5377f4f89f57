import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { CallProblem } from '../api/call-problem.ts'
import { CopyButton } from './copy-button.tsx'

interface ProblemNoteProps {
  readonly problem: Error
  /** The failed action: "The tokens could not be loaded". */
  readonly title?: string
  readonly onRetry?: (() => void) | undefined
}

/** Why loading or an action failed, what to do, and the id under which the server logged it. */
export function ProblemNote({ problem, title = 'This could not be loaded', onRetry }: ProblemNoteProps) {
  // A missing page is no error of the service, so its request id is of no use.
  const requestId = problem instanceof CallProblem && problem.status !== 404 ? problem.requestId : null
  return (
    <Alert color="red" variant="light" icon={<TriangleAlert aria-hidden />} title={title} role="alert">
      <Text size="sm">{sentenceOf(problem)}</Text>
      <Group mt="xs" gap="sm">
        {onRetry ? (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            Try again
          </Button>
        ) : null}
        {requestId ? (
          <Text size="xs" component="div">
            Request <Code>{requestId}</Code> <CopyButton value={requestId} label="Copy the request's id" />
          </Text>
        ) : null}
      </Group>
    </Alert>
  )
}

/** The message of a fault of ours does not help the person. */
function sentenceOf(problem: Error): string {
  if (problem instanceof CallProblem) return problem.message
  return 'Something in this page went wrong. Load it again. If it happens again, report it to the person who runs this service.'
}
