import type { Settings } from '../../config/read-settings.ts'
import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import { type AddressRange, parseAddressRange } from '../../core/media-address/ip-address.ts'
import { sampleFiles } from './sample-files.ts'

/** The setting has refused texts that are no range already. */
export function parseCidrs(texts: readonly string[]): readonly AddressRange[] {
  return texts.map(parseAddressRange).filter((range) => range !== null)
}

export function rangesOfMedia(settings: Settings): OperatorRanges {
  const { mediaAllowedPrivate, outboundDeniedCidrs } = settings
  return {
    allowed: parseCidrs(mediaAllowedPrivate),
    refused: parseCidrs(outboundDeniedCidrs),
    samples: sampleFiles(settings),
  }
}

export function rangesOfWebhooks({ webhookAllowedPrivate, outboundDeniedCidrs }: Settings): OperatorRanges {
  return { allowed: parseCidrs(webhookAllowedPrivate), refused: parseCidrs(outboundDeniedCidrs) }
}
