import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../../core/ports/clock.ts'
import { isInstalled } from '../is-installed.ts'
import { type CallMessage, Calls } from './calls.ts'
import { type Deadline, deadlineIn } from './deadline.ts'
import type {
  ContactLock,
  Found,
  HostMethods,
  MediaHosts,
  RelayEnd,
  Shown,
  SocketChange,
  SocketOptions,
  SocketOrder,
  SocketReceipt,
  ThreadData,
  ThreadMethods,
} from './messages.ts'

type KeyTexts = Parameters<HostMethods['writeKeys']>[1]

/** The code that has opened a socket, and answers what the socket asks. */
export interface SocketOwner {
  /** Whether this worker may write anything at all. */
  stillHolds(): boolean
  readKeys(kind: string, ids: readonly string[]): Promise<readonly (readonly [id: string, text: string])[]>
  writeKeys(keys: KeyTexts): Promise<void>
  writeCredentials(text: string): Promise<void>
  keepReceipt(receipt: SocketReceipt): Promise<void>
  findRepeat(wireId: string, device: string): ReturnType<HostMethods['findRepeat']>
  mayRepeat(wireId: string, device: string): Promise<boolean>
  mayLeave(wireId: string): Deadline | null
  changed(change: SocketChange): void
}

/** A socket in the thread. Its calls reject when the thread ends. */
export interface HostedSocket {
  find(number: string): Promise<Found>
  mediaHosts(isFresh: boolean): Promise<MediaHosts>
  contactLock(): Promise<ContactLock>
  show(shown: Shown): void
  relay(order: SocketOrder): Promise<RelayEnd>
  cancel(): void
  /**
   * Resolves once nothing can be written any more, within 2 s; with `logsOut` within 3 s, to whether WhatsApp has said that the
   * device is logged out.
   */
  close(how: { readonly logsOut: boolean }): Promise<boolean>
}

interface ThreadHostParts extends ThreadData {
  readonly clock: Clock
  /** How many sessions this process has, also those that have not logged in yet. */
  readonly sessions: () => number
  readonly note: (event: { readonly event: 'channel.thread_ended'; readonly channel: string }) => void
  readonly channel: string
}

const RENEW_EVERY_MS = 1_000
// A thread that answers nothing for this many seconds hangs. Before its first message it loads the library, which may take long on a
// busy machine.
const MOST_UNANSWERED = 5
const MOST_UNANSWERED_AT_FIRST = 60
// A thread that gets no message for this long stops writing to WhatsApp.
const MAY_WRITE_MS = 2_000
const LOGOUT_MS = 3_000
const MOST_ENDS = 5
const ENDS_COUNTED_MS = 10 * 60_000
const RESTS_MS = 15 * 60_000
// Three times what was measured (the library 63 MB, a session 0.5). So a leak ends the thread and normal use does not, unless a
// process gets three times the sessions that it began with, and more than 1,900.
const LEAST_MEMORY_MB = 1_024
const LIBRARY_MB = 128
const SESSION_MB = 1.5

/** Runs the library in a thread of its own, from the first socket on. An error that it does not handle ends only that thread. */
export class ThreadHost {
  readonly #parts: ThreadHostParts
  readonly #owners = new Map<number, SocketOwner>()
  #thread: Thread | null = null
  #ends: number[] = []
  #lastSocket = 0
  #isStopped = false

  constructor(parts: ThreadHostParts) {
    this.#parts = parts
  }

