import assert from 'node:assert/strict'
import { createDecipheriv, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { uploadAttachment } from '../../src/channels/whatsapp-web/media/upload-attachment.ts'
import { MEDIA_TYPES, type MediaType } from '../../src/core/message/message.ts'
import { createGuardedCall } from '../../src/media/create-guarded-call.ts'
import { systemClock } from '../../src/server/system-clock.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { LIBRARY, type MessageProto, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import type { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import {
  end,
  linked,
  newNumber,
  openSimulator,
  RECIPIENT,
  send,
  simulator,
  TO,
  until,
  wireId,
} from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()

describe.skipIf(REASON)(
  `${LIBRARY.name} ${LIBRARY.version}, against the simulator, with files${skipNote(REASON)}`,
  () => {
    openSimulator()

    it.each(MEDIA_TYPES)('sends a file that we have uploaded: %s', async (type) => {
      const number = newNumber()
      const client = await linked(number)
      const bytes = randomBytes(70_000)
      const message = await upload(client, type, bytes)

      const ack = await send(client, type, { message })

      assert.equal(ack.attrs['error'], undefined)
      for (const phone of [simulator.phone(RECIPIENT), simulator.phone(number)]) {
        const file = phone.files.at(-1)
        assert.deepEqual([file?.type, file?.bytes.equals(bytes)], [type, true])
      }
      await end(client)
    })

    it('queries the hosts for files, and queries them again only on request', async () => {
      const client = await linked(newNumber())
      const before = requests()

      await client.socket.refreshMediaConn(false)
      const [cached, asked] = [await client.socket.refreshMediaConn(false), requests() - before]
      simulator.media.expireToken()
      const fresh = await client.socket.refreshMediaConn(true)

      assert.equal(asked, 1)
      assert.notEqual(fresh.auth, cached.auth)
      await end(client)
    })

    it('encrypts with the same keys as the library', async () => {
      const client = await linked(newNumber())
      const bytes = randomBytes(1_000)
      const { imageMessage } = await upload(client, 'image', bytes)
      assert.ok(imageMessage)
      const { iv, cipherKey } = await simulator.library.getMediaKeys(imageMessage.mediaKey, 'image')

      const encrypted = simulator.media.download(imageMessage.directPath)

      assert.ok(encrypted)
      const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv)
      assert.ok(Buffer.concat([decipher.update(encrypted.subarray(0, -10)), decipher.final()]).equals(bytes))
      await end(client)
    })

    it('a phone that cannot open a file causes a complaint', async () => {
      const client = await linked(newNumber())
      const { imageMessage } = await upload(client, 'image', randomBytes(100))

      await send(client, 'another key', { message: { imageMessage: { ...imageMessage, mediaKey: randomBytes(32) } } })
      await send(client, 'no file', { message: { imageMessage: { ...imageMessage, directPath: '/nothing' } } })

      await client.socket.relayMessage(
        TO,
        { imageMessage },
        { messageId: wireId(client, 'as a text'), additionalAttributes: { type: 'text' } },
      )
      await until('all complaints', () => simulator.complaints.some((complaint) => complaint.includes('the type text')))

      const complaints = simulator.takeComplaints().join('\n')
      assert.match(complaints, /its file has a wrong MAC/)
      assert.match(complaints, /its file is not there/)
      await end(client)
    })
  },
)

async function upload(client: LibraryClient, type: MediaType, bytes: Buffer): Promise<MessageProto> {
  const path = join(temporaryFolder(), 'file')
  await writeFile(path, bytes)
  const parts = {
    guarded: createGuardedCall({ isLoopbackOpened: true, trustedCertificates: [simulator.media.authority] }),
    clock: systemClock,
    isLoopbackTaken: true,
    mediaHosts: (isFresh: boolean) => client.socket.refreshMediaConn(isFresh),
  }
  const content = { type, name: 'file.bin', url: 'https://files.example/file.bin', caption: null }
  const media = { path, sizeBytes: bytes.length, sha256: '', mime: 'application/octet-stream' }
  const uploaded = await uploadAttachment(parts, { content, media }, new AbortController().signal)
  assert.ok(uploaded.kind === 'uploaded', JSON.stringify(uploaded))
  return uploaded.message
}

function requests(): number {
  return simulator.requests.filter((request) => request.includes('media_conn')).length
}
