import { Button, Group, Stack, Text } from '@mantine/core'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { bodyOf, FIRST_DRAFT } from '../quickstart/draft.ts'
import { send } from '../sandbox/send-request.ts'
import { type Sent, SentNote } from '../sandbox/sent-note.tsx'

interface SendTestProps {
  readonly token: string
  /** Numbers it may send from. */
  readonly numbers: readonly string[]
}

/** Tries a token at once, where that costs nothing. Shown only if it may send from a sandbox number. */
export function SendTest({ token, numbers }: SendTestProps) {
  const { id: account } = useAccount()
  const { data } = useApiQuery('listSandboxes', { params: { account } })
  const [sent, setSent] = useState<Sent | null>(null)
  const [isSending, setSending] = useState(false)
  const [isUnreachable, setUnreachable] = useState(false)
  const from = data?.connections.find(({ number, state }) => state === 'active' && numbers.includes(number))?.number
  if (from === undefined) return null
  const sendIt = () => {
    setSending(true)
    setUnreachable(false)
    send(bodyOf('message', { ...FIRST_DRAFT, from }), token)
      .then(
        (reply) => setSent((last) => ({ number: (last?.number ?? 0) + 1, to: FIRST_DRAFT.to, reply })),
        () => setUnreachable(true),
      )
      .finally(() => setSending(false))
  }
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Button variant="default" leftSection={<Send size={16} aria-hidden />} loading={isSending} onClick={sendIt}>
          Send a test message
        </Button>
        <Text size="sm" c="dimmed">
          From the sandbox number {from}. It appears in the API log.
        </Text>
      </Group>
      {isUnreachable ? (
        <Text size="sm" role="alert">
          The service cannot be reached. Check your network, then try again.
        </Text>
      ) : null}
      {sent ? <SentNote key={sent.number} sent={sent} isReplyShown={false} /> : null}
    </Stack>
  )
}
