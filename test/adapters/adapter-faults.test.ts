import assert from 'node:assert/strict'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { describe, it } from 'vitest'
import { putFile } from '../../src/operations/verify-adapter/request-cases.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { DIALECTS, sha256Of } from '../support/bridge/fake-messengers.ts'
import { type MessengerName, openWorld } from '../support/bridge/messenger-world.ts'

const LARGE_LOG_BYTES = 80e6
const JUNK = `${'x'.repeat(4_095)}\n`.repeat(1_024)
const NAMES = Object.keys(DIALECTS) as MessengerName[]

describe('an adapter', () => {
  it('hands over no message that it could not write to its full disk', async () => {
    await using world = await openWorld('waha', { mostFileBytes: 512 })

    const { result, code } = await world.attempt({ receiptsUrl: `http://127.0.0.1:1/${'x'.repeat(600)}` })

    assert.deepEqual([result, code], ['rejected', 'adapter_storage'])
    assert.deepEqual(world.gateway.sent, [])
  })

  it('keeps its receipts when a proxy answers 400', async () => {
    await using world = await openWorld('waha')
    const receiver = await world.takeReceipts([400])

    await world.attempt({ receiptsUrl: receiver.url })

    await waitUntil('both receipts came', async () => receiver.receipts.length === 2, { deadlineMs: 10_000 })
  })

  it('drops a batch that Nuncio itself can never read, logs that, and continues with the next', async () => {
    await using world = await openWorld('waha')
    const receiver = await world.takeReceipts([400], true)

    await world.attempt({ receiptsUrl: receiver.url })
    await waitUntil('it says so', async () => /are dropped: Nuncio cannot read them/.test(world.process.output), {
      deadlineMs: 5_000,
    })
    await world.attempt({ receiptsUrl: receiver.url })

    await waitUntil('the next came', async () => receiver.receipts.length >= 2, { deadlineMs: 5_000 })
    assert.ok(receiver.receipts.length <= 3)
  })

  it('starts with a log larger than its memory, and with the lock of a killed one', async () => {
    await using world = await openWorld('waha', { mostHeapMb: 64 })
    const { networkId } = await world.attempt({})
    await world.process.kill()
    const known = readFileSync(world.log, 'utf8')
    // A killed process leaves its lock. Here its number belongs to another program by now.
    rmSync(`${world.log}.lock`, { force: true })
    writeFileSync(`${world.log}.lock`, String(process.pid))
    const file = openSync(world.log, 'a')
    for (const junk of [JUNK, JUNK.replaceAll('\n', 'x')])
      for (let written = 0; written < LARGE_LOG_BYTES; written += junk.length) writeSync(file, junk)
    writeSync(
      file,
      `\n${known
        .split('\n')
        .findLast((line) => line.includes('"open"'))
        ?.replaceAll(/[0-9a-f]{8}-/g, 'ffffffff-')}\n`,
    )
    closeSync(file)

    await world.process.start()
    const [open] = known.split('\n').flatMap((line) => /"open":"([^"]+)"/.exec(line)?.[1] ?? [])
    const evidence = await world.evidenceOf(String(open))
    const last = await world.evidenceOf(String(open).replace(/^.{8}/, 'ffffffff'))

    assert.deepEqual([evidence['state'], evidence['networkId']], ['accepted', networkId])
    assert.equal(last['state'], 'pending')
    assert.ok(statSync(world.log).size < 10_000)
  })

  it('is the only one that uses its log while it runs', async () => {
    await using world = await openWorld('waha')

    await assert.rejects(world.startAnother(), /Another adapter uses .*log: two cannot share a log\.\n/)
    await world.process.kill()
    await world.process.start()
    await assert.rejects(world.startAnother(), /two cannot share a log/)
  })

  it('does not let a URL that accepts no receipts delay receipts to another URL', async () => {
    await using world = await openWorld('waha')
    const away = await world.takeReceipts(Array.from({ length: 100 }, () => 404))
    const receiver = await world.takeReceipts()

    await world.attempt({ receiptsUrl: away.url })
    await world.attempt({ receiptsUrl: receiver.url })

    await waitUntil('both receipts came', async () => receiver.receipts.length === 2, { deadlineMs: 5_000 })
    assert.deepEqual(away.receipts, [])
  })

  it('hands over no message under the webhook-id of another attempt', async () => {
    await using world = await openWorld('waha')
    const body = JSON.stringify(world.adapter.fieldsOf())

    const id = `att_${crypto.randomUUID()}_1`
    const answer = await world.adapter.ask({ method: 'POST', path: '/v1/attempts', id, body })

    assert.equal(answer?.status, 400)
    assert.deepEqual(world.gateway.sent, [])
  })

  it('requests a file again that a crash cut off', async () => {
    await using world = await openWorld('waha')
    const file = Buffer.from('the whole picture')
    const sha256 = sha256Of(file)
    await putFile(world.adapter, sha256, file)
    truncateSync(`${world.log}.media/${sha256}`, 3)
    const media = { sha256, sizeBytes: file.length, mime: 'image/png' }
    const content = { type: 'image', caption: null, name: 'a.png', media }

    const cutOff = await world.attempt({ content })
    await putFile(world.adapter, sha256, file)
    const whole = await world.attempt({ content })

    assert.deepEqual([cutOff['code'], whole['result']], ['media_missing', 'accepted'])
    assert.deepEqual(
      world.gateway.sent.map((one) => one.sha256),
      [sha256],
    )
  })

  it.runIf(process.platform === 'linux')('closes the file of a call that ended early', async () => {
    await using world = await openWorld('gowa')
    const file = Buffer.alloc(8_000_000, 'x')
    const sha256 = sha256Of(file)
    assert.equal(await putFile(world.adapter, sha256, file), true)
    world.gateway.breaksOff = true

    const media = { sha256, sizeBytes: file.length, mime: 'image/png' }
    const content = { type: 'image', caption: null, name: 'a.png', media }
    assert.equal((await world.attempt({ content }))['result'], 'unknown')

    const { pid } = world.process
    const opened = () => readdirSync(`/proc/${pid}/fd`).map((name) => targetOf(pid, name))
    await waitUntil('the file is closed', async () => !opened().some((path) => path.includes(sha256)), {
      deadlineMs: 10_000,
    })
  })

  it('keeps its log and its media from other users', async () => {
    await using world = await openWorld('waha')

    const modes = [world.log, `${world.log}.media`].map((path) => statSync(path).mode & 0o777)

    assert.deepEqual(modes, [0o600, 0o700])
  })

  it.each(NAMES)('for %s does not start with an empty webhook secret, and says why', async (name) => {
    await assert.rejects(openWorld(name, { webhookKey: '' }), /must hold a secret of at least 16 characters\.\n/)
  })
})

describe('the adapter for waha', () => {
  it.each([
    ['a key, as NOWEB does', { key: { id: 'A1' } }, 'A1'],
    ['an object, as WEBJS does', { id: { id: 'A2', _serialized: 'true_1@c.us_A2' } }, 'A2'],
    ['a short object', { id: { id: 'A3' } }, 'A3'],
    ['a text', { id: 'true_1@c.us_A4' }, 'A4'],
  ])('knows a message that is named by %s', async (_, value, id) => {
    await using world = await openWorld('waha')
    world.gateway.answer = { status: 201, value }

    const { networkId } = await world.attempt({})

    assert.equal(networkId, id)
  })
})

/** Empty if the file was closed meanwhile. */
function targetOf(pid: number, name: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${name}`)
  } catch {
    return ''
  }
}
