import { Alert, Button, Group, Paper, Radio, Stack, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { type ChannelView, connectionRoutes } from '../../../src/contract/console/connections.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ButtonLink, TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { ChannelFields } from './channel-fields.tsx'
import { ChannelNotes, MissingNote } from './channel-notes.tsx'

export function AddConnection() {
  const account = useAccount()
  const offer = useApiQuery('listChannels', { params: { account: account.id } }, { isLive: false })
  return (
    <Page
      title="Add connection"
      about="A number of yours that messages will be sent from."
      back={
        <TextLink to="/a/$account/connections" params={{ account: account.id }} size="sm" data-alone>
          Connections
        </TextLink>
      }
    >
      {account.can('developer') ? (
        offer.error ? (
          <ProblemNote problem={offer.error} onRetry={() => void offer.refetch()} />
        ) : offer.data ? (
          <AddForm channels={offer.data.channels} />
        ) : null
      ) : (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="You may not add connections">
          Viewers cannot add connections; developers and owners can. Ask an owner of this account for another role.
        </Alert>
      )}
    </Page>
  )
}

function AddForm({ channels }: { readonly channels: readonly ChannelView[] }) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const add = useApiMutation('addConnection')
  const form = useFormOf(connectionRoutes.addConnection.body, {
    number: '',
    channel: channels[0]?.name ?? '',
    settings: {},
  })
  const chosen = channels.find(({ name }) => name === form.values.channel)
  const [hasConsented, setConsented] = useState(false)
  const isBlocked = chosen !== undefined && (chosen.missing !== null || (chosen.warning !== null && !hasConsented))
  const submit = form.onSubmit((body) => {
    add.mutateAsync({ params: { account }, body }).then((made) => {
      showToast(`Added ${made.number}.`)
      // Where its callback address stands, which is the next thing to do.
      const search = made.callback === null ? {} : { tab: 'network' }
      if (made.phone) return navigate({ to: '/a/$account/connections/$id/link', params: { account, id: made.id } })
      return navigate({
        to: '/a/$account/connections/$id',
        params: { account, id: made.id },
        search: search as never,
      })
    }, form.takeProblem)
  })
  return (
    <Paper withBorder p="lg" maw={720}>
      <form noValidate onSubmit={submit}>
        <Stack gap="lg">
          <TextInput
            label="Number"
            description="With the country code, such as 15557654321."
            required
            autoFocus
            inputMode="tel"
            autoComplete="off"
            {...form.getInputProps('number')}
          />
          <Radio.Group
            label="Channel"
            description="The network that the number sends by."
            {...form.getInputProps('channel')}
            onChange={(channel: string) => form.setValues({ channel, settings: {} })}
          >
            <Stack gap="xs" mt="xs">
              {channels.map(({ name, label, description }) => (
                <Radio key={name} value={name} label={label} description={description} />
              ))}
            </Stack>
          </Radio.Group>
          {chosen ? <MissingNote {...chosen} /> : null}
          <ChannelFields
            settings={chosen?.settings ?? []}
            bind={(name) => ({
              ...form.getInputProps(name),
              value: form.values.settings?.[settingOf(name)] ?? '',
            })}
          />
          {chosen ? (
            <ChannelNotes
              channel={chosen}
              url={form.values.settings?.['url'] ?? ''}
              hasConsented={hasConsented}
              onConsent={setConsented}
            />
          ) : null}
          {form.problem ? <ProblemNote problem={form.problem} title="The connection was not added" /> : null}
          <Group justify="flex-end">
            <ButtonLink variant="default" to="/a/$account/connections" params={{ account }}>
              Cancel
            </ButtonLink>
            <Button type="submit" loading={add.isPending} disabled={isBlocked}>
              Add connection
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  )
}

function settingOf(field: string): string {
  return field.slice('settings.'.length)
}
