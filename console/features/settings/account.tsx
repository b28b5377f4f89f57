import { Button, Code, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { useFormOf } from '../../components/form.ts'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'

type AccountSettings = ReplyFor<'readAccount'>

export function Account() {
  const { id, can } = useAccount()
  const settings = useApiQuery('readAccount', { params: { account: id } })
  return (
    <Page title="Account" about="What holds for everybody in this account.">
      {settings.error ? <ProblemNote problem={settings.error} onRetry={() => void settings.refetch()} /> : null}
      {settings.data ? (
        <>
          <Paper withBorder p="lg">
            <Stack gap="sm">
              <Title order={2}>Name</Title>
              {can('owner') ? <RenameForm {...settings.data} /> : <Text>{settings.data.name}</Text>}
              <Group gap="xs">
                <Text size="sm" c="dimmed" component="div">
                  Made <TimeAgo at={settings.data.createdAt} />. Its id, for the command line:
                </Text>
                <Code>{settings.data.id}</Code>
                <CopyButton value={settings.data.id} label="Copy the account's id" />
              </Group>
            </Stack>
          </Paper>
          <SecondFactor settings={settings.data} isOwner={can('owner')} />
        </>
      ) : null}
    </Page>
  )
}

function RenameForm({ id, name }: AccountSettings) {
  const form = useFormOf(peopleRoutes.renameAccount.body, { name })
  const rename = useApiMutation('renameAccount')
  const submit = form.onSubmit((body) =>
    rename.mutate(
      { params: { account: id }, body },
      { onSuccess: () => showToast('Account renamed'), onError: form.takeProblem },
    ),
  )
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={420} align="flex-start">
        <TextInput w="100%" label="Name of the account" autoComplete="off" {...form.getInputProps('name')} />
        {form.problem ? <ProblemNote problem={form.problem} title="The account was not renamed" /> : null}
        <Button type="submit" variant="default" loading={rename.isPending}>
          Rename
        </Button>
      </Stack>
    </form>
  )
}

function SecondFactor({ settings, isOwner }: { readonly settings: AccountSettings; readonly isOwner: boolean }) {
  const [isAsking, setAsking] = useState(false)
  const change = useApiMutation('requireSecondFactor')
  const isOn = settings.requiresSecondFactor
  const confirm = async () => {
    await change.mutateAsync({ params: { account: settings.id }, body: { isRequired: !isOn } })
    showToast(isOn ? 'A second factor is no longer required' : 'A second factor is required now')
  }
  return (
    <Paper withBorder p="lg">
      <Stack gap="sm" align="flex-start">
        <Group gap="xs">
          <Title order={2}>Second factor</Title>
          <GroupLabel group={isOn ? 'sent' : 'closed'}>{isOn ? 'required' : 'optional'}</GroupLabel>
        </Group>
        <Text size="sm" c="dimmed">
          When it is required, this account is closed to people without one until they have set one up.
        </Text>
        {isOwner ? (
          <Button variant="default" onClick={() => setAsking(true)}>
            {isOn ? 'Stop requiring it' : 'Require it'}
          </Button>
        ) : null}
        <ConfirmDialog
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          title={isOn ? 'Stop requiring a second factor?' : 'Require a second factor?'}
          confirmLabel={isOn ? 'Stop requiring it' : 'Require it'}
          needsProof="if-due"
          onConfirm={confirm}
          isDanger={false}
        >
          <Text size="sm">
            {isOn
              ? 'People may then belong to this account with a password alone.'
              : 'People without one see nothing of this account from now on, you too, until they have set one up under their own profile.'}
          </Text>
        </ConfirmDialog>
      </Stack>
    </Paper>
  )
}
