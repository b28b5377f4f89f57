import { AsyncLocalStorage } from 'node:async_hooks'
import { type Deadline, isOver } from './deadline.ts'
import { changeDevices, NOTIFICATION_EVENT } from './device-changes.ts'
import { forgetDevices, WRONG_DEVICES } from './devices.ts'
import { findRecipient, type Opened } from './find-recipient.ts'
import { type ConnectionUpdate, type Credentials, type Library, type LibrarySocket, SILENT_LOGGER } from './library.ts'
import { LineWatch } from './line-watch.ts'
import type {
  ContactLock,
  Found,
  MediaHosts,
  RelayEnd,
  Shown,
  SocketChange,
  SocketOptions,
  SocketOrder,
} from './messages.ts'
import { CODE_LASTS_MS, Pairing } from './pairing.ts'
import { RECEIPT_EVENT, readReceipt } from './receipts.ts'
import { ACK_EVENT, Relay } from './relay.ts'
import { answerRetries } from './repeats.ts'
import { SharedWork } from './shared-work.ts'
import { durableRepository } from './signal-repository.ts'
import { storeFirst } from './stored-first.ts'
import { type HostCalls, StoredState } from './stored-state.ts'

// What a phone accepts when it is linked by a code; an invented name is refused.
const BROWSER = ['Windows', 'Chrome', '10.0.22631']
const FULL_HISTORY = 2
const PING_EVERY_MS = 20_000
// A ping every 20 s leaves its answer 10 s.
const MOST_SILENT_MS = 30_000
const LOGOUT_MS = 2_000
// The device is not linked any more.
const LOGGED_OUT = 401
// The code for a certificate that no key of WhatsApp has signed.
const NOT_CERTIFIED = 400

interface SocketParts {
  readonly library: Library
  readonly host: HostCalls
  /** What the host knows it by. */
  readonly id: number
  readonly options: SocketOptions
  readonly onClosed: () => void
}

/** One line to WhatsApp of a linked device. Used once: after it was closed, a new one is opened. */
export class LinkedSocket {
  readonly #parts: SocketParts
  readonly #state: StoredState
  readonly #credentials: Credentials
  readonly #socket: LibrarySocket
  readonly #watch: LineWatch
  readonly #ownDevices = new SharedWork<Opened>()
  /** Null for a login. */
  readonly #pairing: Pairing | null
  /** With the code that WhatsApp gave. */
  readonly #closed = Promise.withResolvers<number | null>()
  #until: Deadline
  #relay: Relay | null = null
  // Separates what is encrypted for a relay from what is encrypted to send another message again to a device.
  readonly #relays = new AsyncLocalStorage<Relay>()
  #credentialsKept = Promise.resolve()
  #isUpgraded = false
  #hasCode = false
  #isOpen = false
  #isReady = false
  #isOnline = false

