import { PasswordInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { call, type ReplyFor } from '../api/call.ts'
import { CallProblem } from '../api/call-problem.ts'
import { useApiQuery } from '../api/queries.ts'
import type { useRuledForm } from './form.ts'
import { hasPasskeys, stepUpByPasskey } from './passkey-calls.ts'

// So that a confirmation does not end while a person reads the dialog.
const MARGIN_MS = 60_000

// A name of its own, because the page behind the dialog may have a field for a password, too.
const PATH = 'proof'

/** `if-due`: only if the person has not confirmed who they are within the last minutes. */
export type ProofNeed = 'never' | 'if-due' | 'always'
type Means = 'passkey' | 'password' | 'code'

interface Proof {
  /** Null while nothing is to be confirmed. */
  readonly fields: ReactNode
  readonly isReady: boolean
  /** Call it before the action. */
  readonly prove: () => Promise<void>
}

interface ProofOptions {
  readonly need: ProofNeed
  readonly form: Pick<ReturnType<typeof useRuledForm>, 'errors' | 'clearErrors'>
  /** True: no other field of the dialog comes before it. */
  readonly isFirst?: boolean
}

/** The fields by which a person confirms who they are, for the dialog of the action itself. */
export function useProof({ need, form, isFirst = false }: ProofOptions): Proof {
  const client = useQueryClient()
  const me = useApiQuery('currentSession', {}, { enabled: need === 'if-due' })
  const [isProven, setProven] = useState(false)
  const [chosen, setChosen] = useState<Means | null>(null)
  const [typed, setTyped] = useState('')
  const isOver = me.data !== undefined && me.data.provenUntil < Date.now() + MARGIN_MS
  const isDue = !isProven && (need === 'always' || (need === 'if-due' && isOver))
  const factors = useApiQuery('readFactors', {}, { enabled: isDue })
  const offered = meansOf(factors.data)
  const means = chosen ?? offered[0]?.value ?? 'password'
  const type = (text: string) => {
    setTyped(text)
    form.clearErrors()
  }
  const prove = async () => {
    if (!isDue) return
    if (means === 'passkey') await stepUpByPasskey()
    else await call('stepUp', { body: means === 'code' ? { code: typed } : { password: typed } }).catch(atThisField)
    setProven(true)
    void client.invalidateQueries({ queryKey: ['currentSession'] })
  }
  const field = {
    value: typed,
    onChange: (event: { readonly currentTarget: HTMLInputElement }) => type(event.currentTarget.value),
    'data-path': PATH,
    error: form.errors[PATH],
    autoFocus: isFirst,
  }
  return {
    isReady: !isDue || (!factors.isPending && (means === 'passkey' || typed !== '')),
    prove,
    fields:
      isDue && !factors.isPending ? (
        <Stack gap="xs">
          {offered.length > 1 ? (
            <SegmentedControl
              aria-label="Confirm with"
              value={means}
              onChange={(next) => {
                setChosen(next)
                type('')
              }}
              data={offered}
            />
          ) : null}
          {means === 'passkey' ? <Text size="sm">Your device asks for your passkey.</Text> : null}
          {means === 'password' ? (
            <PasswordInput label="Your password" autoComplete="current-password" {...field} />
          ) : null}
          {means === 'code' ? (
            <TextInput
              label={factors.data?.totpSince == null ? 'Recovery code' : 'Code of your app, or a recovery code'}
              autoComplete="one-time-code"
              {...field}
            />
          ) : null}
        </Stack>
      ) : null,
  }
}

function atThisField(error: unknown): never {
  if (!(error instanceof CallProblem)) throw error
  const { status, code, message, requestId } = error
  throw new CallProblem({
    status,
    code,
    message,
    requestId,
    fields: error.fields.map((one) => ({ ...one, field: PATH })),
  })
}

function meansOf(factors: ReplyFor<'readFactors'> | undefined): { readonly value: Means; readonly label: string }[] {
  if (!factors) return []
  const { passkeys, totpSince, recoveryCodesLeft } = factors
  return [
    ...(passkeys.length > 0 && hasPasskeys() ? [{ value: 'passkey' as const, label: 'Passkey' }] : []),
    { value: 'password', label: 'Password' },
    ...(totpSince !== null || recoveryCodesLeft > 0 ? [{ value: 'code' as const, label: 'Code' }] : []),
  ]
}
