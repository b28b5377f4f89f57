import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { MediaStage, RETRY_DELAYS_MS } from '../../src/core/dispatch/media/stage.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { explainMessage } from '../../src/core/sentences/explain-message.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorlds } from '../support/callback-world/callback-world.ts'
import { makeCertificate } from '../support/media-world/certificates.ts'
import { MediaWorld } from '../support/media-world/media-world.ts'
import { answering, randomLoopback, redirecting, type Script } from '../support/media-world/test-host.ts'
import { ANNA, accept, addSender, beat, type NewWorld, type StorageWorld, stateOf } from './storage-world.ts'

const ANSWER_WITHIN_MS = 500
const MINUTE_MS = 60_000
const LONGEST_RETRY_MS = Math.max(...RETRY_DELAYS_MS)
const MIB = 1024 * 1024
const MOST_BYTES = { image: 5 * MIB, video: 16 * MIB, audio: 16 * MIB, document: 100 * MIB }
const STAGE = {
  journal: { record: () => {} },
  quotaBytes: 100 * MIB,
  onSettled: () => {},
  onLost: () => {},
  belongsToPeer: () => false,
}
const LARGE = { 'content-length': '6475149' }
const TAKES = 'type image takes JPEG, PNG, WebP or GIF'
const PAGE = '<!DOCTYPE html><html><title>Sign in</title></html>'
// The time depends on how long the hosts took.
const FOUR_TIMES = ', four times in TIME.'

/** For each situation, by its number: what the host does, why the message was not sent, and what to do. */
const SITUATIONS: Readonly<Record<string, readonly [script: Script, cause: string, nextStep: string]>> = {
  9: [answering(404, {}), 'HOST answered 404 (not found).', 'Check the URL. If the file is there now, retry.'],
  10: [
    answering(403, {}),
    'HOST answered 403 (forbidden): the link needs sign-in or has run out.',
    'Send a new message with a fresh link.',
  ],
  11: [
    answering(500, {}),
    `HOST answered 500 (internal server error)${FOUR_TIMES}`,
    'The host has a problem. Retry once it works.',
  ],
  12: [
    () => {},
    `HOST did not answer the request within ${ANSWER_WITHIN_MS} ms${FOUR_TIMES}`,
    'Make the host answer faster, then retry.',
  ],
  13: [
    answering(200, {}, PAGE),
    `The file is an HTML page, but ${TAKES}.`,
    'It is often a sign-in or error page: open the URL in a private window.',
  ],
  14: [
    answering(200, LARGE),
    'The file has 6.2 MB; type image may have at most 5.0 MB.',
    'Send a smaller file, or as a document.',
  ],
  15: [
    redirecting('http://10.1.2.3/a.png'),
    'HOST redirects to 10.1.2.3, which is not a public address.',
    'Give a public URL that does not redirect there, in a new message.',
  ],
  19: [
    answering(200, { 'content-length': '1000' }, 'x'.repeat(100)),
    `HOST closed the connection before the whole file had arrived${FOUR_TIMES}`,
    'Check the host, then retry.',
  ],
  20: [answering(200, {}), `HOST sent an empty file (0 bytes)${FOUR_TIMES}`, 'Check the file at this URL, then retry.'],
  21: [
    redirecting('/again'),
    'HOST redirected more than 5 times.',
    'Give the URL that the file finally has, in a new message.',
  ],
}
const NAME = [
  'The name "no-such-host.nuncio.com" does not exist. Nuncio tried four times in TIME.',
  'Check the host in the URL, then retry.',
]
const CERTIFICATE = [
  'The certificate of HOST is self-signed. Nuncio tried four times in TIME.',
  'Use one from a public authority, then retry.',
]

describe.each(openWorlds())('a message whose file cannot be downloaded, on %s', (_, newWorld) => {
  it('G10: explains that it was not sent, why, and what to do (situations 9 to 15 and 17 to 21)', async () => {
    const hosts = await openHosts(newWorld)
    const sent: Record<string, MessageId> = {}
    const expected: Record<string, readonly string[]> = {}
    const add = async (number: string, url: string, [cause = '', nextStep = '']: readonly string[]) => {
      sent[number] = await hosts.send(url)
      expected[number] = ['Not sent.', cause.replace('HOST', new URL(url).hostname), nextStep]
    }
    for (const [number, [script, ...lines]] of Object.entries(SITUATIONS))
      await add(number, (await hosts.media.host(script)).url(), lines)
    const address = randomLoopback()
    const secure = await hosts.media.host(() => {}, { address, certificate: makeCertificate({ addresses: [address] }) })
    await add('17', 'http://no-such-host.nuncio.com/a.png', NAME)
    await add('18', secure.url('/a.png', 'https'), CERTIFICATE)

    await hosts.downloadInVain(Object.values(sent))

    const found = await Promise.all(
      Object.entries(sent).map(async ([number, id]) => [number, await hosts.read(id)] as const),
    )
    assert.deepEqual(Object.fromEntries(found), expected)
  })
})

/** Storage with a clock that the test moves, and hosts that answer in real time. */
async function openHosts(newWorld: NewWorld) {
  const [world, media] = [await newWorld(), await MediaWorld.open()]
  onTestFinished(async () => {
    await media.close()
    await world.close()
  })
  const sender = await addSender(world)
  return {
    media,
    send: (url: string) => accept(world, sender, { media: true, url }),
    read: (id: MessageId) => linesOf(world, id),
    /** Downloads until no file is retried any more. */
    async downloadInVain(ids: readonly MessageId[]) {
      const fetcher = media.fetcher({ maxBytes: MOST_BYTES, timing: { headersMs: ANSWER_WITHIN_MS } })
      const stage = new MediaStage({ ...STAGE, queue: world.mediaQueue, clock: world.clock, fetcher })
      await beat(world, ANNA, 60 * MINUTE_MS)
      await stage.start()
      const haveFailed = async () => {
        await world.clock.pass(LONGEST_RETRY_MS / 4)
        const states = await Promise.all(ids.map((id) => stateOf(world, id)))
        return states.every((state) => state === 'FAILED')
      }
      await waitUntil('all downloads were given up', haveFailed, { deadlineMs: 60_000 })
      await stage.stop()
    },
  }
}

async function linesOf({ administration }: StorageWorld, id: MessageId): Promise<readonly (string | null)[]> {
  const { sentence, cause, nextStep } = explainMessage(await administration.explainMessage(id))
  return [sentence, cause?.replace(/(four times in) \d.*\./, '$1 TIME.') ?? null, nextStep]
}
