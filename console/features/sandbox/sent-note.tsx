import { Group, Paper, Stack, Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { HttpStatus } from '../../components/http-status.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { StateLabel } from '../../components/state-label.tsx'
import { withoutMarks } from '../../components/without-marks.ts'
import type { SendReply } from './send-request.ts'

export interface Sent {
  readonly number: number
  readonly to: string
  readonly reply: SendReply
}

/** The reply, and the state of the message since then: 200 only means accepted. */
export function SentNote({
  sent: { to, reply },
  isReplyShown = true,
}: {
  readonly sent: Sent
  readonly isReplyShown?: boolean
}) {
  const place = useRef<HTMLDivElement>(null)
  const id = reply.ids.at(-1)?.value
  // A person who sent it from further down the page must see the result.
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <Paper ref={place} withBorder p="sm" role="group" aria-label={`Sent to ${to}`}>
      <Stack gap="xs">
        <Group gap="sm">
          <Text size="sm" fw={600}>
            To <MaskedNumber number={to} />
          </Text>
          <HttpStatus status={reply.status} isNamed />
          {id === undefined ? null : <Timeline id={id} isAccepted={reply.status === 200} />}
        </Group>
        {reply.status === 200 ? null : <Text size="sm">Not accepted, so there is no message. {reasonOf(reply)}</Text>}
        {isReplyShown ? (
          <>
            <CodeBlock
              code={reply.ids.map(({ name, value }) => `${name}: ${value}`).join('\n')}
              label="Ids in the headers of the reply"
            />
            <CodeBlock code={reply.text} language="json" label="The body of the reply" maxHeight={260} />
          </>
        ) : null}
      </Stack>
    </Paper>
  )
}

function Timeline({ id, isAccepted }: { readonly id: string; readonly isAccepted: boolean }) {
  const { id: account } = useAccount()
  const found = useApiQuery('showLogEntry', { params: { account, id } })
  return (
    <>
      {found.data?.entry.state ? <StateLabel state={found.data.entry.state} /> : null}
      {isAccepted || found.data ? (
        <TextLink to="/a/$account/developer/logs/$id" params={{ account, id }} size="sm">
          Open in the API log
        </TextLink>
      ) : found.error?.code === 'request_unknown' ? (
        <Text size="sm">Not in the API log of this account</Text>
      ) : null}
      {found.data && isAccepted ? (
        <Text size="sm" w="100%" role="status">
          <Sentence text={[found.data.sentence, found.data.message?.cause].filter(Boolean).join(' ')} />
        </Text>
      ) : null}
    </>
  )
}

function reasonOf({ errors }: SendReply): string {
  return errors.map(({ message }) => withoutMarks(message)).join(' ')
}
