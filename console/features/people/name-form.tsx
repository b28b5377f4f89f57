import { Button, Stack, TextInput } from '@mantine/core'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'

export function NameForm({ name }: { readonly name: string }) {
  const form = useFormOf(peopleRoutes.changeOwnName.body, { name })
  const change = useApiMutation('changeOwnName')
  const submit = form.onSubmit((body) =>
    change.mutate({ body }, { onSuccess: () => showToast('Name changed'), onError: form.takeProblem }),
  )
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={420} align="flex-start">
        <TextInput w="100%" label="What others see" autoComplete="name" {...form.getInputProps('name')} />
        {form.problem ? <ProblemNote problem={form.problem} title="The name was not changed" /> : null}
        <Button type="submit" variant="default" loading={change.isPending}>
          Change name
        </Button>
      </Stack>
    </form>
  )
}
