import { Alert, Text } from '@mantine/core'
import { CallProblem } from '../../api/call-problem.ts'
import { ProblemNote } from '../../components/problem-note.tsx'

const PLAIN = new Set([
  'sign_in_failed',
  'sign_in_throttled',
  'code_wrong',
  'ticket_dead',
  'passwords_busy',
  'link_dead',
  'people_exist',
  'passkey_not_given',
])

/** The server's error message, with the request id only for errors that are in the log. */
export function SignInNote({ problem }: { readonly problem: Error | null }) {
  if (!problem) return null
  const isPlain = problem instanceof CallProblem && PLAIN.has(problem.code)
  if (!isPlain) return <ProblemNote problem={problem} title="This did not work" />
  return (
    <Alert color="red" variant="light" role="alert">
      <Text size="sm">{problem.message}</Text>
    </Alert>
  )
}
