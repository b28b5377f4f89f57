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

/** The worker that fetches in these tests. */
export const FETCHER = 'fetcher' as WorkerId

/** Long enough for a busy machine. Tests of a time limit set their own. */
const LONG_TIMEOUTS = { dnsMs: 30_000, connectMs: 30_000, headersMs: 30_000, leastTotalMs: 60_000 }

type Options = Partial<MediaFetcherOptions> & {
  readonly type?: MediaType
  readonly signal?: AbortSignal
  readonly replaced?: Partial<MediaParts>
}

/**
 * A small internet on the loopback: a DNS server, hosts that may be reached, and canaries that must not be. Each host has its own
 * address in 127.0.0.0/8, which the fetchers created here may reach. 127.0.0.1 and ::1 stay forbidden and stand for our internal
 * network.
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

  /** Listens where nothing may ever connect. It serves a valid picture. */
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

  /** Fetches with a new fetcher that may reach the hosts opened so far. */
  async fetch(url: string, options: Options = {}): Promise<FetchedMedia | MediaFailure> {
    this.#fetches += 1
    const wanted = { url, type: options.type ?? 'image', spoolName: `fetch-${this.#fetches}` } as const
    return this.fetcher(options).fetch(wanted, options.signal ?? new AbortController().signal)
  }

  /** The names of all files in the spool, including those of other processes. */
  async spooled(): Promise<readonly string[]> {
    const entries = await readdir(this.spoolDir, { recursive: true, withFileTypes: true }).catch(() => [])
    const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
    return names.sort((one, other) => one.localeCompare(other))
  }
}
