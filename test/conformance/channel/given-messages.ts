import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { MediaFile, MediaType, MessageContent } from '../../../src/core/message/message.ts'
import type { Handover, OpenQuestion } from '../../../src/core/ports/channel.ts'
import { tinyPng } from '../../support/journey/serve-files.ts'
import type { Given } from './channel-world.ts'

export const ANY_RECIPIENT = '15550001234'
const SENDER = '15550001000'

interface Kind {
  readonly name: string
  readonly mime: string
  readonly bytes: () => Buffer
}

// The shortest content that a network accepts as this type if it checks the bytes.
const KINDS: Readonly<Record<MediaType, Kind>> = {
  image: { name: 'picture.png', mime: 'image/png', bytes: tinyPng },
  document: {
    name: 'Rechnung März ‎№ 7.pdf',
    mime: 'application/pdf',
    bytes: () => Buffer.from('%PDF-1.4\n\0\xff\n%%EOF\n'),
  },
  video: {
    name: 'film.mp4',
    mime: 'video/mp4',
    bytes: () => Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypmp42'), Buffer.alloc(70_000, 7)]),
  },
  audio: {
    name: 'sound.mp3',
    mime: 'audio/mpeg',
    bytes: () => Buffer.concat([Buffer.from('ID3\x04'), Buffer.alloc(999, 5)]),
  },
}

export interface Owner {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly settings: Handover['settings']
}

/** The spool of a world, and messages as a lane hands them over. */
export class GivenMessages {
  readonly #folder: string
  readonly #owner: Owner
  #files = 0

  private constructor(folder: string, owner: Owner) {
    this.#folder = folder
    this.#owner = owner
  }

  static async open(owner: Owner): Promise<GivenMessages> {
    return new GivenMessages(await mkdtemp(join(tmpdir(), 'nuncio-channel-')), owner)
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }

  async handover(given: Given = {}): Promise<Handover> {
    const { to = ANY_RECIPIENT, attemptNumber = 1, settings = this.#owner.settings } = given
    return {
      messageId: randomUUID() as MessageId,
      accountId: this.#owner.accountId,
      connectionId: this.#owner.connectionId,
      from: SENDER,
      to,
      content: contentOf(given),
      media: given.type ? await this.#spool(KINDS[given.type]) : null,
      attemptNumber,
      startedAt: Date.now(),
      settings,
    }
  }

  async #spool({ mime, bytes }: Kind): Promise<MediaFile> {
    this.#files += 1
    const path = join(this.#folder, String(this.#files))
    // Each file is different, so that no network recognises one as another.
    const content = Buffer.concat([bytes(), Buffer.from(randomUUID())])
    await writeFile(path, content)
    const sha256 = createHash('sha256').update(content).digest('hex')
    return { path, sizeBytes: content.length, sha256, mime }
  }
}

function contentOf({ text = 'Hello', type, caption = null }: Given): MessageContent {
  if (!type) return { type: 'message', text }
  const { name } = KINDS[type]
  return { type, name, url: `https://files.example/${type}`, caption: type === 'audio' ? null : caption }
}

export function questionAbout(handover: Handover): OpenQuestion {
  const { messageId, accountId, connectionId, to, attemptNumber, startedAt } = handover
  return { messageId, accountId, connectionId, to, attemptNumber, startedAt }
}
