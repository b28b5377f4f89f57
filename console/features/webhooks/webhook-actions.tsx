import { Button, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Pencil, Power, RefreshCw, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { localDateTime } from '../../components/instants.ts'
import { showToast } from '../../components/toast.ts'
import { ShownSecret } from './shown-secret.tsx'

interface WebhookActionsProps {
  readonly webhook: WebhookReply
  readonly onEdit: () => void
}

type Opened = 'rotate' | 'delete' | 'disable' | null

export function WebhookActions({ webhook, onEdit }: WebhookActionsProps) {
  const { id: account, can } = useAccount()
  const [opened, open] = useState<Opened>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const test = useApiMutation('testWebhook')
  const setState = useApiMutation('setWebhookState')
  if (!can('developer')) return null
  const params = { account, id: webhook.id }
  const isEnabled = webhook.state === 'enabled'
  const failed = (problem: Error) => showToast(problem.message, 'bad')
  const enable = () =>
    setState
      .mutateAsync({ params, body: { state: 'enabled' } })
      .then(() => showToast('The webhook is enabled. What waits is posted now.'), failed)
  return (
    <>
      <Button
        leftSection={<Send size={16} aria-hidden />}
        disabled={!isEnabled}
        loading={test.isPending}
        onClick={() => test.mutateAsync({ params }).then(() => showToast('A test is on its way.'), failed)}
      >
        Send a test
      </Button>
      <Button variant="default" leftSection={<Pencil size={16} aria-hidden />} onClick={onEdit}>
        Change
      </Button>
      <Button
        variant="default"
        leftSection={<Power size={16} aria-hidden />}
        // Disabling needs a confirmation, enabling does not.
        onClick={() => (isEnabled ? open('disable') : void enable())}
      >
        {isEnabled ? 'Disable' : 'Enable'}
      </Button>
      <Button variant="default" leftSection={<RefreshCw size={16} aria-hidden />} onClick={() => open('rotate')}>
        Rotate secret
      </Button>
      <Button variant="default" c="red" leftSection={<Trash2 size={16} aria-hidden />} onClick={() => open('delete')}>
        Delete
      </Button>
      <WebhookDialogs webhook={webhook} opened={opened} onClose={() => open(null)} onSecret={setSecret} />
      {secret === null ? null : <ShownSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  )
}

interface WebhookDialogsProps {
  readonly webhook: WebhookReply
  readonly opened: Opened
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}

/** The confirmation before a webhook is disabled, gets a new secret or is deleted. */
function WebhookDialogs({ webhook, opened, onClose, onSecret }: WebhookDialogsProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const setState = useApiMutation('setWebhookState')
  const rotate = useApiMutation('rotateWebhookSecret')
  const remove = useApiMutation('deleteWebhook')
  const params = { account, id: webhook.id }
  const endsEarlier = webhook.oldSecretUntil !== null
  return (
    <>
      <ConfirmDialog
        isOpen={opened === 'disable'}
        onClose={onClose}
        title="Disable this webhook?"
        confirmLabel="Disable"
        isDanger={false}
        onConfirm={() => setState.mutateAsync({ params, body: { state: 'disabled' } })}
      >
        <Text size="sm">Nothing is posted to it, and nothing new is kept for it, until it is enabled again.</Text>
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={opened === 'rotate'}
        onClose={onClose}
        title="Make a new secret?"
        confirmLabel="Make a new secret"
        needsProof="if-due"
        isDanger={endsEarlier}
        onConfirm={() => rotate.mutateAsync({ params, body: { endsEarlier } }).then((made) => onSecret(made.secret))}
      >
        <Text size="sm">For 24 hours both the new and the present one sign, so that no notice is missed.</Text>
        {webhook.oldSecretUntil === null ? null : (
          <Text size="sm" mt="sm">
            The one before them, which was to sign until {localDateTime(webhook.oldSecretUntil)}, ends at once: a
            receiver that still has it will refuse every notice.
          </Text>
        )}
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={opened === 'delete'}
        onClose={onClose}
        title="Delete this webhook?"
        confirmLabel="Delete webhook"
        needsProof="if-due"
        onConfirm={() =>
          remove
            .mutateAsync({ params })
            .then(() => void navigate({ to: '/a/$account/developer/webhooks', params: { account } }))
        }
      >
        <Text size="sm">
          Nothing more is posted to {webhook.url}, and its deliveries are forgotten. This cannot be undone.
        </Text>
      </ConfirmDialog>
    </>
  )
}
