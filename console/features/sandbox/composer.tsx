import { Alert, Button, Group, NativeSelect, Paper, Stack, Text, Textarea, TextInput, Title } from '@mantine/core'
import { Send } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { Sandbox } from '../../../src/contract/console/sandbox.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { TokenField } from '../../components/token-field.tsx'
import { useTokenInHand } from '../../components/token-in-hand.ts'
import { typeWord } from './sandbox-labels.ts'
import { bodyOf, curlOf, type Draft, type SendReply, send } from './send-request.ts'
import { type Sent, SentNote } from './sent-note.tsx'

interface ComposerProps {
  readonly connection: Sandbox
  /** The recipient whose chat is open. */
  readonly to: string | undefined
  /** Send at once to this recipient, each time the number changes. */
  readonly order: { readonly recipient: string; readonly number: number } | null
  readonly onSent: (recipient: string) => void
}

const EMPTY: Draft = { to: '', type: 'message', text: 'Hello from the sandbox', name: '', url: '', caption: '' }
const TYPES: readonly Draft['type'][] = ['message', 'image', 'document', 'video', 'audio']
const NOTES_SHOWN = 4
const NOT_ACTIVE = {
  paused: 'This connection is paused: what you send waits until it is resumed.',
  removed: 'This connection was removed: the endpoint refuses what is sent from it.',
}

/** Sends through the public endpoint, like a program of the account, and shows the call and the reply. */
export function Composer({ connection, to, order, onSent }: ComposerProps) {
  const composing = useComposing(connection, to, onSent)
  const { draft, token, problem, fieldError, isSending, sent } = composing
  useOrder(order, composing.sendTo)
  const body = bodyOf(connection.number, draft)
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="composer">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void composing.submit(draft)
        }}
      >
        <Stack gap="sm">
          <div>
            <Title order={2} id="composer">
              Send a message
            </Title>
            <Text size="sm" c="dimmed">
              It goes through the public endpoint, like the calls of your program.
            </Text>
          </div>
          {connection.state === 'active' ? null : (
            <Alert color="yellow" variant="light">
              {NOT_ACTIVE[connection.state]}
            </Alert>
          )}
          <TokenField
            ref={composing.tokenField}
            token={composing.token}
            error={composing.tokenError}
            onToken={composing.setToken}
          />
          <Group grow align="flex-start" gap="sm">
            <TextInput
              label="To"
              inputMode="numeric"
              placeholder="15551234567"
              value={draft.to}
              error={fieldError('to')}
              onChange={({ currentTarget }) => composing.write({ to: currentTarget.value })}
            />
            <NativeSelect
              label="Type"
              value={draft.type}
              onChange={({ currentTarget }) => composing.write({ type: currentTarget.value as Draft['type'] })}
              data={TYPES.map((type) => ({ value: type, label: typeWord(type) }))}
            />
          </Group>
          <Content draft={draft} composing={composing} />
          {problem === null ? null : (
            <Alert color="red" variant="light" role="alert" title="It was not sent">
              {problem}
            </Alert>
          )}
          <Group>
            <Button type="submit" loading={isSending} leftSection={<Send size={16} aria-hidden />}>
              Send
            </Button>
          </Group>
          {sent.map((one) => (
            <SentNote key={one.number} sent={one} />
          ))}
          <CodeBlock code={curlOf(body)} language="bash" label="The call, as curl" maxHeight={260} />
          {token === null ? null : (
            <Text size="xs" c="dimmed">
              $API_TOKEN stands for your token, so that it is not visible to other people.
            </Text>
          )}
        </Stack>
      </form>
    </Paper>
  )
}

type Composing = ReturnType<typeof useComposing>

