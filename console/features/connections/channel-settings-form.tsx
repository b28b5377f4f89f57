import { Fieldset, Paper, Stack } from '@mantine/core'
import { type ConnectionView, connectionRoutes } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { ChannelFields } from './channel-fields.tsx'
import { SaveBar } from './save-bar.tsx'

type Texts = Readonly<Record<string, string>>

/** The settings of a channel, from its description. A secret can be set but is never shown. */
export function ChannelSettingsForm({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const change = useApiMutation('changeChannelSettings')
  const form = useFormOf(connectionRoutes.changeChannelSettings.body, { settings: textsOf(connection) })
  const submit = form.onSubmit(({ settings }) => {
    const changed = onlyChanged(connection, settings)
    change.mutateAsync({ params: { account, id: connection.id }, body: { settings: changed } }).then((after) => {
      form.setInitialValues({ settings: textsOf(after) })
      form.reset()
      showToast(`Saved. It holds from the next message on.${alsoText(after.alsoChanged)}${notText(after.notChanged)}`)
    }, form.takeProblem)
  })
  return (
    <Paper withBorder p="lg" maw={860}>
      <form noValidate onSubmit={submit}>
        <Fieldset variant="unstyled" disabled={!can('developer')}>
          <Stack gap="lg">
            <ChannelFields settings={connection.channelSettings} bind={(name) => form.getInputProps(name)} />
            {form.problem ? <ProblemNote problem={form.problem} title="The settings were not saved" /> : null}
            {can('developer') ? (
              <SaveBar
                label="Save channel settings"
                changed={connection.channelSettings.flatMap(({ name, label }) =>
                  form.isDirty(`settings.${name}`) ? [label] : [],
                )}
                isSaving={change.isPending}
                onDiscard={form.reset}
              />
            ) : null}
          </Stack>
        </Fieldset>
      </form>
    </Paper>
  )
}

/** Connections that share a callback address also share its secret. */
function alsoText(numbers: readonly string[]): string {
  return numbers.length === 0 ? '' : ` The new callback secret is also that of ${numbers.join(', ')}.`
}

/** Connections of another app keep their secret, and so do those that could not be checked at the network. */
function notText(numbers: readonly string[]): string {
  return numbers.length === 0 ? '' : ` Unchanged, because the network did not confirm it: ${numbers.join(', ')}.`
}

function textsOf({ channelSettings }: ConnectionView): Record<string, string> {
  return Object.fromEntries(channelSettings.map(({ name, value }) => [name, value ?? '']))
}

/** An empty secret leaves it unchanged; any other empty text unsets the setting. */
function onlyChanged({ channelSettings }: ConnectionView, texts: Texts): Record<string, string> {
  const changed = channelSettings.filter(({ name, value }) => (texts[name] ?? '') !== (value ?? ''))
  return Object.fromEntries(changed.map(({ name }) => [name, texts[name] ?? '']))
}
