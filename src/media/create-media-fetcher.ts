import type { WorkerId } from '../core/ids.ts'
import type { AddressRange } from '../core/media-address/ip-address.ts'
import type { MediaType } from '../core/message/message.ts'
import type { MediaFetcher } from '../core/ports/media.ts'
import { createAddressGuard } from './address-guard.ts'
import { createDial } from './dial.ts'
import { fetchMedia, type MediaParts } from './fetch-media.ts'
import { DEFAULT_TIMING, type FetchTiming } from './fetch-timing.ts'
import { createNameResolver } from './resolve-name.ts'
import { Spool } from './spool.ts'

export interface MediaFetcherOptions {
  /** The folder of fetched files. All processes of an installation on this machine share it, and no other installation does. */
  readonly spoolDir: string
  /** Processes that share the folder must be able to identify this one, and to see whether it is alive. */
  readonly worker: WorkerId
  /** Largest file of each type. */
  readonly maxBytes: Readonly<Record<MediaType, number>>
  /** Private ranges that the operator opened. The same list must be given to `checkMediaUrl` where messages are accepted. */
  readonly allowed?: readonly AddressRange[]
  /** Ranges that the operator closed, public ones too. `checkMediaUrl` must get the same list. */
  readonly refused?: readonly AddressRange[]
  /** Our own sample files: address and path. `checkMediaUrl` must get the same. */
  readonly samples?: ReadonlyMap<string, string>
  /** DNS servers such as `9.9.9.9` or `127.0.0.1:5353`; null or absent means those of the system. */
  readonly dnsServers?: readonly string[] | null
  readonly timing?: Partial<FetchTiming>
  readonly userAgent?: string
  /** Certificate authorities in PEM form, in place of those that come with Node. */
  readonly trustedCertificates?: readonly string[]
}

/** `replaced` overrides single parts: with it tests prove that each guard is needed. */
export function createMediaFetcher(options: MediaFetcherOptions, replaced: Partial<MediaParts> = {}): MediaFetcher {
  const timing = { ...DEFAULT_TIMING, ...options.timing }
  const ranges = { allowed: options.allowed ?? [], refused: options.refused ?? [] }
  const guard = createAddressGuard(ranges)
  const parts: MediaParts = {
    maxBytes: options.maxBytes,
    timing,
    ranges,
    samples: options.samples ?? new Map(),
    guard,
    resolveName: createNameResolver({ servers: options.dnsServers ?? null, timeoutMs: timing.dnsMs }),
    dial: createDial({ guard, connectMs: timing.connectMs, trustedCertificates: options.trustedCertificates }),
    headersMs: timing.headersMs,
    userAgent: options.userAgent ?? 'Nuncio (fetches media for a message)',
    spool: new Spool({ directory: options.spoolDir, worker: options.worker }),
    ...replaced,
  }
  return {
    fetch: (wanted, signal) => fetchMedia(wanted, parts, signal),
    discard: (path) => parts.spool.discard(path),
    sweep: (known) => parts.spool.sweep(known),
    // Each fetch opens and closes its own connection, so none stays idle.
    close: async () => {},
  }
}
