import { Button, Checkbox, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { findEmailFault, findPasswordFault } from '../../../src/contract/console/form-rules.ts'
import { call, type ReplyFor } from '../../api/call.ts'
import { useCommandLine } from '../../api/use-command-line.ts'
import { useRuledForm } from '../../components/form.ts'
import { hasPasskeys, signInByPasskey } from '../../components/passkey-calls.ts'
import { Gate } from './gate.tsx'
import { SecondStep } from './second-step.tsx'
import { SignInNote } from './sign-in-note.tsx'
import { useEntry } from './use-entry.ts'

type Halfway = Extract<ReplyFor<'signIn'>, { step: 'second-factor' }>

export function SignIn() {
  const [halfway, setHalfway] = useState<Halfway | null>(null)
  const enter = useEntry()
  if (halfway) return <SecondStep {...halfway} onDone={enter} onBack={() => setHalfway(null)} />
  return (
    <Gate title="Sign in">
      <FirstStep onDone={enter} onHalfway={setHalfway} />
    </Gate>
  )
}

interface FirstStepProps {
  readonly onDone: () => void
  readonly onHalfway: (halfway: Halfway) => void
}

function FirstStep({ onDone, onHalfway }: FirstStepProps) {
  const commandLine = useCommandLine()
  const form = useRuledForm(findFaults, { email: '', password: '', keep: false })
  const [isBusy, setBusy] = useState(false)
  const attempt = async (act: () => Promise<void>) => {
    setBusy(true)
    try {
      await act()
    } catch (problem) {
      form.takeProblem(problem)
    } finally {
      setBusy(false)
    }
  }
  const signIn = form.onSubmit((body) =>
    attempt(async () => {
      const reply = await call('signIn', { body })
      if (reply.step === 'done') onDone()
      else onHalfway(reply)
    }),
  )
  return (
    <form onSubmit={signIn} noValidate>
      <Stack gap="sm">
        <TextInput label="E-mail" type="email" autoComplete="username" autoFocus {...form.getInputProps('email')} />
        <PasswordInput label="Password" autoComplete="current-password" {...form.getInputProps('password')} />
        <Checkbox
          label="Keep me signed in on this device"
          description="For 30 days, as long as you come by every two weeks."
          {...form.getInputProps('keep', { type: 'checkbox' })}
        />
        <SignInNote problem={form.problem} />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
        {hasPasskeys() ? (
          <>
            <Divider label="or" />
            <Button
              variant="default"
              leftSection={<KeyRound size={16} aria-hidden />}
              disabled={isBusy}
              onClick={() =>
                void attempt(async () => {
                  await signInByPasskey(form.getValues().keep)
                  onDone()
                })
              }
            >
              Sign in with a passkey
            </Button>
          </>
        ) : null}
        <Text size="xs" c="dimmed">
          Password lost? Ask the person who runs this service for a link:{' '}
          <code>{commandLine`user reset-password`}</code>.
        </Text>
      </Stack>
    </form>
  )
}

// Without zod, which would add a sixth to the code of the first view.
function findFaults({ email, password }: { readonly email: string; readonly password: string }) {
  return { email: findEmailFault(email.trim()), password: findPasswordFault(password) }
}
