import { Alert, Code, Modal, Stack, Title } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { nameActor } from '../../../src/format/name-actor.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { Breakable } from '../../components/breakable.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { localDateTime } from '../../components/instants.ts'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { DeliveryList, useDeliveries } from './delivery-list.tsx'
import { WebhookActions } from './webhook-actions.tsx'
import { WebhookBadge } from './webhook-badges.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { failingText, lastDayLabel, retriesText } from './webhook-labels.ts'

export function Webhook() {
  const { id = '' } = useParams({ strict: false })
  const { id: account } = useAccount()
  const [isEditing, setEditing] = useState(false)
  const deliveries = useDeliveries(id)
  // In one reply, so that its figures and its rows say the same.
  const webhook = deliveries.pages.map((page) => page.webhook).find((one) => one.id === id)
  return (
    <Page
      title="Webhook"
      detail={webhook?.url}
      back={
        <TextLink to="/a/$account/developer/webhooks" params={{ account }} size="sm" data-alone>
          Webhooks
        </TextLink>
      }
      actions={webhook ? <WebhookActions webhook={webhook} onEdit={() => setEditing(true)} /> : null}
    >
      {deliveries.problem && !webhook ? (
        <ProblemNote problem={deliveries.problem} title="This webhook could not be loaded" onRetry={deliveries.retry} />
      ) : webhook ? (
        <>
          <Notes webhook={webhook} />
          <WebhookFacts webhook={webhook} />
          <Stack gap="sm" component="section" aria-labelledby="deliveries">
            <Title order={2} id="deliveries">
              Deliveries
            </Title>
            <DeliveryList webhook={webhook} source={deliveries} />
          </Stack>
          <EditDialog webhook={webhook} isOpen={isEditing} onClose={() => setEditing(false)} />
        </>
      ) : null}
    </Page>
  )
}

function Notes({ webhook }: { readonly webhook: WebhookReply }) {
  const { state, stateReason, isFailing, lastFailure } = webhook
  const retries = retriesText(webhook)
  if (state === 'failing')
    return (
      <Alert color="red" variant="light" icon={<TriangleAlert aria-hidden />} title="It was disabled by itself">
        {stateReason} Fix the receiver, then enable it again and replay what failed.
      </Alert>
    )
  if (state === 'enabled' && isFailing)
    return (
      <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="Every try fails">
        {failingText(webhook)} {lastFailure === null ? null : `${lastFailure.sentence} ${lastFailure.nextStep}`}{' '}
        {retries} After three days without success the webhook is disabled by itself.
      </Alert>
    )
  if (state === 'enabled' && retries !== null)
    return (
      <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="Some deliveries failed so far">
        {retries}
      </Alert>
    )
  return null
}

function WebhookFacts({ webhook }: { readonly webhook: WebhookReply }) {
  const rows: readonly (readonly [string, React.ReactNode])[] = [
    ['State', <WebhookBadge key="state" webhook={webhook} />],
    ['Description', webhook.description || '—'],
    ['Last 24 hours', lastDayLabel(webhook)],
    [
      'Last delivered',
      webhook.lastDeliveredAt === null ? 'Never' : <TimeAgo key="last" at={webhook.lastDeliveredAt} />,
    ],
    ['Dropped (queue full)', String(webhook.dropped)],
    ['Notices', <Kinds key="kinds" kinds={webhook.kinds} />],
    ['Added', `${localDateTime(webhook.createdAt)} by ${nameActor(webhook.createdBy)}`],
    ...(webhook.oldSecretUntil === null
      ? []
      : ([['Old secret signs too', `until ${localDateTime(webhook.oldSecretUntil)}`]] as const)),
  ]
  return (
    <Facts isWide>
      {rows.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </Facts>
  )
}

function Kinds({ kinds }: { readonly kinds: readonly string[] }) {
  return kinds.map((kind) => (
    <Code key={kind} mr={4} style={{ display: 'inline-block' }}>
      <Breakable text={kind} />
    </Code>
  ))
}

interface EditDialogProps {
  readonly webhook: WebhookReply
  readonly isOpen: boolean
  readonly onClose: () => void
}

function EditDialog({ webhook, isOpen, onClose }: EditDialogProps) {
  const { id: account } = useAccount()
  const change = useApiMutation('changeWebhook')
  const { id, url, description, kinds } = webhook
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Change the webhook"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <WebhookForm
        initial={{ url, description, kinds }}
        submitLabel="Save"
        needsProof="if-due"
        onSubmit={(body) => change.mutateAsync({ params: { account, id }, body }).then(onClose)}
        onCancel={onClose}
      />
    </Modal>
  )
}
