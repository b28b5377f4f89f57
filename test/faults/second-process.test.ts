import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { openWorld, type World } from '../support/black-box/world.ts'

describe('a second process on the same data', () => {
  it('G2: may not serve: it ends with one clear sentence, and the first continues', async () => {
    const world = await openWorld({ connections: 1 })
    try {
      const second = await prepareSecond(world)

      second.spawn()
      const { code } = await second.ended(60_000)

      assert.notEqual(code, 0)
      const lines = second.log.trim().split('\n')
      assert.equal(lines.length, 1, second.log)
      assert.match(second.log, /another nuncio serves .* already/i)
      assert.equal((await sendOne(world)).kind, 'acked')
    } finally {
      await world.close()
    }
  })

  it('G2: may serve as soon as the first one was killed', async () => {
    const world = await openWorld({ connections: 1 })
    const second = await prepareSecond(world)
    try {
      await world.service.killNine()

      await second.start()

      assert.ok(await second.isAlive())
    } finally {
      await second.stop()
      await world.close()
    }
  })

  it('G7: the command line works beside the service, and its changes apply to the next request', async () => {
    const world = await openWorld({ connections: 1 })
    try {
      const { cli } = world
      const before = await sendOne(world)
      const [token] = (await cli.json<{ id: string; name: string }[]>('token', 'list')).filter(
        ({ name }) => name === 'load',
      )

      await cli.json('token', 'delete', token?.id ?? '')
      const after = await sendOne(world)

      assert.equal(before.kind, 'acked')
      assert.deepEqual(after, { kind: 'refused', status: 401, codes: ['unauthorized'] })
    } finally {
      await world.close()
    }
  })
})

async function prepareSecond({ dataDir, workDir }: World): Promise<NuncioProcess> {
  // Its own folder for its output, and the data folder of the first process.
  const place = join(workDir, 'second')
  mkdirSync(place)
  return new NuncioProcess({ dataDir, workDir: place, port: await findFreePort() })
}

async function sendOne({ client, connections: [from = ''] }: World) {
  const message = { type: 'message', message: 'hello' }
  return await client.send({ from, to: '447900000001', message, idempotencyKey: null })
}
