import { Button, Group, Modal, Stack, Text, TextInput, Title, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation } from '../../api/queries.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useRuledForm } from '../../components/form.ts'
import { createPasskey, hasPasskeys } from '../../components/passkey-calls.ts'
import { useProof } from '../../components/proof.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { CodesDialog } from './recovery-codes.tsx'
import { SignInNote } from './sign-in-note.tsx'

type Passkey = ReplyFor<'readFactors'>['passkeys'][number]
/** Which passkey is being renamed or removed; `new`: one is being added. */
type Doing = 'new' | { readonly rename: Passkey } | { readonly remove: Passkey } | null

export function Passkeys({ passkeys }: { readonly passkeys: readonly Passkey[] }) {
  const [doing, setDoing] = useState<Doing>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  return (
    <Stack gap="xs" align="flex-start">
      <Title order={3}>Passkeys</Title>
      <Text size="sm" c="dimmed">
        {hasPasskeys()
          ? 'Your device knows you by finger, face or PIN: one touch signs you in, with nothing to type.'
          : 'They need a console that is served by https under a name, or opened on the machine itself as localhost.'}
      </Text>
      {passkeys.map((passkey) => (
        <Group key={passkey.id} gap="sm">
          <Text size="sm" fw={500}>
            {passkey.name}
          </Text>
          <Text size="xs" c="dimmed" component="div">
            added <TimeAgo at={passkey.createdAt} />,{' '}
            {passkey.lastUsedAt === null ? (
              'never used'
            ) : (
              <>
                used <TimeAgo at={passkey.lastUsedAt} isQuiet />
              </>
            )}
          </Text>
          <Button variant="subtle" size="compact-sm" onClick={() => setDoing({ rename: passkey })}>
            Rename<VisuallyHidden component="span">&nbsp;{passkey.name}</VisuallyHidden>
          </Button>
          <Button variant="subtle" color="red" size="compact-sm" onClick={() => setDoing({ remove: passkey })}>
            Remove<VisuallyHidden component="span">&nbsp;{passkey.name}</VisuallyHidden>
          </Button>
        </Group>
      ))}
      {hasPasskeys() ? (
        <Button variant="default" onClick={() => setDoing('new')}>
          Add a passkey
        </Button>
      ) : null}
      <NameDialog doing={doing} onClose={() => setDoing(null)} onCodes={setCodes} />
      <RemoveDialog doing={doing} onClose={() => setDoing(null)} />
      {codes ? <CodesDialog codes={codes} onClose={() => setCodes(null)} /> : null}
    </Stack>
  )
}

interface DialogProps {
  readonly doing: Doing
  readonly onClose: () => void
}

function RemoveDialog({ doing, onClose }: DialogProps) {
  const remove = useApiMutation('removePasskey')
  const passkey = doing && doing !== 'new' && 'remove' in doing ? doing.remove : null
  return (
    <ConfirmDialog
      isOpen={passkey !== null}
      onClose={onClose}
      title={`Remove the passkey ${passkey?.name ?? ''}?`}
      confirmLabel="Remove passkey"
      needsProof="if-due"
      onConfirm={() => remove.mutateAsync({ params: { id: passkey?.id ?? '' } })}
    >
      <Text size="sm">It no longer signs you in. Your other sessions end. Remove it from your device, too.</Text>
    </ConfirmDialog>
  )
}

function NameDialog({
  doing,
  onClose,
  onCodes,
}: DialogProps & { readonly onCodes: (codes: readonly string[]) => void }) {
  const renamed = doing && doing !== 'new' && 'rename' in doing ? doing.rename : null
  const isOpen = doing === 'new' || renamed !== null
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={renamed ? 'Rename the passkey' : 'Add a passkey'}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {isOpen ? <NameForm renamed={renamed} onClose={onClose} onCodes={onCodes} /> : null}
    </Modal>
  )
}

interface NameFormProps {
  readonly renamed: Passkey | null
  readonly onClose: () => void
  readonly onCodes: (codes: readonly string[]) => void
}

function NameForm({ renamed, onClose, onCodes }: NameFormProps) {
  const form = useRuledForm(() => ({}), { name: renamed?.name ?? '' })
  const proof = useProof({ need: renamed ? 'never' : 'if-due', form })
  const [ask, add, rename] = [
    useApiMutation('requestNewPasskey'),
    useApiMutation('addPasskey'),
    useApiMutation('renamePasskey'),
  ]
  const act = async (name: string) => {
    if (renamed) return void (await rename.mutateAsync({ params: { id: renamed.id }, body: { name } }))
    await proof.prove()
    const { ticket, options } = await ask.mutateAsync({})
    const answer = await createPasskey(options)
    const { recoveryCodes } = await add.mutateAsync({ body: { ticket, answer, name } })
    showToast('Passkey added; your other sessions have ended')
    if (recoveryCodes) onCodes(recoveryCodes)
  }
  return (
    <form onSubmit={form.onSubmit(({ name }) => act(name).then(onClose))} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Such as the device it is on."
          maxLength={60}
          data-autofocus
          {...form.getInputProps('name')}
        />
        {proof.fields}
        <SignInNote problem={form.problem} />
        <Button type="submit" loading={form.submitting} disabled={!proof.isReady || form.values.name.trim() === ''}>
          {renamed ? 'Rename' : 'Go on'}
        </Button>
      </Stack>
    </form>
  )
}
