import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { AdapterProcess } from '../support/bridge/run-adapter.ts'
import { newSecret } from '../support/bridge/scripted-adapter.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { type Journey, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { HttpNetwork } from '../support/kannel/http-network.ts'
import { Kannel, kannelObstacle } from '../support/kannel/kannel.ts'

const NUMBER = '15550009000'
const TO = '15551230001'
const POLLING = { timeout: 60_000, interval: 100 }
const REFUSED_USER = /Kannel refuses the user, the password or the address of the adapter: compare .* sendsms-user\./
const obstacle = kannelObstacle()

describe.skipIf(obstacle !== null)(`the whole path to a real Kannel${skipNote(obstacle)}`, () => {
  it('sends a text through the SMSC, and shows it DELIVERED after its delivery report', async () => {
    const { nuncio, kannel, cli, send } = await openWay()
    await kannel.startAll()

    assert.equal(await factOf(cli, 'Last report'), 'none yet')
    const ids = [await send('hello'), await send('Grüße {äöü} [€]')]
    for (const id of ids) await nuncio.reaches(id, 'DELIVERED')
    assert.match((await factOf(cli, 'Last report')) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
    const emoji = await send('Снег ❄ 🙂')
    await nuncio.reaches(emoji, 'DELIVERED')

    assert.deepEqual(kannel.arrived, [`${TO} hello`, `${TO} Grüße {äöü} [€]`, `${TO} Снег ❄ 🙂`])
  })

  it('waits while Kannel is away, and sends in order once it is there', async () => {
    const { nuncio, kannel, send, reason } = await openWay()

    const ids = [await send('one'), await send('two')]
    await expect.poll(reason, POLLING).toBe('bridge_not_ready')
    await kannel.startAll()
    for (const id of ids) await nuncio.reaches(id, 'DELIVERED')

    assert.deepEqual(kannel.arrived, [`${TO} one`, `${TO} two`])
  })

  it('fails messages that Kannel does not route or would truncate', async () => {
    const { nuncio, kannel, send } = await openWay()
    await kannel.startAll()

    const refused = await nuncio.reaches(await send('hello', '491701234567'), 'FAILED')
    const tooLong = await nuncio.reaches(await send('x'.repeat(1_531)), 'FAILED')
    await nuncio.reaches(await send('after'), 'DELIVERED')

    assert.equal(refused.message.reason, 'bridge_recipient_refused')
    assert.equal(tooLong.message.reason, 'bridge_content_refused')
    assert.deepEqual(kannel.arrived, [`${TO} after`])
  })

  it('fails messages that the network refuses, gives up on, or reports as failed', async () => {
    const network = await HttpNetwork.open()
    onTestFinished(() => network.close())
    const { nuncio, kannel, send } = await openWay({ network })
    await kannel.startAll()

    const [refused, givenUp, lost] = [await send('perm'), await send('temp'), await send('lost')]
    const sent = await send('sent')
    await expect.poll(() => network.taken.map(({ text }) => text), POLLING).toEqual(['lost', 'sent'])
    assert.equal((await nuncio.reaches(lost, 'PUBLISHED', 'FAILED')).message.state, 'PUBLISHED')
    await kannel.report('f1', 2)
    await kannel.report('f2', 1)

    const failed = []
    for (const id of [refused, givenUp, lost]) failed.push(await nuncio.reaches(id, 'FAILED'))
    await nuncio.reaches(sent, 'DELIVERED')
    assert.deepEqual(
      failed.map(({ timeline }) => timeline.findLast(({ kind }) => kind === 'receipt-failed')?.words ?? null),
      ['NACK perm refused', 'NACK Retries Exceeded', null],
    )
    assert.deepEqual(
      [...network.tries],
      [
        ['perm', 1],
        ['temp', 2],
        ['lost', 1],
        ['sent', 1],
      ],
    )
  })

  it('refuses a wrong password and a wrong user with a sentence, and keeps messages waiting for the right ones', async () => {
    const { nuncio, kannel, cli, send, reason } = await openWay()
    await kannel.startAll()
    await kannel.changeUser({ password: 'another1234' })

    const waiting = [await send('one'), await send('two')]
    await expect.poll(reason, POLLING).toBe('bridge_not_ready')
    const words = async () => (await nuncio.timeline(waiting[0] ?? '')).laneWait?.words
    await expect.poll(words, POLLING).toMatch(REFUSED_USER)
    const checks = [await cli.run('connection', 'check', NUMBER)]
    await kannel.changeUser({ name: 'another' })
    checks.push(await cli.run('connection', 'check', NUMBER))
    await kannel.changeUser({})
    for (const id of waiting) await nuncio.reaches(id, 'DELIVERED')

    for (const { stderr } of checks) assert.match(stderr, REFUSED_USER)
    for (const { stderr } of checks) assert.equal(stderr.trimEnd().split('\n').length, 1)
    assert.deepEqual(kannel.arrived, [`${TO} one`, `${TO} two`])
  })

  it('waits while the queue of Kannel is full, and sends each message once when there is room', async () => {
    const { nuncio, kannel, send, reason } = await openWay({ status: false })
    await kannel.start('bearerbox')
    await kannel.start('smsbox')

    const ids: string[] = []
    for (const text of ['1', '2', '3', '4', '5', '6']) ids.push(await send(text))
    await expect.poll(reason, POLLING).toBe('bridge_busy')
    await kannel.start('fakesmsc')
    for (const id of ids) await nuncio.reaches(id, 'DELIVERED')

    assert.deepEqual(
      kannel.arrived.toSorted(),
      ['1', '2', '3', '4', '5', '6'].map((text) => `${TO} ${text}`),
    )
  })

  it('G5: learns from a delivery report what became of a message while Kannel was frozen, and sends it once', async () => {
    const { nuncio, kannel, send } = await openWay()
    await kannel.startAll()
    await nuncio.reaches(await send('before'), 'DELIVERED')

    kannel.signal('bearerbox', 'SIGSTOP')
    const frozen = await send('frozen')
    await expect.poll(async () => kindsOf(await nuncio.timeline(frozen)), POLLING).toContain('attempt-unknown')
    kannel.signal('bearerbox', 'SIGCONT')
    await nuncio.reaches(frozen, 'DELIVERED')
    await nuncio.reaches(await send('after'), 'DELIVERED')

    assert.deepEqual(kannel.arrived, [`${TO} before`, `${TO} frozen`, `${TO} after`])
  })

  it('continues after a crash of Kannel and of the adapter', async () => {
    const { nuncio, kannel, adapter, send } = await openWay()
    await kannel.startAll()
    await nuncio.reaches(await send('one'), 'DELIVERED')

    await kannel.close()
    await adapter.kill()
    const waiting = [await send('two'), await send('three')]
    await adapter.start()
    await kannel.startAll()
    for (const id of waiting) await nuncio.reaches(id, 'DELIVERED')

    assert.deepEqual(kannel.arrived, [`${TO} one`, `${TO} two`, `${TO} three`])
  })
})

interface Way {
  readonly nuncio: Journey
  readonly kannel: Kannel
  readonly adapter: AdapterProcess
  readonly cli: CliOn
  /** Returns the id of the message. */
  readonly send: (text: string, to?: string) => Promise<string>
  /** Why the connection waits. */
  readonly reason: () => Promise<string | null>
}

interface WayParts {
  /** Whether the adapter polls the status page of Kannel. */
  readonly status?: boolean
  /** Replaces `fakesmsc` behind Kannel. */
  readonly network?: HttpNetwork | null
}

/** A service with a connection to an adapter, in front of a Kannel that is not started yet. */
async function openWay({ status = true, network = null }: WayParts = {}): Promise<Way> {
  const folder = temporaryFolder()
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, `${newSecret()}\n`)
  const kannel = await Kannel.create(folder, network)
  onTestFinished(() => kannel.close())
  const adapter = await AdapterProcess.create({
    program: ['src/cli/main.ts', 'adapter', 'kannel'],
    secretFile,
    log: join(folder, 'kannel.log'),
    arguments: [
      ...['--gateway', kannel.url, '--user', 'nuncio', '--password-file', kannel.passwordFile],
      ...(status ? ['--status', kannel.statusUrl] : []),
    ],
  })
  await adapter.start()
  onTestFinished(() => adapter.kill())
  const settings = { NUNCIO_PORT: String(await findFreePort()), NUNCIO_BRIDGE_ORIGINS: adapter.origin }
  const nuncio = await startNuncio({ settings })
  const cli = new CliOn(nuncio.dataDir, settings)
  // The adapter must see Kannel ready when the connection is added.
  await kannel.startAll()
  const set = [`url=${adapter.origin}`, `secret=@${secretFile}`, 'send_timeout=5s', 'evidence_wait=20s']
  await cli.json('connection', 'add', NUMBER, '--channel', 'bridge', ...set.flatMap((pair) => ['--set', pair]))
  await kannel.close()
  return {
    nuncio,
    kannel,
    adapter,
    cli,
    async send(text, to = TO) {
      const reply = await nuncio.post({ from: NUMBER, to, message: { type: 'message', message: text } })
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
      return reply.messageId
    },
    async reason() {
      const listed = await cli.json<{ number: string; reason: string | null }[]>('connection', 'list')
      return listed.find(({ number }) => number === NUMBER)?.reason ?? null
    },
  }
}

/** What a check of the connection reports under this name. */
async function factOf(cli: CliOn, wanted: string): Promise<string | undefined> {
  const { facts } = await cli.json<{ facts: { label: string; value: string }[] }>('connection', 'check', NUMBER)
  return facts.find(({ label }) => label === wanted)?.value
}

function kindsOf({ timeline }: Awaited<ReturnType<Journey['timeline']>>): readonly string[] {
  return timeline.map(({ kind }) => kind)
}
