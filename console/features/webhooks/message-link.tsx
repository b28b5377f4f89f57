import type { DeliveryRowReply } from '../../../src/contract/console/webhooks.ts'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'

interface MessageLinkProps {
  readonly account: string
  readonly message: NonNullable<DeliveryRowReply['message']>
}

/** To the message that a delivery is about, by its recipient. */
export function MessageLink({ account, message: { id, to } }: MessageLinkProps) {
  return (
    <TextLink to="/a/$account/developer/logs/$id" params={{ account, id }} size="sm">
      To <MaskedNumber number={to} />
    </TextLink>
  )
}
