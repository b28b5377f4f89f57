import { Button, Stack } from '@mantine/core'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { NewPassword } from './new-password.tsx'

export function PasswordForm({ email }: { readonly email: string }) {
  const form = useFormOf(peopleRoutes.changePassword.body, { password: '' })
  const change = useApiMutation('changePassword')
  const done = () => {
    form.reset()
    showToast('Password changed; your other sessions have ended')
  }
  const submit = form.onSubmit((body) => change.mutate({ body }, { onSuccess: done, onError: form.takeProblem }))
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={420} align="flex-start">
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <NewPassword w="100%" label="New password" {...form.getInputProps('password')} />
        {form.problem ? <ProblemNote problem={form.problem} title="The password was not changed" /> : null}
        <Button type="submit" variant="default" loading={change.isPending}>
          Change password
        </Button>
      </Stack>
    </form>
  )
}
