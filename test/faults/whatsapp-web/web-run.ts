import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { wireIdOf } from '../../../src/channels/whatsapp-web/wire-id.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import { openAdministration } from '../../../src/server/wiring/open-administration.ts'
import { Load, type Special } from '../../support/black-box/load.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import type { Random } from '../../support/black-box/random.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { openStranger } from '../../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../../support/journey/serve-files.ts'
import type { DeliveredEntry, ListedMessage } from '../../support/ledger/ledger-input.ts'
import { LIBRARY_FOLDER } from '../../support/whatsapp-web/library.ts'
import { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { storeLinked } from '../../support/whatsapp-web/store-linked.ts'
import { loadPauseMs } from '../run-length.ts'

const FIRST_NUMBER = 15_550_003_100
const SHARE_OF_FILES = 0.2
const DIFFERENT_FILES = 20
/** By the place of a message: a cut-off one and an unreadable one, so that a short run has them, too. */
const CERTAIN: Readonly<Record<number, number>> = { 5: 0.08, 8: 0.15 }

/** A simulator where everybody has WhatsApp. */
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

/** The settings of the service for it; `folder` is one of the test's own. */
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

/** A connection that sends as fast as it can. */
export async function addConnection({ cli }: Pick<Linking, 'cli'>, number: string): Promise<void> {
  const pace = ['--set', 'least_gap=0s', '--set', 'gap_jitter=0s']
  await cli.json('connection', 'add', number, '--channel', WHATSAPP_WEB, ...pace)
}

/** As many connections whose phones are linked. Returns them by number. */
export async function linkNumbers(
  simulator: Simulator,
  linking: Linking & { readonly count: number },
): Promise<ReadonlyMap<string, ConnectionId>> {
  installChannel(linking)
  const ids = new Map<string, ConnectionId>()
  for (let index = 0; index < linking.count; index += 1) {
    const number = String(FIRST_NUMBER + index)
    await addConnection(linking, number)
    ids.set(number, await linkPhone(simulator, linking, number))
  }
  return ids
}

/** As after a phone was linked to this connection. */
export async function linkPhone(
  simulator: Simulator,
  linking: Omit<Linking, 'cli'>,
  number: string,
): Promise<ConnectionId> {
  const { settings, session } = await openData(linking)
  const stranger = await openStranger(settings.database)
  try {
    const isPostgres = settings.database.engine === 'postgres'
    return await storeLinked({ stranger, isPostgres, secrets: await session.openSecrets() }, simulator, number)
  } finally {
    await stranger.close()
    await session.close()
  }
}

/** As a command does it. */
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
 * One message in twenty is taken and its line breaks before the ack, some are taken without one, some are refused for now or late,
 * some devices cannot read one; receipts are late and double, and one in ten comes only with the next login. `lostBefore`: so many
 * lines break before the message is taken. Each holds up its lane until no evidence can come any more.
 */
export function spoil(simulator: Simulator, random: Random, lostBefore: number): Faults {
  const faults: Faults = { lost: 0, silent: 0, 'cut off': 0, refused: 0, late: 0, unreadable: 0 }
  const happens = <Fault>(name: keyof Faults, fault: Fault): Fault => {
    faults[name] += 1
    return fault
  }
  let count = 0
  simulator.messages.chooseFault = (recipient) => {
    count += 1
    const chance = CERTAIN[count] ?? random.next()
    if (faults.lost < lostBefore && chance < 0.02) return happens('lost', 'drop-before')
    if (faults.silent <= lostBefore && chance < 0.04) return happens('silent', 'take-silently')
    if (chance < 0.09) return happens('cut off', 'drop-after')
    if (chance < 0.11) return happens('refused', { refuse: '503' })
    if (chance < 0.13) return happens('late', { stallMs: 300 })
    if (chance < 0.16) simulator.phone(recipient).deafFor += happens('unreadable', 1)
    return null
  }
  simulator.messages.receiptDesk.behave({ delayMs: 150, isTwice: true, isHeldBack: () => random.next() < 0.1 })
  return faults
}

/** Texts, and pictures that the service has to fetch, encrypt and upload. */
export async function makeLoad(plan: {
  readonly client: Pick<SendClient, 'send'>
  readonly connections: readonly string[]
  readonly seed: number
}): Promise<Load> {
  const files = Array.from({ length: DIFFERENT_FILES }, () => Buffer.concat([tinyPng(), randomBytes(5_000)]))
  const host = await serveFiles(
    Object.fromEntries(files.map((body, place) => [`/${place}.png`, { body, type: 'image/png' }])),
  )
  let pictures = 0
  const instead = (connection: string, random: Random): Special | undefined => {
    if (random.next() >= SHARE_OF_FILES) return undefined
    const place = random.between(0, DIFFERENT_FILES - 1)
    pictures += 1
    const caption = `${connection} é 🙂 ${pictures}`
    return {
      message: { type: 'image', media: { name: `${place}.png`, url: `${host}/${place}.png`, caption } },
      content: { type: 'image', text: null, caption, sha256: sha256(files[place]!), sizeBytes: files[place]!.length },
    }
  }
  return new Load({ ...plan, pauseMs: loadPauseMs(400), keyedShare: 1, textLength: 1_000, instead })
}

/** Messages that were handed over, or came to a device that had not asked for them, a second time. */
export function readRepeated({ messages: { sent, repeats } }: Simulator): readonly string[] {
  const idsOf = (isWhole: boolean) =>
    sent.filter(({ isTaken, tags }) => isTaken && tags.includes('participants') === isWhole).map(({ id }) => id)
  const handedOver = idsOf(true)
  // A line that breaks before a device's question is acknowledged brings it once more, and the device the same message.
  const asked = new Set(idsOf(false))
  return [
    ...handedOver.filter((id, place) => handedOver.indexOf(id) !== place),
    ...repeats.filter((id) => !asked.has(id)),
  ]
}

/** What phones show: each message that they could read, once, at the place of its first stanza. */
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

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
