import { useState } from 'react'
import { plainNumber } from '../../../src/contract/field-rules.ts'
import { CallProblem } from '../../api/call-problem.ts'
import { useAccount } from '../../components/account.tsx'
import { useTokenInHand } from '../../components/token-in-hand.ts'
import { withoutMarks } from '../../components/without-marks.ts'
import { type SendReply, send } from '../sandbox/send-request.ts'
import { bodyOf, FIRST_DRAFT, faultsOf, type MessageKind, tokenFault } from './draft.ts'

/** Errors by field. */
type FieldProblems = Readonly<Record<string, string>>

interface SentOne {
  readonly number: number
  readonly to: string
  readonly reply: SendReply
  /** What was sent, with which token. */
  readonly call: string
}

export type Composing = ReturnType<typeof useComposing>

/** The draft, its errors, and the reply to the last call. */
export function useComposing(type: MessageKind, from: string) {
  const { id: account } = useAccount()
  const [token, setToken] = useTokenInHand(account)
  const [given, setDraft] = useState(FIRST_DRAFT)
  const [problems, setProblems] = useState<FieldProblems>({})
  const [problem, setProblem] = useState<Error | null>(null)
  const [isSending, setSending] = useState(false)
  const [sent, setSent] = useState<SentOne | null>(null)
  const draft = { ...given, from }
  const body = bodyOf(type, draft)
  const call = JSON.stringify([token, body])

  const show = (found: FieldProblems) => {
    setProblems(found)
    focusFirst(found)
  }
  const submit = async () => {
    setProblem(null)
    const fault = tokenFault(token)
    if (!token || fault) return show({ token: fault ?? '', ...byField(faultsOf(body)) })
    setSending(true)
    try {
      const reply = await send(body, token)
      setSent((last) => ({ number: (last?.number ?? 0) + 1, to: plainNumber(draft.to), reply, call }))
      show(byField(reply.errors))
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
    // After a change of the form, the reply to the call before would pass for the reply to the new one.
    sent: sent?.call === call ? sent : null,
    submit,
    setToken: (text: string) => {
      setProblems(without('token'))
      setToken(text === '' ? null : text)
    },
    write: (part: Partial<typeof FIRST_DRAFT>) => {
      setProblems({})
      setDraft((last) => ({ ...last, ...part }))
    },
    problemAt: (field: string): string | null => problems[field] ?? null,
  }
}

function byField(errors: SendReply['errors']): FieldProblems {
  return Object.fromEntries(errors.map(({ field, message }) => [field ?? '', withoutMarks(message)]))
}

function without(field: string): (problems: FieldProblems) => FieldProblems {
  return ({ [field]: _, ...others }) => others
}

/** Focuses the first field with an error. */
function focusFirst(problems: FieldProblems): void {
  const first = [...document.querySelectorAll<HTMLElement>('[data-path]')].find(
    ({ dataset }) => problems[dataset['path'] ?? ''] !== undefined,
  )
  // After the errors are rendered, so that a screen reader finds the error of the field.
  setTimeout(() => first?.focus())
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
