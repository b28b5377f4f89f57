import { Alert, Paper } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { ShownSecretReply } from '../../../src/contract/console/webhooks.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ShownSecret } from './shown-secret.tsx'
import { WebhookForm } from './webhook-form.tsx'

const FIRST_KINDS = ['message.failed', 'message.unconfirmed', 'message.expired']

export function NewWebhook() {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const create = useApiMutation('createWebhook')
  const [shown, setShown] = useState<ShownSecretReply | null>(null)
  const toList = () => void navigate({ to: '/a/$account/developer/webhooks', params: { account } })
  return (
    <Page
      title="Add webhook"
      back={
        <TextLink to="/a/$account/developer/webhooks" params={{ account }} size="sm" data-alone>
          Webhooks
        </TextLink>
      }
    >
      {can('developer') ? (
        <Paper withBorder p="lg" maw={720}>
          <WebhookForm
            initial={{ url: '', description: '', kinds: FIRST_KINDS }}
            submitLabel="Add webhook"
            note="At first, only what went wrong is chosen."
            onSubmit={(body) => create.mutateAsync({ params: { account }, body }).then(setShown)}
            onCancel={toList}
          />
        </Paper>
      ) : (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="You may not add webhooks">
          Viewers cannot add webhooks; developers and owners can. Ask an owner of this account for another role.
        </Alert>
      )}
      {shown ? (
        <ShownSecret
          secret={shown.secret}
          onClose={() =>
            void navigate({ to: '/a/$account/developer/webhooks/$id', params: { account, id: shown.details.id } })
          }
        />
      ) : null}
    </Page>
  )
}