  isInstalled(): boolean {
    return isInstalled(this.#parts.folder)
  }

  /** How long no socket should be opened, because the thread has ended too often. */
  restsMs(): number {
    const { clock } = this.#parts
    const recent = this.#ends.filter((at) => clock.monotonic() - at < ENDS_COUNTED_MS + RESTS_MS)
    const last = recent.at(-1)
    const fifth = recent.at(-MOST_ENDS)
    if (last === undefined || fifth === undefined || last - fifth > ENDS_COUNTED_MS) return 0
    return Math.max(0, last + RESTS_MS - clock.monotonic())
  }

  open(options: SocketOptions, owner: SocketOwner): HostedSocket {
    const id = ++this.#lastSocket
    this.#owners.set(id, owner)
    if (!this.#isStopped) this.#thread ??= this.#start()
    const calls = this.#thread?.calls ?? callsOfNoThread()
    calls.call('open', id, options, deadlineIn(MAY_WRITE_MS)).catch(() => this.#report(id, LOST))
    return {
      find: (number) => calls.call('find', id, number),
      mediaHosts: (isFresh) => calls.call('mediaHosts', id, isFresh),
      contactLock: () => calls.call('contactLock', id),
      show: (shown) => void calls.call('show', id, shown).catch(() => {}),
      relay: (order) => calls.call('relay', id, order),
      cancel: () => void calls.call('cancel', id).catch(() => {}),
      close: (how) => this.#close(calls, id, how),
    }
  }

  /** Stops for good. Each socket is reported as closed, also one that is opened later. Harmless twice or before the first socket. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const thread = this.#thread
    this.#thread = null
    await thread?.end()
    this.#reportAllLost()
  }

  async #close(calls: Thread['calls'], id: number, how: { readonly logsOut: boolean }): Promise<boolean> {
    const late = Promise.withResolvers<false>()
    // The permission is not renewed from here on. Once it is over nothing is written, whatever the thread does.
    const cancel = this.#parts.clock.after(how.logsOut ? LOGOUT_MS : MAY_WRITE_MS, () => late.resolve(false))
    if (!how.logsOut) this.#owners.delete(id)
    const isLoggedOut = await Promise.race([calls.call('close', id, how).catch(() => false), late.promise])
    this.#owners.delete(id)
    cancel()
    return isLoggedOut
  }

  #start(): Thread {
    const { sessions } = this.#parts
    // A thread keeps the limit with which it began: of the first 500 lanes, which are claimed at once, or of all after an end.
    const mostMemoryMb = memoryLimitMb(sessions())
    const thread = new Thread({ ...this.#parts, mostMemoryMb }, this.#methods(), () => this.#ended(thread))
    thread.renewEvery(RENEW_EVERY_MS, () => {
      const held = [...this.#owners].filter(([, owner]) => owner.stillHolds()).map(([id]) => id)
      return [held, deadlineIn(MAY_WRITE_MS)]
    })
    return thread
  }

  #methods(): HostMethods {
    const ownerOf = (id: number): SocketOwner => {
      const owner = this.#owners.get(id)
      if (!owner) throw new Error('this socket is closed')
      return owner
    }
    return {
      readKeys: (id, kind, ids) => ownerOf(id).readKeys(kind, ids),
      writeKeys: (id, keys) => ownerOf(id).writeKeys(keys),
      writeCredentials: (id, text) => ownerOf(id).writeCredentials(text),
      keepReceipt: (id, receipt) => ownerOf(id).keepReceipt(receipt),
      findRepeat: (id, wireId, device) => ownerOf(id).findRepeat(wireId, device),
      mayRepeat: (id, wireId, device) => ownerOf(id).mayRepeat(wireId, device),
      mayLeave: (id, wireId) => this.#owners.get(id)?.mayLeave(wireId) ?? null,
      changed: (id, change) => this.#report(id, change),
    }
  }

  #report(id: number, change: SocketChange): void {
    const owner = this.#owners.get(id)
    if (change.kind === 'closed') this.#owners.delete(id)
    owner?.changed(change)
  }

  #ended(thread: Thread): void {
    // Stopped on purpose.
    if (this.#thread !== thread) return
    this.#thread = null
    const { clock, note, channel } = this.#parts
    this.#ends = [...this.#ends.slice(1 - MOST_ENDS), clock.monotonic()]
    note({ event: 'channel.thread_ended', channel })
    this.#reportAllLost()
  }

  #reportAllLost(): void {
    for (const id of [...this.#owners.keys()]) this.#report(id, LOST)
  }
}

const LOST: SocketChange = { kind: 'closed', code: null, expiresInMs: null }

function callsOfNoThread(): Thread['calls'] {
  const calls: Thread['calls'] = new Calls({} as HostMethods, () => {})
  calls.rejectAll(new Error('the channel has stopped'))
  return calls
}

function memoryLimitMb(sessions: number): number {
  return Math.max(LEAST_MEMORY_MB, LIBRARY_MB + SESSION_MB * sessions)
}

interface ThreadParts extends ThreadData {
  readonly mostMemoryMb: number
}

class Thread {
  readonly calls: Calls<ThreadMethods, HostMethods>
  readonly #worker: Worker
  readonly #ended = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined
  #mostUnanswered = MOST_UNANSWERED_AT_FIRST
  #unanswered = 0

  constructor(parts: ThreadParts, methods: HostMethods, onEnd: () => void) {
    const { folder, rootKey, mostMemoryMb } = parts
    const workerData: ThreadData = { folder, rootKey }
    // What libsignal prints has private keys in it, so nothing of it may reach the log.
    const dropped = { stdout: true, stderr: true }
    const resourceLimits = { maxOldGenerationSizeMb: mostMemoryMb }
    // Beside this file, in the sources and in a build.
    const entry = new URL(`./whatsapp-web-thread${extname(import.meta.url)}`, import.meta.url)
    this.#worker = new Worker(entry, { ...dropped, workerData, resourceLimits, name: 'whatsapp-web' })
    this.#worker.stdout.resume()
    this.#worker.stderr.resume()
    this.calls = new Calls<ThreadMethods, HostMethods>(methods, (message) => this.#worker.postMessage(message))
    this.#worker.on('message', (message: CallMessage) => {
      this.#mostUnanswered = MOST_UNANSWERED
      this.#unanswered = 0
      this.calls.receive(message)
    })
    // An exit follows each error, which may have numbers in its words.
    this.#worker.on('error', () => {})
    this.#worker.on('exit', () => {
      clearInterval(this.#timer)
      this.calls.rejectAll(new Error('the thread of the channel has ended'))
      this.#ended.resolve()
      onEnd()
    })
  }

  /** Ends a thread that sends no more messages. It counts turns, not time, because this thread may have stood still itself. */
  renewEvery(ms: number, read: () => [sockets: readonly number[], until: Deadline]): void {
    this.#timer = setInterval(() => {
      if (this.#unanswered >= this.#mostUnanswered) void this.#worker.terminate()
      this.#unanswered += 1
      this.calls.call('renew', ...read()).catch(() => {})
    }, ms)
  }

  async end(): Promise<void> {
    void this.#worker.terminate()
    await this.#ended.promise
  }
}
