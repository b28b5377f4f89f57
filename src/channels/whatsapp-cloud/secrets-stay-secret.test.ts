import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { FILES, HELLO, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import { answering, TestHost } from '../../../test/support/media-world/test-host.ts'
import { NUMBER } from '../../../test/support/whatsapp-cloud/simulator-world.ts'
import { systemClock } from '../../server/system-clock.ts'
import { createOnboarding } from './onboarding.ts'

const SECRETS = [NUMBER.accessToken, NUMBER.appSecret, NUMBER.verifyToken]
const PHOTO = { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: null } as const

/** A network that repeats all that it gets, in every place where it can say something. */
async function openEcho(status: number) {
  const said = `Malformed access token ${SECRETS.join(' ')} EAAGanotherpieceofone1234 in Bearer ${NUMBER.accessToken}`
  const error = {
    code: status === 401 ? 190 : 424242,
    message: said,
    error_data: { details: said },
    error_user_msg: said,
  }
  const host = await TestHost.open({ script: answering(status, { said }, JSON.stringify({ error, said })) })
  return { host, url: host.url('') }
}

describe('secrets', () => {
  it.each([401, 400, 500, 200])(
    'stay out of outcomes, refusals and the journal, whatever Meta says (HTTP %i)',
    async (status) => {
      const { host, url } = await openEcho(status)
      const { handover, send, prepare, spool, noted } = await openCloudWorld({ baseUrl: url })
      const media = await spool(FILES.png, 'image/png')
      const { phoneNumberId, businessAccountId, accessToken, appSecret, verifyToken } = NUMBER
      const settings = { phoneNumberId, businessAccountId, accessToken, appSecret, verifyToken }
      const onboarding = createOnboarding({ baseUrl: url, clock: systemClock })
      const caught = (error: Error) => ({
        message: error.message,
        all: String(error),
        stack: error.stack,
        cause: error.cause,
      })

      const report = [
        await send(handover(HELLO)),
        await prepare(handover(PHOTO, { media })),
        await onboarding.prove({ number: NUMBER.number, settings }).catch(caught),
        await onboarding.listTemplates(settings).catch(caught),
        ...noted,
      ]
      await host.close()

      const text = JSON.stringify(report)
      assert.ok(report.length >= 4)
      for (const secret of [...SECRETS, 'EAAGanotherpieceofone1234']) assert.ok(!text.includes(secret), text)
    },
  )

  it('stay out of what is said when the connection breaks', async () => {
    const { handover, send, prepare, spool, noted } = await openCloudWorld({ baseUrl: 'http://127.0.0.1:1' })

    const report = [
      await send(handover(HELLO)),
      await prepare(handover(PHOTO, { media: await spool(FILES.png, 'image/png') })),
      ...noted,
    ]

    for (const secret of SECRETS) assert.ok(!JSON.stringify(report).includes(secret))
  })

  it('would be found if they were shown', () => {
    const report = JSON.stringify([{ words: `Malformed access token ${NUMBER.accessToken}` }])

    assert.ok(SECRETS.some((secret) => report.includes(secret)))
  })

  it('go out only in the header that they belong in', async () => {
    const host = await TestHost.open({ script: answering(200, {}, '{"messages":[{"id":"wamid.1"}]}') })
    const { handover, send } = await openCloudWorld({ baseUrl: host.url('') })

    await send(handover(HELLO))
    await host.close()

    const [request = ''] = host.requests
    assert.equal(request.split(NUMBER.accessToken).length, 2)
    assert.ok(request.includes(`authorization: Bearer ${NUMBER.accessToken}`))
    assert.ok(!request.includes(NUMBER.appSecret) && !request.includes(NUMBER.verifyToken))
  })
})
