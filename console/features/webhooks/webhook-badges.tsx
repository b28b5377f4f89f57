import { Ban, CircleCheck, CircleX, Hourglass, TriangleAlert } from 'lucide-react'
import type { DeliveryRowReply, WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { ToneBadge } from '../../components/state-badge.tsx'
import { DELIVERY_LABELS, STATE_LABELS } from './webhook-labels.ts'

const OF_WEBHOOK = {
  enabled: { tone: 'good', icon: CircleCheck },
  disabled: { tone: 'quiet', icon: Ban },
  failing: { tone: 'bad', icon: TriangleAlert },
} as const

export function WebhookBadge({ webhook: { state, failingSince } }: { readonly webhook: WebhookReply }) {
  if (state === 'enabled' && failingSince !== null)
    return (
      <ToneBadge tone="warn" icon={TriangleAlert}>
        Failing
      </ToneBadge>
    )
  const { tone, icon } = OF_WEBHOOK[state]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {STATE_LABELS[state]}
    </ToneBadge>
  )
}

const OF_DELIVERY = {
  waiting: { tone: 'busy', icon: Hourglass },
  delivered: { tone: 'good', icon: CircleCheck },
  failed: { tone: 'bad', icon: CircleX },
  dropped: { tone: 'bad', icon: Ban },
} as const

export function DeliveryBadge({ state }: { readonly state: DeliveryRowReply['state'] }) {
  const { tone, icon } = OF_DELIVERY[state]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {DELIVERY_LABELS[state]}
    </ToneBadge>
  )
}
