import { useState } from 'react'
import { CallProblem } from '../../api/call-problem.ts'
import { useAccount } from '../../components/account.tsx'
import { useTokenInHand } from '../../components/token-in-hand.ts'
import { type SendReply, send } from '../sandbox/send-request.ts'
import { bodyOf, type Draft, FIRST_DRAFT, type FieldProblems, type MessageKind, problemsOf } from './draft.ts'

interface SentOne {
  readonly number: number
  readonly to: string
  readonly reply: SendReply
}

export type Composing = ReturnType<typeof useComposing>

const NO_TOKEN = 'Paste a token that may send messages, or create one.'

/** The draft, its errors, and the reply to the last call. */
export function useComposing(type: MessageKind, firstSender: string) {
  const { id: account } = useAccount()
  const [token, setToken] = useTokenInHand(account)
  const [given, setDraft] = useState<Draft>(FIRST_DRAFT)
  const [problems, setProblems] = useState<FieldProblems>({})
  const [problem, setProblem] = useState<Error | null>(null)
  const [isSending, setSending] = useState(false)
  const [sent, setSent] = useState<SentOne | null>(null)
  const draft = given.from === '' ? { ...given, from: firstSender } : given
  const body = bodyOf(type, draft)

  const submit = async () => {
    const found = { ...problemsOf(body), ...(token ? {} : { token: NO_TOKEN }) }
    setProblems(found)
    setProblem(null)
    if (focusFirst(found) || !token) return
    setSending(true)
    try {
      const reply = await send(JSON.stringify(body), token)
      setSent((last) => ({ number: (last?.number ?? 0) + 1, to: draft.to, reply }))
      const refused = Object.fromEntries(reply.errors.map(({ field, message }) => [field ?? '', message]))
      setProblems(refused)
      focusFirst(refused)
    } catch (cause) {
      setProblem(unreachable(cause))
    } finally {
      setSending(false)
    }
  }
  return {
    type,
    draft,
    body,
    token,
    isSending,
    problem,
    sent,
    reason: reasonOf(sent),
    submit,
    setToken: (text: string) => {
      setProblems(without('token'))
      setToken(text === '' ? null : text)
    },
    write: (part: Partial<Draft>) => {
      setProblems({})
      setDraft((last) => ({ ...last, from: draft.from, ...part }))
    },
    problemAt: (field: string): string | null => problems[field] ?? null,
  }
}

/** What the reply says is wrong with the request as a whole, or with its token. */
function reasonOf(sent: SentOne | null): string {
  const errors = sent?.reply.errors.filter(({ field }) => field === null || field === 'x-api-key') ?? []
  return errors.map(({ message }) => message.replaceAll('`', '')).join(' ')
}

function without(field: string): (problems: FieldProblems) => FieldProblems {
  return ({ [field]: _, ...others }) => others
}

/** Focuses the first field with an error. True when there is one. */
function focusFirst(problems: FieldProblems): boolean {
  const first = [...document.querySelectorAll<HTMLElement>('[data-path]')].find(
    ({ dataset }) => problems[dataset['path'] ?? ''] !== undefined,
  )
  // After the errors are rendered, so that a screen reader finds the error of the field.
  setTimeout(() => first?.focus())
  return Object.keys(problems).length > 0
}

function unreachable(cause: unknown): Error {
  return new CallProblem({
    status: 0,
    code: 'unreachable',
    message:
      'The public endpoint cannot be reached. Check your network, or whether the service is running, and try again.',
    cause,
  })
}
