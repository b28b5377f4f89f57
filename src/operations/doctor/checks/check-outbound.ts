import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkerId } from '../../../core/ids.ts'
import type { FetchedMedia, MediaFailure } from '../../../core/ports/media.ts'
import { explainReason } from '../../../core/reasons.ts'
import { createMediaFetcher } from '../../../media/create-media-fetcher.ts'
import { rangesOfMedia } from '../../../server/wiring/operator-ranges.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped } from '../finding.ts'

const MOST_BYTES = 16 * 1024 * 1024

const TO_OPEN =
  ' Where it is meant to be fetched: NUNCIO_OUTBOUND_DENIED_CIDRS closes addresses, NUNCIO_MEDIA_ALLOWED_PRIVATE opens private ones.'

/** Fetches one URL as an attachment is fetched, with the same guards, and throws it away. */
export async function checkOutbound({ settings, outboundUrl, signal }: Examination): Promise<CheckResult> {
  if (outboundUrl === null)
    return skipped('Nothing was fetched: --outbound URL fetches it as an attachment is fetched.')
  if (!settings) return skipped('The settings are wrong, so that nothing is fetched.')
  const spoolDir = await mkdtemp(join(tmpdir(), 'nuncio-doctor-'))
  try {
    const { dnsServers } = settings
    const fetcher = createMediaFetcher({
      spoolDir,
      worker: `worker-doctor-${process.pid}` as WorkerId,
      maxBytes: { image: MOST_BYTES, audio: MOST_BYTES, video: MOST_BYTES, document: MOST_BYTES },
      ...rangesOfMedia(settings),
      dnsServers: dnsServers.length > 0 ? dnsServers : null,
    })
    return assessFetched(
      outboundUrl,
      await fetcher.fetch({ url: outboundUrl, type: 'document', spoolName: 'doctor' }, signal),
    )
  } finally {
    await rm(spoolDir, { recursive: true, force: true })
  }
}

/** Pure. */
function assessFetched(url: string, result: FetchedMedia | MediaFailure): CheckResult {
  if (result.kind === 'fetched')
    return ok(`${url} was fetched in ${result.tookMs} ms (${result.file.sizeBytes} bytes).`, {
      url,
      bytes: result.file.sizeBytes,
      tookMs: result.tookMs,
    })
  const { nextStep } = explainReason(result.code, { words: result.words })
  const toOpen = result.code === 'media_blocked' ? TO_OPEN : ''
  return problem(`${url} could not be fetched: ${result.words}`, nextStep + toOpen, {
    url,
    code: result.code,
  })
}
