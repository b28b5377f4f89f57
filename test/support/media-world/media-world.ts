import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkerId } from '../../../src/core/ids.ts'
import { parseAddressRange } from '../../../src/core/media-address/ip-address.ts'
import type { MediaType } from '../../../src/core/message/message.ts'
import type { FetchedMedia, MediaFailure, MediaFetcher } from '../../../src/core/ports/media.ts'
import { createMediaFetcher, type MediaFetcherOptions } from '../../../src/media/create-media-fetcher.ts'
import type { MediaParts } from '../../../src/media/fetch-media.ts'
import { DnsServer } from './dns-server.ts'
import { TestHost, type TestHostOptions } from './test-host.ts'

/** The smallest PNG: one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAICAQB7CYV4AAAAAElFTkSuQmCC',
  'base64',
)

/** Who fetches in this world. */
export const FETCHER = 'fetcher' as WorkerId

/** Long enough for a busy machine. Tests of a time limit set their own. */
const LONG_TIMEOUTS = { dnsMs: 3_000, connectMs: 3_000, headersMs: 3_000, leastTotalMs: 10_000 }

type Options = Partial<MediaFetcherOptions> & {
  readonly type?: MediaType
  readonly signal?: AbortSignal
  readonly replaced?: Partial<MediaParts>
}

/**
 * A small internet on the loopback: a DNS server and hosts that may be reached, beside canaries that must not.
 *
 * Hosts live on addresses of their own in 127.0.0.0/8, which the fetchers made here are allowed to reach. 127.0.0.1 and
 * ::1 stay forbidden and play the inside of our network.
 */
export class MediaWorld {
  readonly dns = new DnsServer()
  readonly #hosts: TestHost[] = []
  #fetches = 0
  spoolDir = ''

  static async open(): Promise<MediaWorld> {
    const world = new MediaWorld()
    world.spoolDir = join(await mkdtemp(join(tmpdir(), 'nuncio-media-')), 'spool')
    await world.dns.start()
    return world
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()))
    await this.dns.stop()
    await rm(join(this.spoolDir, '..'), { recursive: true, force: true })
  }

  async host(script: TestHostOptions['script'], options: Omit<TestHostOptions, 'script'> = {}): Promise<TestHost> {
    const host = await TestHost.open({ ...options, script })
    this.#hosts.push(host)
    return host
  }

  /** A listener in a place that must never be reached. It serves a valid picture. */
  async canary(address: '127.0.0.1' | '::1' = '127.0.0.1', port?: number): Promise<TestHost> {
    const bait = `HTTP/1.1 200 OK\r\ncontent-length: ${PNG.length}\r\n\r\n`
    return this.host((socket) => socket.end(Buffer.concat([Buffer.from(bait), PNG])), {
      address,
      ...(port !== undefined && { port }),
    })
  }

  fetcher({ type: _type, signal: _signal, replaced, ...options }: Options = {}): MediaFetcher {
    const reachable = this.#hosts
      .map(({ address }) => address)
      .filter((address) => !['127.0.0.1', '::1'].includes(address))
    return createMediaFetcher(
      {
        spoolDir: this.spoolDir,
        worker: FETCHER,
        maxBytes: { image: 5_000_000, video: 16_000_000, audio: 16_000_000, document: 100_000_000 },
        allowed: reachable.map((address) => parseAddressRange(address)!),
        dnsServers: [this.dns.address],
        ...options,
        timing: { ...LONG_TIMEOUTS, ...options.timing },
      },
      replaced,
    )
  }

  /** Fetches with a fetcher of its own that may reach the hosts opened so far. */
  async fetch(url: string, options: Options = {}): Promise<FetchedMedia | MediaFailure> {
    this.#fetches += 1
    const wanted = { url, type: options.type ?? 'image', spoolName: `fetch-${this.#fetches}` } as const
    return this.fetcher(options).fetch(wanted, options.signal ?? new AbortController().signal)
  }

  /** Names of all files in the spool, also of other processes. */
  async spooled(): Promise<readonly string[]> {
    const entries = await readdir(this.spoolDir, { recursive: true, withFileTypes: true }).catch(() => [])
    const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
    return names.sort((one, other) => one.localeCompare(other))
  }
}
