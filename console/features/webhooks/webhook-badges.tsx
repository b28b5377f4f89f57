import { Ban, CircleCheck, CircleX, Hourglass, TriangleAlert } from 'lucide-react'
import type { DeliveryRowReply, WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { GroupLabel } from '../../components/state-label.tsx'
import { deliveryGroup, deliveryLabel, STATE_LABELS } from './webhook-labels.ts'

const OF_WEBHOOK = {
  enabled: { group: 'sent', icon: CircleCheck },
  disabled: { group: 'closed', icon: Ban },
  failing: { group: 'notsent', icon: TriangleAlert },
} as const

export function WebhookBadge({ webhook: { state, isFailing } }: { readonly webhook: WebhookReply }) {
  if (state === 'enabled' && isFailing)
    return (
      <GroupLabel group="attend" icon={TriangleAlert}>
        Failing
      </GroupLabel>
    )
  const { group, icon } = OF_WEBHOOK[state]
  return (
    <GroupLabel group={group} icon={icon}>
      {STATE_LABELS[state]}
    </GroupLabel>
  )
}

const ICONS = { waiting: Hourglass, delivered: CircleCheck, failed: CircleX, dropped: Ban } as const

export function DeliveryBadge({ delivery }: { readonly delivery: Pick<DeliveryRowReply, 'state' | 'tries'> }) {
  const group = deliveryGroup(delivery)
  return (
    <GroupLabel group={group} icon={group === 'attend' ? TriangleAlert : ICONS[delivery.state]}>
      {deliveryLabel(delivery)}
    </GroupLabel>
  )
}
