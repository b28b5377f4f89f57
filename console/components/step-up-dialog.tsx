import { Button, Group, Modal, PasswordInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../api/call.ts'
import { useApiQuery } from '../api/queries.ts'
import { ProblemNote } from './problem-note.tsx'

type Means = 'password' | 'code'

/** Asks for the password, or for a code or passkey of those who have one; the action continues when it is right. */
export function StepUpDialog({ onAnswer }: { readonly onAnswer: (proven: boolean) => void }) {
  const [means, setMeans] = useState<Means>('password')
  const [typed, setTyped] = useState('')
  const { isBusy, problem, attempt } = useAttempt(() => onAnswer(true))
  const { data: factors } = useApiQuery('readFactors', {})
  const hasCode = factors !== undefined && (factors.totpSince !== null || factors.recoveryCodesLeft > 0)
  const hasPasskey = factors !== undefined && factors.passkeys.length > 0 && 'PublicKeyCredential' in window
  const submit = (event: { readonly preventDefault: () => void }) => {
    event.preventDefault()
    void attempt(() => call('stepUp', { body: means === 'password' ? { password: typed } : { code: typed } }))
  }
  const change = (next: string) => {
    setMeans(next === 'code' ? 'code' : 'password')
    setTyped('')
  }
  return (
    <Modal
      opened
      onClose={() => onAnswer(false)}
      title="Confirm that it is you"
      centered
      zIndex={400}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm">Confirm your identity to continue. You are then not asked again for some minutes.</Text>
          {hasCode ? (
            <SegmentedControl
              aria-label="Confirm with"
              value={means}
              onChange={change}
              data={[
                { value: 'password', label: 'Password' },
                { value: 'code', label: 'Code' },
              ]}
            />
          ) : null}
          <Secret means={means} value={typed} onChange={setTyped} hasApp={factors?.totpSince != null} />
          {problem ? <ProblemNote problem={problem} title="This was not confirmed" /> : null}
          <Group justify="flex-end">
            {hasPasskey ? (
              <Button variant="subtle" disabled={isBusy} onClick={() => void attempt(proveByPasskey)}>
                Use a passkey
              </Button>
            ) : null}
            <Button variant="default" onClick={() => onAnswer(false)}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy} disabled={typed === ''}>
              Confirm
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface SecretProps {
  readonly means: Means
  readonly value: string
  readonly onChange: (value: string) => void
  readonly hasApp: boolean
}

function Secret({ means, value, onChange, hasApp }: SecretProps) {
  return means === 'password' ? (
    <PasswordInput
      key="password"
      label="Password"
      autoComplete="current-password"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data-autofocus
    />
  ) : (
    <TextInput
      key="code"
      label={hasApp ? 'Code of your app, or a recovery code' : 'Recovery code'}
      autoComplete="one-time-code"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

function useAttempt(onDone: () => void) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Error | null>(null)
  const attempt = async (act: () => Promise<unknown>) => {
    setBusy(true)
    setProblem(null)
    try {
      await act()
      onDone()
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)))
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, problem, attempt }
}

async function proveByPasskey(): Promise<void> {
  // The service is checked first, because a browser remembers an import that failed while the service was away.
  const { ticket, options } = await call('requestPasskeyStepUp', {})
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const optionsJSON = options as unknown as Parameters<typeof startAuthentication>[0]['optionsJSON']
  const answer = await startAuthentication({ optionsJSON })
  await call('stepUpByPasskey', { body: { ticket, answer: { ...answer } } })
}
