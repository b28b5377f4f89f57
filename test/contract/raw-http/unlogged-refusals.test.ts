import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ServerUnderTest, withServer } from './server-under-test.ts'
import type { StubIntake } from './stub-intake.ts'

describe('a refusal that cannot be written to the API log', () => {
  it('G11: is counted, and written to the API log when storage can write again', async () => {
    const intake = await withStoppedServer(async (server) => {
      server.intake.answer = () => ({ kind: 'unavailable', code: 'not_accepted' })
      await server.ask()
      await server.ask()
      server.intake.canLog = false
      await server.ask({ body: '{}' })
      server.intake.canLog = true
    })

    assert.deepEqual(
      intake.summed.map(({ status, errors, requests }) => [status, codesOfErrors(errors), requests]),
      [
        [503, ['not_accepted'], 2],
        [400, ['field_required'], 1],
      ],
    )
  })

  it('G11: is also counted if storage fails after the reply', async () => {
    const intake = await withStoppedServer(
      async (server) => {
        const held = server.intake.hold()
        await server.ask()
        held.release({ kind: 'unavailable', code: 'commit_unknown' })
        await new Promise(setImmediate)
      },
      { limits: { storageWaitMs: 100 } },
    )

    assert.deepEqual(
      intake.summed.map(({ errors, requests }) => [codesOfErrors(errors), requests]),
      [[['commit_unknown'], 1]],
    )
  })

  it('is answered even if it cannot be logged, or if logging never ends', async () => {
    await withServer({ limits: { storageWaitMs: 100 } }, async (server) => {
      server.intake.canLog = false
      const unlogged = await server.ask({ body: '{}' })
      server.intake.logRefused = () => new Promise(() => {})
      const endless = await server.ask({ body: '{}' })
      server.intake.logRefused = () => Promise.reject(new Error('no'))
      const failed = await server.ask({ body: '{}' })

      assert.deepEqual([unlogged?.status, endless?.status, failed?.status], [400, 400, 400])
      assert.equal(server.notLogged, 1)
      // The others were counted, to be logged once they can be written.
      await server.stop()
      assert.equal(server.notLogged, 3)
    })
  })
})

/** The intake after the server has stopped and written its counts. */
async function withStoppedServer(
  test: (server: ServerUnderTest) => Promise<void>,
  overrides: Parameters<typeof withServer>[0] = {},
): Promise<StubIntake> {
  let intake: StubIntake | undefined
  await withServer(overrides, async (server) => {
    intake = server.intake
    await test(server)
  })
  assert.ok(intake)
  return intake
}

function codesOfErrors(errors: string): string[] {
  return (JSON.parse(errors) as { code: string }[]).map(({ code }) => code)
}