  constructor(parts: SocketParts, until: Deadline) {
    const { library, host, id, options } = parts
    this.#parts = parts
    this.#until = until
    this.#state = new StoredState({ library, host, socket: id })
    this.#credentials = this.#state.readCredentials(options.credentials)
    this.#socket = library.makeWASocket(this.#libraryOptions())
    this.#guardWrites()
    this.#pairing =
      options.pairing === undefined
        ? null
        : new Pairing(
            { socket: this.#socket, credentials: this.#credentials, report: (change) => this.#report(change) },
            options.pairing,
          )
    this.#watch = new LineWatch({ mostSilentMs: MOST_SILENT_MS, onDead: () => this.#terminate() })
    this.#listen()
  }

  renew(until: Deadline): void {
    this.#until = until
  }

  async contactLock(): Promise<ContactLock> {
    const { isActive, timeEnforcementEnds } = await this.#socket.fetchAccountReachoutTimelock()
    return { isActive, until: isActive && timeEnforcementEnds ? timeEnforcementEnds.getTime() : null }
  }

  /** Without an answer, so nothing waits for it. */
  show({ isOnline, typesTo }: Shown): void {
    // The library shows nothing of a number whose name it does not know yet.
    const isKnown = this.#credentials.me?.name !== undefined
    if (isOnline !== this.#isOnline && isKnown) {
      this.#isOnline = isOnline
      this.#socket.sendPresenceUpdate(isOnline ? 'available' : 'unavailable').catch(() => {})
    }
    if (typesTo !== null) this.#socket.sendPresenceUpdate('composing', typesTo).catch(() => {})
  }

  async mediaHosts(isFresh: boolean): Promise<MediaHosts> {
    const { auth, hosts } = await this.#socket.refreshMediaConn(isFresh)
    return { auth, hosts }
  }

  find(number: string): Promise<Found> {
    const [credentials, ownDevices] = [this.#credentials, this.#ownDevices]
    this.#state.readOnce()
    return findRecipient({ ...this.#known(), credentials, ownDevices }, number)
  }

  async relay(order: SocketOrder): Promise<RelayEnd> {
    const { library, host, id } = this.#parts
    const mayLeave = (wireId: string) => host.call('mayLeave', id, wireId)
    const relay = new Relay({ library, socket: this.#socket, credentials: this.#credentials, mayLeave }, order)
    this.#relay = relay
    const end = await this.#relays
      .run(relay, () => relay.run())
      .finally(() => {
        this.#relay = null
      })
    const hasWrongDevices = end.kind === 'acked' && end.error === WRONG_DEVICES
    // Storage logs by itself that it is away.
    if (hasWrongDevices) await forgetDevices(this.#known(), order.jid).catch(() => {})
    return end
  }

  #known() {
    return { library: this.#parts.library, socket: this.#socket, state: this.#state }
  }

  cancelRelay(): void {
    this.#relay?.cancel()
  }

  /** Resolves once nothing can be written any more, to whether WhatsApp has said that the device is logged out. */
  async close({ logsOut }: { readonly logsOut: boolean }): Promise<boolean> {
    const isLoggedOut = logsOut && this.#isOpen && (await this.#logOut())
    this.#until = { monotonicMs: 0, wallMs: 0 }
    this.#terminate()
    return isLoggedOut
  }

  /** The library itself waits for no answer, and a line may be dead without a sign. */
  #logOut(): Promise<boolean> {
    const { me } = this.#credentials
    const removed = { tag: 'remove-companion-device', attrs: { jid: me?.id, reason: 'user_initiated' } }
    const attrs = { to: 's.whatsapp.net', type: 'set', xmlns: 'md' }
    const query = this.#socket.query({ tag: 'iq', attrs, content: [removed] }, LOGOUT_MS)
    const answered = query.then(
      (answer) => answer !== undefined,
      () => false,
    )
    return Promise.race([answered, this.#closed.promise.then((code) => code === LOGGED_OUT)])
  }

  #libraryOptions(): object {
    const { library, options } = this.#parts
    const { url, pairing } = options
    const onEncrypted = async (jid: string) => this.#relays.getStore()?.encrypted(jid)
    return {
      auth: {
        creds: this.#credentials,
        keys: { get: this.#state.get.bind(this.#state), set: this.#state.set.bind(this.#state) },
      },
      browser: BROWSER,
      version: versionOf(library, options.version),
      waWebSocketUrl: url,
      logger: SILENT_LOGGER,
      makeSignalRepository: durableRepository(library, { keys: this.#state, onEncrypted }),
      userDevicesCache: this.#state.devices,
      // Asked for when a device could not read a message: the library would send it to all devices.
      getMessage: async () => undefined,
      enableRecentMessageCache: false,
      emitOwnEvents: false,
      // Otherwise the phone shows no notifications.
      markOnlineOnConnect: false,
      syncFullHistory: false,
      // The first history brings the tokens without which WhatsApp refuses messages to known contacts.
      shouldSyncHistoryMessage: ({ syncType }: { readonly syncType: number }) => syncType !== FULL_HISTORY,
      // Groups and the like. The server itself has no part before an @.
      shouldIgnoreJid: (jid: string) => !/(?:(?:^|@)s\.whatsapp\.net|@lid)$/.test(jid),
      generateHighQualityLinkPreview: false,
      // Otherwise the line ends with the QR codes, also while the other code is being typed.
      ...(pairing?.byCode && { qrTimeout: CODE_LASTS_MS }),
      connectTimeoutMs: 20_000,
      defaultQueryTimeoutMs: 15_000,
      keepAliveIntervalMs: PING_EVERY_MS,
      transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 10 },
    }
  }

  /** Whatever the library wants to write, also pings and acknowledgements: nothing leaves once the lane may be another worker's. */
  #guardWrites(): void {
    const { socket } = this.#socket.ws
    if (!socket) return
    const write = socket.send.bind(socket)
    const writeNow: typeof write = (data, sent) => {
      if (!isOver(this.#until)) return write(data, sent)
      socket.terminate()
      sent(new Error('this worker may not write any more'))
    }
    socket.send = (data, sent) => {
      // A device that is being linked signs only what is on disk. Otherwise a crash leaves a device that cannot log in.
      if (this.#pairing) void this.#credentialsKept.then(() => writeNow(data, sent))
      else writeNow(data, sent)
    }
  }

  #listen(): void {
    const { host, id } = this.#parts
    const { ws, ev } = this.#socket
    ws.on('frame', () => this.#watch.frameCame())
    ws.on('open', () => {
      this.#isUpgraded = true
    })
    for (const event of ['CB:failure', 'CB:stream:error'])
      ws.on(event, () => {
        this.#hasCode = true
      })
    // The library makes events of acks that nothing here reads, and after a 463 it asks once more for the recipient's token.
    for (const listener of ws.listeners(ACK_EVENT)) ws.off(ACK_EVENT, listener)
    const [socket, state] = [this.#socket, this.#state]
    storeFirst(socket, RECEIPT_EVENT, async (node) => {
      const receipt = readReceipt(node)
      if (receipt) await host.call('keepReceipt', id, receipt)
    })
    answerRetries({ ...this.#known(), credentials: this.#credentials, host, id })
    storeFirst(socket, NOTIFICATION_EVENT, (node) => changeDevices({ socket, state }, node))
    ev.on('creds.update', () => this.#keepCredentials())
    ev.on('connection.update', (update) => this.#follow(update))
  }

  #keepCredentials(): void {
    // Those of a device that no phone has linked are worth nothing.
    if (!this.#credentials.account) return
    this.#credentialsKept = this.#credentialsKept
      .then(() => this.#state.writeCredentials(this.#credentials))
      // What is stored is used from the next login on, so this line must not go on with other credentials.
      .catch(() => this.#terminate())
  }

  #follow({ connection, receivedPendingNotifications, lastDisconnect }: ConnectionUpdate): void {
    if (connection === 'open') this.#isOpen = true
    if (receivedPendingNotifications) this.#isReady = true
    if (connection === 'close') this.#end(lastDisconnect)
    else if (this.#isOpen && this.#isReady) {
      this.#isReady = false
      const [, device = '0'] = /:(\d+)@/.exec(this.#credentials.me?.id ?? '') ?? []
      const { library, options } = this.#parts
      const version = versionOf(library, options.version).join('.')
      this.#report({ kind: 'ready', device, version })
    }
  }

  #end(last: ConnectionUpdate['lastDisconnect']): void {
    this.#watch.stop()
    this.#relay?.lineClosed()
    this.#parts.onClosed()
    const status = last?.error?.output?.statusCode ?? null
    // A code that WhatsApp did not send is a status of HTTP, or one that the library made up.
    const isSaid = this.#hasCode || (this.#isUpgraded && status === NOT_CERTIFIED)
    const code = isSaid ? status : null
    this.#closed.resolve(code)
    this.#report({ kind: 'closed', code, expiresInMs: readExpiry(last?.error?.data) })
  }

  #report(change: SocketChange): void {
    const { host, id } = this.#parts
    // When the host is gone, this is too.
    host.call('changed', id, change).catch(() => {})
  }

  #terminate(): void {
    const { ws } = this.#socket
    if (ws.socket) ws.socket.terminate()
    else void this.#socket.end(undefined)
  }
}

/** The newer one, unless it must be the wanted one. */
function versionOf(library: Library, wanted: SocketOptions['version']): readonly [number, number, number] {
  const own = library.DEFAULT_CONNECTION_CONFIG.version
  if (!wanted) return own
  const revision = Number(wanted.version.split('.')[2])
  return wanted.isExact || revision > own[2] ? [own[0], own[1], revision] : own
}

function readExpiry(data: unknown): number | null {
  const seconds = Number((data as { readonly expire?: unknown } | undefined)?.expire)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null
}
