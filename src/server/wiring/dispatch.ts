import type { Settings } from '../../config/read-settings.ts'
import { reportLostMedia } from '../../core/dispatch/media/report-lost-media.ts'
import { MediaStage, type MediaStageParts } from '../../core/dispatch/media/stage.ts'
import { Dispatcher } from '../../core/dispatch/workers/dispatcher.ts'
import type { ConnectionId, WorkerId } from '../../core/ids.ts'
import type { QueuedMessage } from '../../core/message/message.ts'
import type { Channel } from '../../core/ports/channel.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { Lanes } from '../../core/ports/lanes.ts'
import { createMediaFetcher } from '../../media/create-media-fetcher.ts'
import { createChannelEvents } from './channel-events.ts'
import { rangesOfMedia } from './operator-ranges.ts'
import { spoolFolder } from './spool-folder.ts'
import type { Storage } from './storage.ts'

const CALLS_MAY_FINISH_MS = 25_000

interface DispatchParts {
  readonly settings: Settings
  readonly worker: WorkerId
  readonly storage: Storage
  readonly channels: ReadonlyMap<string, Channel>
  readonly journal: Journal
  /** The storage of lanes. */
  readonly lanes: Lanes
}

/** What a process with the role `dispatch` runs: the channels, the fetching of media, and the lanes. */
export class Dispatch {
  readonly #storage: Storage
  readonly #channels: ReadonlyMap<string, Channel>
  readonly #dispatcher: Dispatcher
  readonly #media: MediaStage
  #isRunning = false

  constructor(parts: DispatchParts) {
    const { storage, channels } = parts
    this.#storage = storage
    this.#channels = channels
    this.#media = createMediaStage(parts, {
      onSettled: (connectionId, sequence) => this.#dispatcher.mediaSettled(connectionId, sequence),
      onLost: (connectionId) => this.#dispatcher.change([connectionId]),
      belongsToPeer: (connectionId) => this.#dispatcher.belongsToPeer(connectionId),
    })
    this.#dispatcher = new Dispatcher({
      worker: parts.worker,
      lanes: parts.lanes,
      blocked: storage.blocked,
      channels: new Map(
        [...channels].map(([name, channel]) => [name, reportLostMedia(channel, () => this.#media.checkForLost())]),
      ),
      clock: storage.clock,
      journal: parts.journal,
      wantMedia: (sequences) => this.#media.want(sequences),
      pollEveryMs: storage.pollEveryMs,
      notifyPeers: (id) => storage.notifyPeers([id]),
    })
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  get laneCount(): number {
    return this.#dispatcher.laneCount
  }

  get fetchCount(): number {
    return this.#media.fetchCount
  }

  get deferredCount(): number {
    return this.#dispatcher.deferredCount
  }

  statuses(): Iterable<string> {
    return this.#dispatcher.statuses()
  }

  async start(): Promise<void> {
    const events = createChannelEvents(this.#storage)
    for (const channel of this.#channels.values()) await channel.start(events)
    // The heartbeat comes first: another worker on the same spool would take our files for those of a dead worker.
    await this.#dispatcher.start()
    await this.#media.start()
    this.#isRunning = true
  }

  /** Starts nothing more, lets running calls finish, records them, and releases the lanes. Harmless twice. */
  async stop(): Promise<void> {
    this.#isRunning = false
    // First, because the files of a worker that has retired may be swept.
    await this.#media.stop()
    await this.#dispatcher.stop(CALLS_MAY_FINISH_MS)
    for (const channel of this.#channels.values()) await channel.stop()
  }

  /** A message was accepted here. False when its lane is for another process to serve. */
  accepted(message: QueuedMessage): boolean {
    if (message.media === null) return this.#dispatcher.accepted(message)
    this.#media.wake()
    return this.#dispatcher.wake(message.connectionId)
  }

  /** Messages were accepted by other processes. */
  woken(connectionIds: readonly ConnectionId[]): void {
    for (const id of connectionIds) this.#dispatcher.wake(id)
    this.#media.wake()
  }

  changed(connectionIds: readonly ConnectionId[]): void {
    this.#dispatcher.change(connectionIds)
  }

  dropClaim(connectionId: ConnectionId): void {
    this.#dispatcher.dropClaim(connectionId)
  }
}

function createMediaStage(
  { settings, worker, storage, journal }: DispatchParts,
  lanes: Pick<MediaStageParts, 'onSettled' | 'onLost' | 'belongsToPeer'>,
): MediaStage {
  return new MediaStage({
    queue: storage.mediaQueue,
    fetcher: createMediaFetcher({
      spoolDir: spoolFolder(settings),
      worker,
      maxBytes: {
        image: settings.mediaMaxImageBytes,
        audio: settings.mediaMaxAudioBytes,
        video: settings.mediaMaxVideoBytes,
        document: settings.mediaMaxDocumentBytes,
      },
      ...rangesOfMedia(settings),
      dnsServers: settings.dnsServers.length > 0 ? settings.dnsServers : null,
    }),
    clock: storage.clock,
    journal,
    quotaBytes: settings.mediaSpoolBytesPerAccount,
    ...lanes,
  })
}
