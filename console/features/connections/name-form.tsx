import { Fieldset, Paper, Stack, TextInput } from '@mantine/core'
import { type ConnectionView, connectionRoutes } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { SaveBar } from './save-bar.tsx'

export function NameForm({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const rename = useApiMutation('renameConnection')
  const form = useFormOf(connectionRoutes.renameConnection.body, { name: connection.name ?? '' })
  const submit = form.onSubmit((body) => {
    rename.mutateAsync({ params: { account, id: connection.id }, body }).then(({ number, name }) => {
      form.setInitialValues({ name: name ?? '' })
      form.reset()
      showToast(name === null ? `${number} has no name any more.` : `${number} is now called “${name}”.`)
    }, form.takeProblem)
  })
  return (
    <Paper withBorder p="lg" maw={860}>
      <form noValidate onSubmit={submit}>
        <Fieldset variant="unstyled" disabled={!can('developer')}>
          <Stack gap="lg">
            <TextInput
              aria-label="Name"
              description="Shown beside the number. Up to 60 characters; empty for none."
              placeholder="Front desk"
              autoComplete="off"
              {...form.getInputProps('name')}
            />
            {form.problem ? <ProblemNote problem={form.problem} title="The name was not changed" /> : null}
            {can('developer') ? (
              <SaveBar
                label="Save name"
                changed={form.isDirty('name') ? ['Name'] : []}
                isSaving={rename.isPending}
                onDiscard={form.reset}
              />
            ) : null}
          </Stack>
        </Fieldset>
      </form>
    </Paper>
  )
}
