import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { wireIdOf } from '../../../src/channels/whatsapp-web/wire-id.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import { openAdministration } from '../../../src/server/wiring/open-administration.ts'
import type { Load } from '../../support/black-box/load.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import type { Random } from '../../support/black-box/random.ts'
import { openStranger } from '../../support/journey/engines.ts'
import type { DeliveredEntry, ListedMessage } from '../../support/ledger/ledger-input.ts'
import { LIBRARY_FOLDER } from '../../support/whatsapp-web/library.ts'
import { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { storeLinked } from '../../support/whatsapp-web/store-linked.ts'
import { type LoadPlan, makePictureLoad } from '../picture-load.ts'
import { loadPauseMs } from '../run-length.ts'

const FIRST_NUMBER = 15_550_003_100
const DIFFERENT_FILES = 20
/**
 * For these messages, by their place, the drawn number is fixed: one gets no ack, one is cut off and one is unreadable. So even a
 * short run has each fault.
 */
const CERTAIN: Readonly<Record<number, number>> = { 3: 0.03, 5: 0.08, 8: 0.15 }

/** A simulator in which every number has WhatsApp. */
export async function openNetwork(): Promise<Simulator> {
  // libsignal prints whole sessions with their keys.
  for (const method of ['log', 'info', 'warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
  const simulator = await Simulator.start()
  simulator.library.WA_CERT_DETAILS.PUBLIC_KEY = simulator.rootKey.public
  simulator.isEveryoneRegistered = true
  onTestFinished(async () => {
    await simulator.close()
    vi.restoreAllMocks()
  })
  return simulator
}

/** The settings of the service for this network. `folder` belongs to the test. */
export function networkSettings(simulator: Simulator, folder: string): Readonly<Record<string, string>> {
  const authority = join(folder, 'media.pem')
  writeFileSync(authority, simulator.media.authority)
  return {
    NUNCIO_WHATSAPP_WEB_URL: `${simulator.url}#${simulator.rootKey.public.toString('base64url')}`,
    NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: authority,
  }
}

interface Linking {
  readonly cli: Pick<NuncioCli, 'json'>
  readonly dataDir: string
  readonly databaseUrl?: string
}

/** Installs the channel for a service. */
export function installChannel({ dataDir }: Pick<Linking, 'dataDir'>): void {
  mkdirSync(join(dataDir, 'extras'), { recursive: true })
  symlinkSync(LIBRARY_FOLDER, join(dataDir, 'extras', WHATSAPP_WEB))
}

/** Adds a connection that sends as fast as it can. */
export async function addConnection({ cli }: Pick<Linking, 'cli'>, number: string): Promise<void> {
  const pace = ['--set', 'least_gap=0s', '--set', 'gap_jitter=0s']
  await cli.json('connection', 'add', number, '--channel', WHATSAPP_WEB, ...pace)
}

/** Adds connections and links their phones. Returns the connections by number. */
export async function linkNumbers(
  simulator: Simulator,
  linking: Linking & { readonly count: number },
): Promise<ReadonlyMap<string, ConnectionId>> {
  installChannel(linking)
  const numbers = Array.from({ length: linking.count }, (_, place) => String(FIRST_NUMBER + place))
  for (const number of numbers) await addConnection(linking, number)
  return linkPhones(simulator, linking, numbers)
}

/** Links phones to these connections, without a person. */
export async function linkPhones(
  simulator: Simulator,
  linking: Omit<Linking, 'cli'>,
  numbers: readonly string[],
): Promise<ReadonlyMap<string, ConnectionId>> {
  const { settings, session } = await openData(linking)
  const stranger = await openStranger(settings.database)
  try {
    const isPostgres = settings.database.engine === 'postgres'
    const place = { stranger, isPostgres, secrets: await session.openSecrets() }
    const ids = new Map<string, ConnectionId>()
    for (const number of numbers) ids.set(number, await storeLinked(place, simulator, number))
    return ids
  } finally {
    await stranger.close()
    await session.close()
  }
}

/** Opens the data as a command does. */
export async function openData({ dataDir, databaseUrl }: Omit<Linking, 'cli'>) {
  const environment = {
    NUNCIO_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { NUNCIO_DATABASE_URL: databaseUrl }),
  }
  const { settings, problems } = readSettings({ environment, envFile: {} })
  if (!settings) throw new Error(problems.map(({ sentence }) => sentence).join('\n'))
  return { settings, session: await openAdministration(settings, { create: false }) }
}

/** How often each fault happened. */
export type Faults = Record<'lost' | 'silent' | 'cut off' | 'refused' | 'late' | 'unreadable', number>

/**
 * Makes messages fail: about one in twenty is accepted and its line breaks before the ack, some are accepted without an ack, some
 * are refused for now or delayed, and some cannot be read. Receipts come late and twice, and one in ten only after the next
 * login. Repeats to one device can always be read: there are at most two, and a line that breaks for another reason may lose one
 * of them. `lostBefore`: for this many messages, beginning with the first, the line breaks before the message is accepted. Each
 * delays its lane until no evidence can come any more.
 */
export function spoil(simulator: Simulator, random: Random, lostBefore: number): Faults {
  const faults: Faults = { lost: 0, silent: 0, 'cut off': 0, refused: 0, late: 0, unreadable: 0 }
  const happens = <Fault>(name: keyof Faults, fault: Fault): Fault => {
    faults[name] += 1
    return fault
  }
  let count = 0
  simulator.messages.chooseFault = () => {
    count += 1
    const chance = CERTAIN[count] ?? random.next()
    if (faults.lost < lostBefore && (faults.lost === 0 || chance < 0.02)) return happens('lost', 'drop-before')
    if (faults.silent <= lostBefore && chance < 0.04) return happens('silent', 'take-silently')
    if (chance < 0.09) return happens('cut off', 'drop-after')
    if (chance < 0.11) return happens('refused', { refuse: '503' })
    if (chance < 0.13) return happens('late', { stall: () => setTimeout(300) })
    return chance < 0.16 ? happens('unreadable', 'unreadable') : null
  }
  simulator.messages.receiptDesk.behave({
    delay: () => setTimeout(150),
    isTwice: true,
    isHeldBack: () => random.next() < 0.1,
  })
  return faults
}

/** How long a number may not write to people who do not know it, counted from the first refusal. */
const LOCKED_MS = 4_000
const SECOND_MS = 1_000
const DAY_MS = 86_400 * SECOND_MS
/** The service gets whole seconds, and queries once more when the lock seems to be over. */
const ASKED_AGAIN_WITHIN_MS = 2 * SECOND_MS

interface LockedContacts {
  /** How many messages were refused for the lock. */
  readonly count: () => number
  /** Adds the wait for the lock to a message, in the field for the wait for its file. */
  readonly withWait: (message: ListedMessage) => ListedMessage
}

/** Locks first contacts of a number for a while. */
export function lockFirstContacts({ messages }: Simulator, number: string): LockedContacts {
  let [refused, until] = [0, Number.MAX_SAFE_INTEGER]
  messages.lockedUntil.set(number, new Date(Date.now() + DAY_MS))
  messages.onSent = ({ from, isTaken }) => {
    if (from !== number || isTaken || Date.now() >= until) return
    refused += 1
    if (refused > 1) return
    until = Math.ceil((Date.now() + LOCKED_MS) / SECOND_MS) * SECOND_MS
    messages.lockedUntil.set(number, new Date(until))
  }
  return {
    count: () => refused,
    withWait(message) {
      const waitsUntil = until + ASKED_AGAIN_WITHIN_MS
      return message.connection === number && message.acceptedAt < waitsUntil
        ? { ...message, mediaEndedAt: Math.max(waitsUntil, message.mediaEndedAt ?? 0) }
        : message
    },
  }
}

/** A load of texts, and of pictures that the service has to fetch, encrypt and upload. */
export function makeLoad(plan: LoadPlan): Promise<Load> {
  return makePictureLoad(plan, { count: DIFFERENT_FILES, bytes: 5_000, pauseMs: loadPauseMs(400) })
}

/** What phones show: each message that they could read, once, in the order of the first stanzas. */
export function readArrived(
  simulator: Simulator,
  messages: readonly ListedMessage[],
  connections: ReadonlyMap<string, ConnectionId>,
): readonly DeliveredEntry[] {
  const messageOf = new Map(
    messages.flatMap(({ id, connection }) => {
      const connectionId = connections.get(connection)
      return connectionId ? [[wireIdOf({ connectionId, messageId: id as MessageId }), { id, connection }] as const] : []
    }),
  )
  const firstAt = new Map<string, number>()
  for (const { id, at, isTaken } of simulator.messages.sent) if (isTaken && !firstAt.has(id)) firstAt.set(id, at)
  const shown = [...simulator.phones.values()]
    .filter(({ number }) => !connections.has(number))
    .flatMap(({ number: to, inbox }) =>
      [...new Map(inbox.map((received) => [received.id, received])).values()].map((received) => ({ to, received })),
    )
  return shown
    .map(({ to, received: { id, message, from } }): DeliveredEntry => {
      const { imageMessage: image, extendedTextMessage: text } = message
      return {
        messageId: messageOf.get(id)?.id ?? `unknown ${id}`,
        connection: messageOf.get(id)?.connection ?? from,
        to,
        type: image ? 'image' : 'message',
        text: text?.text ?? null,
        caption: image?.caption ?? null,
        name: null,
        sizeBytes: image ? Number(image.fileLength) : null,
        sha256: image ? Buffer.from(image.fileSha256).toString('hex') : null,
        deliveredAt: firstAt.get(id) ?? 0,
      }
    })
    .toSorted((one, other) => one.deliveredAt - other.deliveredAt)
}