function Content({ draft, composing }: { readonly draft: Draft; readonly composing: Composing }) {
  const { fieldError, write } = composing
  if (draft.type === 'message') {
    return (
      <Textarea
        label="Text"
        rows={3}
        value={draft.text}
        error={fieldError('message.message')}
        onChange={({ currentTarget }) => write({ text: currentTarget.value })}
      />
    )
  }
  return (
    <>
      <TextInput
        label="Address of the file"
        description="Fetched from there before it is sent: a public http or https address."
        placeholder="https://files.example.com/invoice.pdf"
        inputMode="url"
        value={draft.url}
        error={fieldError('message.media.url')}
        onChange={({ currentTarget }) => write({ url: currentTarget.value })}
      />
      <TextInput
        label="File name"
        description="As the recipient sees it, with its extension."
        placeholder="invoice.pdf"
        value={draft.name}
        error={fieldError('message.media.name')}
        onChange={({ currentTarget }) => write({ name: currentTarget.value })}
      />
      {draft.type === 'audio' ? null : (
        <TextInput
          label="Caption"
          value={draft.caption}
          error={fieldError('message.media.caption')}
          onChange={({ currentTarget }) => write({ caption: currentTarget.value })}
        />
      )}
    </>
  )
}

function useComposing(connection: Sandbox, to: string | undefined, onSent: (recipient: string) => void) {
  const { id: account } = useAccount()
  const [token, setToken] = useTokenInHand(account)
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, to: to ?? '' })
  const [reply, setReply] = useState<SendReply | null>(null)
  const [tokenError, setTokenError] = useState<string | null>(null)
  const [isUnreachable, setUnreachable] = useState(false)
  const [isSending, setSending] = useState(false)
  const [sent, setSent] = useState<readonly Sent[]>([])
  const tokenField = useRef<HTMLInputElement>(null)
  // A person who opens a chat most likely wants to write to its recipient.
  useEffect(() => {
    if (to !== undefined) setDraft((last) => ({ ...last, to }))
  }, [to])

  const submit = async (wanted: Draft) => {
    setReply(null)
    setUnreachable(false)
    if (!token) {
      setTokenError('Paste a token that may send messages, or create one.')
      tokenField.current?.focus()
      return
    }
    setSending(true)
    try {
      const answer = await send(bodyOf(connection.number, wanted), token)
      setReply(answer)
      setSent((last) =>
        [{ number: (last[0]?.number ?? 0) + 1, to: wanted.to, reply: answer }, ...last].slice(0, NOTES_SHOWN),
      )
      if (answer.status === 200) onSent(wanted.to)
    } catch {
      setUnreachable(true)
    } finally {
      setSending(false)
    }
  }
  const known = new Set(['to', 'message.message', 'message.media.url', 'message.media.name', 'message.media.caption'])
  const elsewhere = reply?.errors.filter(({ field }) => field === null || !known.has(field)) ?? []
  return {
    account,
    draft,
    token,
    tokenField,
    tokenError,
    isSending,
    sent,
    problem: isUnreachable
      ? 'The public endpoint cannot be reached. Check your network, or whether the service is running, and try again.'
      : elsewhere.length > 0
        ? elsewhere.map(({ message }) => message).join(' ')
        : null,
    fieldError: (field: string) => reply?.errors.find((error) => error.field === field)?.message ?? null,
    setToken: (given: string) => {
      setTokenError(null)
      setToken(given === '' ? null : given)
    },
    write: (part: Partial<Draft>) => setDraft((last) => ({ ...last, ...part })),
    submit,
    sendTo: (recipient: string) => {
      const wanted: Draft = { ...EMPTY, to: recipient, text: draft.text.trim() === '' ? EMPTY.text : draft.text }
      setDraft(wanted)
      void submit(wanted)
    },
  }
}

/** Runs each order once. */
function useOrder(order: ComposerProps['order'], follow: (recipient: string) => void): void {
  const done = useRef(0)
  useEffect(() => {
    if (!order || order.number <= done.current) return
    done.current = order.number
    follow(order.recipient)
  }, [order, follow])
}
