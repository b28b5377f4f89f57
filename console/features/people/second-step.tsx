import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { findCodeFault } from '../../../src/contract/console/form-rules.ts'
import { call, type ReplyFor } from '../../api/call.ts'
import { useRuledForm } from '../../components/form.ts'
import { hasPasskeys, signInByPasskey } from '../../components/passkey-calls.ts'
import { Gate } from './gate.tsx'
import { SignInNote } from './sign-in-note.tsx'

type SecondStepProps = Extract<ReplyFor<'signIn'>, { step: 'second-factor' }> & {
  readonly onDone: () => void
  readonly onBack: () => void
}

/** Asks for the second factor after the right password. */
export function SecondStep({ ticket, methods, onDone, onBack }: SecondStepProps) {
  const form = useRuledForm(({ code }) => ({ code: findCodeFault(code.trim()) }), { ticket, code: '' })
  const [isBusy, setBusy] = useState(false)
  const hasApp = methods.includes('totp')
  const attempt = async (act: () => Promise<unknown>) => {
    setBusy(true)
    try {
      await act()
      onDone()
    } catch (problem) {
      form.takeProblem(problem)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Gate title="One more step" about="Your account is protected by a second factor.">
      <form onSubmit={form.onSubmit((body) => attempt(() => call('finishSignIn', { body })))} noValidate>
        <Stack gap="sm">
          <TextInput
            label={hasApp ? 'Code of your app' : 'Recovery code'}
            description={hasApp ? 'Six digits. Without your phone, type one of your recovery codes.' : undefined}
            autoComplete="one-time-code"
            spellCheck={false}
            autoFocus
            {...form.getInputProps('code')}
          />
          <SignInNote problem={form.problem} />
          <Button type="submit" loading={isBusy}>
            Sign in
          </Button>
          <Group justify="space-between">
            <Button variant="subtle" size="compact-sm" onClick={onBack}>
              Begin again
            </Button>
            {methods.includes('passkey') && hasPasskeys() ? (
              <Button variant="default" disabled={isBusy} onClick={() => void attempt(() => signInByPasskey(false))}>
                Use a passkey
              </Button>
            ) : null}
          </Group>
        </Stack>
      </form>
    </Gate>
  )
}
