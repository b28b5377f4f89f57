import { Alert, Anchor, Button, NativeSelect, Paper, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { Send } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { Sandbox } from '../../../src/contract/console/sandbox.ts'
import { plainNumber } from '../../../src/contract/field-rules.ts'
import { SAMPLES } from '../../../src/contract/samples.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { withAddress } from '../../components/file-name.ts'
import { SampleButton } from '../../components/sample-button.tsx'
import { TokenField } from '../../components/token-field.tsx'
import { useTokenInHand } from '../../components/token-in-hand.ts'
import { withoutMarks } from '../../components/without-marks.ts'
import { bodyOf, type Draft as Fields, faultsOf, type MessageKind, TYPES, tokenFault } from '../quickstart/draft.ts'
import { type Json, SNIPPETS } from '../quickstart/snippets.ts'
import classes from './sandbox.module.css'
import { SEND_PATH, type SendReply, send } from './send-request.ts'
import { type Sent, SentNote } from './sent-note.tsx'

interface ComposerProps {
  readonly connection: Sandbox
  /** The recipient whose chat is open. */
  readonly to: string | undefined
  /** Send at once to this recipient, each time the number changes. */
  readonly order: { readonly recipient: string; readonly number: number } | null
  readonly onSent: (recipient: string) => void
}

type Draft = Omit<Fields, 'from'> & { readonly type: MessageKind }

const EMPTY: Draft = { to: '', type: 'message', text: 'Hello from the sandbox', name: '', url: '', caption: '' }
const NOT_ACTIVE = {
  paused: 'This connection is paused: what you send waits until it is resumed.',
  removed: 'This connection was removed: the endpoint refuses what is sent from it.',
}

/** Under the chat. Sends through the public endpoint, like a program of the account, and shows the call and the reply. */
export function Composer({ connection, to, order, onSent }: ComposerProps) {
  const composing = useComposing(connection, to, onSent)
  const [isCallShown, setCallShown] = useState(false)
  const { draft, problem, isSending, sent } = composing
  useOrder(order, composing.sendTo)
  return (
    <Paper withBorder p="sm" component="section" aria-label="Send a message" className={classes['composer'] ?? ''}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void composing.submit(draft)
        }}
      >
        <Stack gap="xs">
          {connection.state === 'active' ? null : (
            <Alert color="yellow" variant="light">
              {NOT_ACTIVE[connection.state]}
            </Alert>
          )}
          {composing.hasToken ? null : (
            <TokenField
              ref={composing.tokenField}
              token={composing.token}
              error={composing.tokenError}
              onToken={composing.setToken}
            />
          )}
          {to === undefined ? <Recipient composing={composing} /> : null}
          {draft.type === 'message' ? null : <FileFields composing={composing} type={draft.type} />}
          <div className={classes['line']}>
            <NativeSelect
              aria-label="Type"
              value={draft.type}
              onChange={({ currentTarget }) => composing.write({ type: currentTarget.value as Draft['type'] })}
              data={TYPES}
            />
            <LastField composing={composing} to={to} />
            <Button type="submit" loading={isSending} leftSection={<Send size={16} aria-hidden />}>
              Send
            </Button>
          </div>
          {problem === null ? null : (
            <Alert color="red" variant="light" role="alert" title="It was not sent">
              {problem}
            </Alert>
          )}
          <Text size="xs" c="dimmed" component="div" className={classes['links'] ?? ''}>
            It goes through the public endpoint, like a call of your program.{' '}
            <Anchor
              component="button"
              type="button"
              size="xs"
              underline="always"
              onClick={() => setCallShown((is) => !is)}
            >
              {isCallShown ? 'Hide the call' : 'Show the call'}
            </Anchor>
            {composing.hasToken ? (
              <>
                {' · '}
                <Anchor component="button" type="button" size="xs" underline="always" onClick={composing.changeToken}>
                  Use another token
                </Anchor>
              </>
            ) : null}
          </Text>
          {sent ? <SentNote key={sent.number} sent={sent} isReplyShown={isCallShown} /> : null}
          {isCallShown ? (
            <Call body={bodyOf(draft.type, { ...draft, from: connection.number })} hasToken={composing.hasToken} />
          ) : null}
        </Stack>
      </form>
    </Paper>
  )
}

function Call({ body, hasToken }: { readonly body: Json; readonly hasToken: boolean }) {
  return (
    <>
      <CodeBlock
        code={SNIPPETS.curl.write(`${location.origin}${SEND_PATH}`, body)}
        language="bash"
        label="The call, as curl"
        maxHeight={260}
      />
      {hasToken ? (
        <Text size="xs" c="dimmed">
          $NUNCIO_TOKEN stands for your token, so that it is not visible to other people.
        </Text>
      ) : null}
    </>
  )
}

