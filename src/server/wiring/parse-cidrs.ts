import type { Settings } from '../../config/read-settings.ts'
import { type AddressRange, parseAddressRange } from '../../core/media-address/ip-address.ts'
import type { OperatorRanges } from '../../core/media-address/check-url.ts'

/** Ranges of a setting, which has refused whatever is none. */
export function toRanges(texts: readonly string[]): readonly AddressRange[] {
  return texts.map(parseAddressRange).filter((range) => range !== null)
}

export function rangesOfMedia({ mediaAllowedPrivate, outboundRefused }: Settings): OperatorRanges {
  return { allowed: toRanges(mediaAllowedPrivate), refused: toRanges(outboundRefused) }
}

export function rangesOfWebhooks({ webhookAllowedPrivate, outboundRefused }: Settings): OperatorRanges {
  return { allowed: toRanges(webhookAllowedPrivate), refused: toRanges(outboundRefused) }
}
