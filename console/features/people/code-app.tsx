import { Box, Button, Code, Group, Modal, Stack, Text, TextInput, Title } from '@mantine/core'
import { QRCodeSVG } from 'qrcode.react'
import { useState } from 'react'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation } from '../../api/queries.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { CodesDialog } from './recovery-codes.tsx'

/** Six-digit codes from an app. */
export function CodeApp({ since }: { readonly since: number | null }) {
  const begin = useApiMutation('beginTotp')
  const remove = useApiMutation('removeTotp')
  const [begun, setBegun] = useState<ReplyFor<'beginTotp'> | null>(null)
  const [isRemoving, setRemoving] = useState(false)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const confirmed = (reply: ReplyFor<'confirmTotp'>) => {
    setBegun(null)
    setCodes(reply.recoveryCodes)
    showToast('Codes are asked for from now on; your other sessions have ended')
  }
  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="xs">
        <Title order={3}>App for codes</Title>
        {since === null ? null : <GroupLabel group="sent">on</GroupLabel>}
      </Group>
      <Text size="sm" c="dimmed" component="div">
        {since === null ? (
          'Any app that shows six digits every 30 seconds.'
        ) : (
          <>
            Set up <TimeAgo at={since} />.
          </>
        )}
      </Text>
      {begin.error ? <ProblemNote problem={begin.error} title="This could not begin" /> : null}
      <Group gap="xs">
        <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate({}, { onSuccess: setBegun })}>
          {since === null ? 'Set up an app' : 'Replace the app'}
        </Button>
        {since === null ? null : (
          <Button variant="subtle" color="red" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )}
      </Group>
      <Modal
        opened={begun !== null}
        onClose={() => setBegun(null)}
        title="Set up an app for codes"
        centered
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {begun ? <ConfirmApp {...begun} onDone={confirmed} /> : null}
      </Modal>
      <ConfirmDialog
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        title="Remove the app for codes?"
        confirmLabel="Remove app"
        needsProof="if-due"
        onConfirm={() => remove.mutateAsync({})}
      >
        <Text size="sm">
          Without another second factor your password alone opens your account, recovery codes go too, and accounts that
          require a second factor close to you. Your other sessions end.
        </Text>
      </ConfirmDialog>
      {codes ? <CodesDialog codes={codes} onClose={() => setCodes(null)} /> : null}
    </Stack>
  )
}

type ConfirmAppProps = ReplyFor<'beginTotp'> & { readonly onDone: (reply: ReplyFor<'confirmTotp'>) => void }

function ConfirmApp({ secret, uri, onDone }: ConfirmAppProps) {
  const form = useFormOf(peopleRoutes.confirmTotp.body, { code: '' })
  const confirm = useApiMutation('confirmTotp')
  const submit = form.onSubmit((body) => confirm.mutate({ body }, { onSuccess: onDone, onError: form.takeProblem }))
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <Text size="sm">1. Scan this with the app, or type the key into it.</Text>
        {/* Cameras want dark on light, whatever the colours of the page. */}
        <Box bg="white" p="md" mx="auto" w="fit-content">
          <QRCodeSVG value={uri} size={184} title="The key as a picture to scan" />
        </Box>
        <Group gap="xs" justify="center" wrap="nowrap">
          <Code data-totp-secret>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</Code>
          <CopyButton value={secret} label="Copy the key" />
        </Group>
        <TextInput
          label="2. Type the six digits that it shows"
          autoComplete="one-time-code"
          inputMode="numeric"
          spellCheck={false}
          data-autofocus
          {...form.getInputProps('code')}
        />
        {form.problem ? <ProblemNote problem={form.problem} title="The app was not confirmed" /> : null}
        <Button type="submit" loading={confirm.isPending}>
          Turn on
        </Button>
      </Stack>
    </form>
  )
}