type Composing = ReturnType<typeof useComposing>

interface FieldsProps {
  readonly composing: Composing
}

function Recipient({ composing: { draft, fieldError, write } }: FieldsProps) {
  return (
    <TextInput
      label="To"
      inputMode="tel"
      placeholder="15551234567"
      value={draft.to}
      error={fieldError('to')}
      onChange={({ currentTarget }) => write({ to: currentTarget.value })}
    />
  )
}

/** The text of a message, or the caption of a file. */
function LastField({ composing, to }: FieldsProps & { readonly to: string | undefined }) {
  const { draft, fieldError, write } = composing
  if (draft.type === 'message') {
    return (
      <Textarea
        aria-label="Text"
        placeholder={to === undefined ? 'Message' : `Message to ${to}`}
        autosize
        maxRows={6}
        value={draft.text}
        error={fieldError('message.message')}
        onChange={({ currentTarget }) => write({ text: currentTarget.value })}
      />
    )
  }
  if (draft.type === 'audio') return <div />
  return (
    <TextInput
      aria-label="Caption"
      placeholder="Caption"
      value={draft.caption}
      error={fieldError('message.media.caption')}
      onChange={({ currentTarget }) => write({ caption: currentTarget.value })}
    />
  )
}

interface FileFieldsProps extends FieldsProps {
  readonly type: Exclude<Draft['type'], 'message'>
}

function FileFields({ composing: { draft, fieldError, write }, type }: FileFieldsProps) {
  const { id: account } = useAccount()
  const form = useApiQuery('describeTokenForm', { params: { account } })
  const example = SAMPLES[type]
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
      <TextInput
        label="Address of the file"
        description={
          <>
            Public, http or https. <SampleButton type={type} endpoint={form.data?.endpoint} onSample={write} />
          </>
        }
        placeholder={`https://files.example.com/${example}`}
        inputMode="url"
        value={draft.url}
        error={fieldError('message.media.url')}
        onChange={({ currentTarget }) => write(withAddress(draft, currentTarget.value))}
      />
      <TextInput
        label="File name"
        description="As the recipient sees it, with its extension."
        placeholder={example}
        value={draft.name}
        error={fieldError('message.media.name')}
        onChange={({ currentTarget }) => write({ name: currentTarget.value })}
      />
    </SimpleGrid>
  )
}

function useComposing(connection: Sandbox, to: string | undefined, onSent: (recipient: string) => void) {
  const { id: account } = useAccount()
  const [token, setToken] = useTokenInHand(account)
  // Once it was used, its field is out of the way.
  const [isTokenShown, setTokenShown] = useState(token === null)
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, to: to ?? '' })
  const [reply, setReply] = useState<SendReply | null>(null)
  const [tokenError, setTokenError] = useState<string | null>(null)
  const [isUnreachable, setUnreachable] = useState(false)
  const [isSending, setSending] = useState(false)
  const [sent, setSent] = useState<Sent | null>(null)
  const tokenField = useRef<HTMLInputElement>(null)
  // A person who opens a chat most likely wants to write to its recipient.
  useEffect(() => {
    if (to !== undefined) setDraft((last) => ({ ...last, to }))
  }, [to])

  const submit = async (typed: Draft) => {
    const wanted = { ...typed, to: plainNumber(typed.to) }
    const body = bodyOf(wanted.type, { ...wanted, from: connection.number })
    setReply(null)
    setUnreachable(false)
    const fault = tokenFault(token)
    if (!token || fault) {
      setTokenShown(true)
      setTokenError(fault)
      setReply({ status: 0, ids: [], text: '', errors: faultsOf(body) })
      tokenField.current?.focus()
      return
    }
    setSending(true)
    try {
      const answer = await send(body, token)
      setReply(answer)
      setSent((last) => ({ number: (last?.number ?? 0) + 1, to: wanted.to, reply: answer }))
      if (answer.status === 200) {
        setTokenShown(false)
        setDraft((last) => ({ ...last, text: '' }))
        onSent(wanted.to)
      } else if (answer.status === 401 || answer.status === 403) setTokenShown(true)
    } catch {
      setUnreachable(true)
    } finally {
      setSending(false)
    }
  }
  return {
    draft,
    token,
    hasToken: token !== null && !isTokenShown,
    changeToken: () => setTokenShown(true),
    tokenField,
    tokenError,
    isSending,
    sent,
    problem: isUnreachable
      ? 'The public endpoint cannot be reached. Check your network, or whether the service is running, and try again.'
      : null,
    fieldError: (field: string) => {
      const error = reply?.errors.find((one) => one.field === field)
      return error ? withoutMarks(error.message) : null
    },
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
