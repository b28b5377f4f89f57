import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, it, onTestFinished } from 'vitest'
import { openWorld, type World, type WorldPlan } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { OtlpReceiver } from '../support/traces/otlp-receiver.ts'

const NOTES = fileURLToPath(new URL('../support/traces/note-loaded-modules.mjs', import.meta.url))

async function open(environment: NonNullable<WorldPlan['environment']>): Promise<World> {
  const world = await openWorld({ connections: 1, environment })
  onTestFinished(() => world.close())
  return world
}

async function send({ client, connections }: World): Promise<string> {
  const message = { type: 'message', message: 'hello' }
  const answer = await client.send({ from: connections[0] ?? '', to: '15550177001', message, idempotencyKey: null })
  assert.equal(answer.kind, 'acked')
  return answer.kind === 'acked' ? answer.messageId : ''
}

describe('the trace of a message', () => {
  it('continues in another process after a kill -9 between the request and the attempt', async () => {
    const receiver = await OtlpReceiver.open()
    onTestFinished(() => receiver.close())
    const world = await open({ NUNCIO_TRACES_URL: receiver.url })
    const number = world.connections[0] ?? ''
    await world.cli.json('connection', 'pause', number)

    const messageId = await send(world)
    await receiver.has(messageId, 'accept message', 'commit message')
    const killedAt = Date.now()
    await world.service.killNine()
    await world.service.start()
    await world.cli.json('connection', 'resume', number)
    const spans = await receiver.has(messageId, 'wait in the lane', 'attempt', 'commit outcome')

    const accept = spans.find(({ name }) => name === 'accept message')
    const [wait, attempt] = ['wait in the lane', 'attempt'].map((wanted) => spans.find(({ name }) => name === wanted))
    assert.equal(attempt?.parentSpanId, accept?.spanId)
    assert.equal(wait?.parentSpanId, accept?.spanId)
    assert.notEqual(attempt?.resource['service.instance.id'], accept?.resource['service.instance.id'])
    // The wait begins with the acceptance, which the second process knows only from the message.
    assert.ok(accept && wait && wait.startedAt > accept.startedAt - 1_000 && wait.startedAt <= killedAt)
  })
})

describe('the code for traces', () => {
  it.each([
    [false, 'without NUNCIO_TRACES_URL'],
    [true, 'with it'],
  ])('is loaded: %s %s', async (isWanted) => {
    const receiver = await OtlpReceiver.open()
    onTestFinished(() => receiver.close())
    const file = join(temporaryFolder(), 'loaded-modules')
    const world = await open({
      NODE_OPTIONS: `--import=${NOTES}`,
      LOADED_MODULES_FILE: file,
      ...(isWanted ? { NUNCIO_TRACES_URL: receiver.url } : {}),
    })

    await send(world)
    await world.service.stop()

    const loaded = readFileSync(file, 'utf8')
    assert.ok(loaded.includes('/src/server/application.ts'))
    assert.equal(loaded.includes('/src/observability/traces/'), isWanted)
  })
})
