import { Button, Stack, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { call } from '../../api/call.ts'
import { useFormOf } from '../../components/form.ts'
import { ButtonLink } from '../../components/links.tsx'
import { Gate } from './gate.tsx'
import { LinkGate } from './link-gate.tsx'
import { NewPassword } from './new-password.tsx'
import { SignInNote } from './sign-in-note.tsx'

export function ResetPassword() {
  const { link = '' } = useParams({ strict: false })
  const [isDone, setDone] = useState(false)
  if (isDone)
    return (
      <Gate title="Your password is changed">
        <Text size="sm">All your sessions have ended. Sign in with the new password.</Text>
        <ButtonLink to="/sign-in">Sign in</ButtonLink>
      </Gate>
    )
  return (
    <LinkGate
      kind="reset-password"
      link={link}
      title="Choose a new password"
      about={({ email }) => (
        <>
          For <b>{email}</b>. All sessions end, on every device.
        </>
      )}
      otherwise="Ask the person who runs this service for a new link."
    >
      {({ email }) => <ResetForm link={link} email={email ?? ''} onDone={() => setDone(true)} />}
    </LinkGate>
  )
}

interface ResetFormProps {
  readonly link: string
  readonly email: string
  readonly onDone: () => void
}

function ResetForm({ link, email, onDone }: ResetFormProps) {
  const form = useFormOf(peopleRoutes.resetPassword.body, { link, password: '' })
  const reset = form.onSubmit(async (body) => {
    await call('resetPassword', { body })
    onDone()
  })
  return (
    <form onSubmit={reset} noValidate>
      <Stack gap="sm">
        {/* Password managers want to know whose password it is. */}
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <NewPassword label="New password" hasSecondFactor={null} autoFocus {...form.getInputProps('password')} />
        <SignInNote problem={form.problem} />
        <Button type="submit" loading={form.submitting}>
          Change password
        </Button>
      </Stack>
    </form>
  )
}
