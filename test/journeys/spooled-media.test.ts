import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'

const LOOPBACK = { settings: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } }

describe.each(ENGINES)('media that waits in the spool on $name', ({ start: startNuncio }) => {
  it('is fetched again when it goes missing, and the message is sent', async () => {
    const nuncio = await startNuncio(LOOPBACK)
    const messageId = await waitWithMedia(nuncio)
    for (const path of filesIn(spoolOf(nuncio))) rmSync(path)

    await resume(nuncio)
    const timeline = await nuncio.reaches(messageId, 'PUBLISHED', 'FAILED')

    assert.equal(timeline.message.state, 'PUBLISHED')
    assert.ok(timeline.timeline.some(({ kind }) => kind === 'media-lost'))
    assert.equal((await nuncio.inbox()).length, 1)
  })

  it('is fetched again before any attempt if the whole spool was lost while the service was down', async () => {
    const before = await startNuncio(LOOPBACK)
    const messageId = await waitWithMedia(before)
    await before.stop()
    rmSync(spoolOf(before), { recursive: true })
    const nuncio = await before.restart()

    await resume(nuncio)
    const timeline = await nuncio.reaches(messageId, 'PUBLISHED', 'FAILED')

    assert.equal(timeline.message.state, 'PUBLISHED')
    assert.ok(!timeline.timeline.some(({ kind }) => kind === 'attempt-rejected'))
  })

  it('survives a restart without another fetch, and other files of dead processes are removed', async () => {
    const before = await startNuncio(LOOPBACK)
    const messageId = await waitWithMedia(before)
    const [kept] = filesIn(spoolOf(before))
    const dead = join(spoolOf(before), 'worker-of-before')
    mkdirSync(dead)
    for (const name of ['crashed.part', 'unknown.media']) writeFileSync(join(dead, name), '')
    const nuncio = await before.restart()

    const afterStart = [existsSync(dead), existsSync(kept!)]
    await resume(nuncio)
    const timeline = await nuncio.reaches(messageId, 'PUBLISHED')

    assert.deepEqual(afterStart, [false, true])
    assert.equal(timeline.timeline.filter(({ kind }) => kind === 'media-fetched').length, 1)
    // The file is removed a moment later.
    await expect.poll(() => filesIn(spoolOf(nuncio))).toEqual([])
  })
})

/** A message whose file has been fetched, and that waits because of a pause. */
async function waitWithMedia(nuncio: Journey): Promise<string> {
  const host = await serveFiles({ '/a.png': { body: tinyPng(), type: 'image/png' } })
  await nuncio.operator.administration.setConnectionState(await connectionOf(nuncio), 'paused', 'test')
  const media = { name: 'a.png', url: `${host}/a.png` }
  const { messageId } = await nuncio.post({ from: SENDER, to: '15551234567', message: { type: 'image', media } })
  const kinds = async () => (await nuncio.timeline(messageId)).timeline.map(({ kind }) => kind)
  await expect.poll(kinds).toContain('media-fetched')
  return messageId
}

async function resume(nuncio: Journey): Promise<void> {
  await nuncio.operator.administration.setConnectionState(await connectionOf(nuncio), 'active', 'test')
}

async function connectionOf({ operator }: Journey) {
  return (await operator.administration.findConnection(SENDER, null)).id
}

function spoolOf({ dataDir }: Journey): string {
  return join(dataDir, 'spool')
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.media'))
    .map((entry) => join(entry.parentPath, entry.name))
}
