import { join } from 'node:path'
import { assetPath } from '../../assets/asset-path.ts'
import type { Settings } from '../../config/read-settings.ts'
import { SAMPLES, SAMPLES_PATH } from '../../contract/samples.ts'
import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import { type AddressRange, parseAddressRange } from '../../core/media-address/ip-address.ts'

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

/**
 * Files to try each type of message with, for a person who has none on a public server: address and path. They are among the
 * documents that the service serves.
 */
export function sampleFiles({ publicUrl }: Pick<Settings, 'publicUrl'>): ReadonlyMap<string, string> {
  const places = [publicUrl, publicUrl.replace('//127.0.0.1', '//localhost')]
  return new Map(
    places.flatMap((place) =>
      Object.values(SAMPLES).map(
        (name) => [`${place}${SAMPLES_PATH}/${name}`, assetPath(join('site/dist/samples', name))] as const,
      ),
    ),
  )
}
