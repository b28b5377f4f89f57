import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createWhatsAppCloud, type WhatsAppCloud } from '../../../src/channels/whatsapp-cloud/index.ts'
import { WHATSAPP_CLOUD } from '../../../src/channels/whatsapp-cloud/name.ts'
import type { NamedTemplates } from '../../../src/channels/whatsapp-cloud/settings.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { MediaFile, MessageContent } from '../../../src/core/message/message.ts'
import type { Failure, Handover, Outcome } from '../../../src/core/ports/channel.ts'
import type { Clock } from '../../../src/core/ports/clock.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import type { Secrets } from '../../../src/core/ports/secrets.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import { addSender, type Sender } from '../../conformance/storage-world.ts'
import { PNG } from '../media-world/media-world.ts'
import { testSecrets } from '../secrets.ts'
import type { Simulator } from '../whatsapp-cloud/simulator-types.ts'
import { NUMBER, openSimulator } from '../whatsapp-cloud/simulator-world.ts'

/** A recipient without special behaviour. */
export const ANY_RECIPIENT = '15550001234'
export const HELLO: MessageContent = { type: 'message', text: 'Hello' }

interface CloudWorldOptions {
  readonly templates?: NamedTemplates
  readonly settings?: Readonly<Record<string, unknown>>
  /** Replaces the URL of the simulator. */
  readonly baseUrl?: string
}

/** The channel with the simulator and a real storage. All use one clock, which tests move by hand. */
export async function openCloudWorld(options: CloudWorldOptions = {}) {
  const storage = await newSqliteWorld()
  const { clock } = storage
  const { simulator } = await openSimulator({ now: () => clock.now() })
  const sender = await addSender(storage)
  const folder = await mkdtemp(join(tmpdir(), 'nuncio-cloud-'))
  const secrets = testSecrets()
  const settings = sealedSettings(sender, secrets, options)
  const noted: JournalEvent[] = []
  const memory = storage.channelState(WHATSAPP_CLOUD)
  /** Opens the channel of one more worker. Workers share what they know only through storage. */
  const openChannel = (): WhatsAppCloud => {
    const channel = createWhatsAppCloud({
      memory,
      clock,
      secrets,
      connections: storage.channelConnections(WHATSAPP_CLOUD),
      baseUrl: options.baseUrl ?? simulator.url,
      note: (event) => noted.push(event),
    })
    onTestFinished(() => channel.stop())
    return channel
  }
  onTestFinished(async () => {
    await storage.close()
    await rm(folder, { recursive: true, force: true })
  })
  const channel = openChannel()
  const handover = makeHandovers(sender, { clock, settings })
  const send = (message: Handover, by: WhatsAppCloud = channel, signal = AbortSignal.timeout(10_000)) =>
    by.send(message, signal, () => true)
  const prepare = async (message: Handover, by: WhatsAppCloud = channel) => {
    const prepared = await by.prepare?.(message, AbortSignal.timeout(10_000))
    if (!prepared) throw new Error('the channel prepares nothing')
    return prepared
  }
  const spool = async (bytes: Buffer, mime: string): Promise<MediaFile> => {
    const path = join(folder, randomUUID())
    await writeFile(path, bytes)
    return { path, sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), mime }
  }
  /** Prepares the attachment and then sends. */
  const sendFile = async (message: Handover): Promise<Outcome> => {
    const prepared = await prepare(message)
    if (prepared.kind === 'failed') return { kind: 'rejected', failure: prepared.failure }
    return send(message)
  }
  return {
    channel,
    openChannel,
    simulator,
    storage,
    memory,
    clock,
    sender,
    settings,
    noted,
    handover,
    send,
    prepare,
    sendFile,
    spool,
  }
}

/** Returns a function that makes handovers, each of a new message. */
function makeHandovers(
  { accountId, connectionId, number }: Sender,
  { clock, settings }: { readonly clock: Clock; readonly settings: Handover['settings'] },
) {
  let made = 0
  return (content: MessageContent, given: Partial<Handover> = {}): Handover => {
    made += 1
    return {
      messageId: `0192c3f0-0000-7000-8000-${String(made).padStart(12, '0')}` as MessageId,
      accountId,
      connectionId,
      from: number,
      to: ANY_RECIPIENT,
      content,
      media: null,
      attemptNumber: 1,
      startedAt: clock.now(),
      settings,
      ...given,
    }
  }
}

/** The stored settings, with the secrets sealed for this connection. */
function sealedSettings(
  { accountId, connectionId }: Sender,
  secrets: Secrets,
  { templates, settings }: CloudWorldOptions,
): Readonly<Record<string, unknown>> {
  const place = { purpose: 'connection', accountId, owner: connectionId } as const
  return {
    phoneNumberId: NUMBER.phoneNumberId,
    businessAccountId: NUMBER.businessAccountId,
    accessToken: secrets.seal(NUMBER.accessToken, { ...place, name: 'accessToken' }),
    appSecret: secrets.seal(NUMBER.appSecret, { ...place, name: 'appSecret' }),
    verifyToken: secrets.seal(NUMBER.verifyToken, { ...place, name: 'verifyToken' }),
    ...(templates && { templates }),
    ...settings,
  }
}

export type CloudWorld = Awaited<ReturnType<typeof openCloudWorld>>

export const FILES = {
  png: PNG,
  pdf: Buffer.from('%PDF-1.4 a document'),
  mp4: Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(12)]),
  ogg: oggOpus(1),
  stereo: oggOpus(2),
  vorbis: Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('\x01vorbis')]),
}

function oggOpus(channels: number): Buffer {
  return Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead'), Buffer.from([1, channels])])
}

export function failureOf(outcome: Outcome): Failure {
  if (outcome.kind !== 'rejected') throw new Error(`it was ${outcome.kind}`)
  return outcome.failure
}

/** What the phone received last. */
export function lastSent({ sent }: Simulator) {
  const last = sent.at(-1)
  if (!last) throw new Error('nothing was sent')
  return last
}
