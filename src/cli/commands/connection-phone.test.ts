import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { waitUntil } from '../../../test/support/black-box/wait-until.ts'
import { NO_CALLS } from '../../../test/support/bridge/no-calls.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import { createOnboardings } from '../../channels/registry.ts'
import { DEFAULT_LANE_POLICY } from '../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import { placeOfCode, type SessionRequestProgress } from '../../core/ports/session-requests.ts'
import { systemClock } from '../../server/system-clock.ts'

const NUMBER = '15550001000'
const LIMIT = { deadlineMs: 20_000 }
// As often as the command asks what has changed.
const ASKED_EVERY_MS = 500

let world: CliWorld
let of: { readonly accountId: AccountId; readonly id: ConnectionId }

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  const { id: accountId } = await world.administration.createAccount('Acme', 'test')
  const added = await world.administration.addConnection(
    { accountId, number: NUMBER, channel: 'whatsapp-web', policy: DEFAULT_LANE_POLICY, channelSettings: {} },
    'test',
  )
  of = { accountId, id: added.id }
  return close
}

async function requestIds(): Promise<readonly string[]> {
  return (await world.all('select id from session_request')).map(({ id }) => String(id))
}

/** What the worker of the lane writes. */
async function report(progress: SessionRequestProgress, code: string | null = null): Promise<void> {
  const [id = ''] = await requestIds()
  const sealed = code && testSecrets().seal(code, placeOfCode(of, id))
  const endedAt = progress.state === 'ended' ? world.now : null
  await world.run(
    'update session_request set progress = ?, code = ?, ended_at = ? where id = ?',
    JSON.stringify(progress),
    sealed,
    endedAt,
    id,
  )
}

/** A phone is linked, and the worker of the lane has logged in. */
async function logIn(): Promise<void> {
  await world.writeSessionStatus(of.id, 'ready')
  await world.run(
    `insert into channel_session (connection_id, data_key, credentials, holds) values (?, '', ?, 0)`,
    of.id,
    Buffer.of(1),
  )
}

/** The command runs, and a worker takes it up, shows this code, and ends it so. */
async function carriedOut(args: readonly string[], end: SessionRequestProgress, code: string | null = null) {
  const running = world.cli(...args)
  await waitUntil('the request', async () => (await requestIds()).length > 0, LIMIT)
  if (code !== null) {
    await report({ state: 'showing', shown: { number: 1, of: 6, until: world.now + 60_000 } }, code)
    await waitUntil('it is shown', async () => world.printed.includes(code.slice(0, 4)), LIMIT)
  }
  await report(end)
  return running
}

describe.each(ENGINES)('the phone of a number at the command line, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is linked by a QR code that is drawn with steps, and its end is said with the next step', async () => {
    const linked = await carriedOut(['connection', 'pair', NUMBER], { state: 'ended', end: 'done' }, 'https://wa.me/x')
    const other = { state: 'ended', end: 'other-number', detail: '42' } as const
    await world.run('delete from session_request')
    const refused = await carriedOut(['connection', 'pair', NUMBER], other)

    assert.equal(linked.code, 0, linked.stderr)
    assert.match(linked.stdout, /On the phone with the number 15550001000:/)
    assert.match(linked.stdout, /\[QR code of https:\/\/wa\.me\/x\]\nCode 1 of 6\. The next one is shown in 60 s\./)
    assert.match(linked.stdout, /15550001000 is linked\.\n$/)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stdout,
      /its number ends in 42.* Nothing was linked\.\n.* → nuncio connection pair 15550001000\n$/,
    )
  })

  it('is linked by a code to type, and as JSON says each step in a line', async () => {
    await world.accept({ connectionId: of.id })
    const typed = await carriedOut(
      ['connection', 'pair', NUMBER, '--code'],
      { state: 'ended', end: 'done' },
      'ABCD1234',
    )
    await world.run('delete from session_request')
    const asJson = await carriedOut(
      ['connection', 'pair', NUMBER, '--code', '--json'],
      { state: 'ended', end: 'expired' },
      'EFGH1234',
    )

    assert.match(typed.stdout, /\n {4}ABCD-1234\n/)
    assert.match(typed.stdout, /15550001000 is linked\. What waits is sent now\.\n$/)
    const steps = asJson.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual(steps.map(({ state, code, end }) => [state, code, end]).slice(-2), [
      ['showing', 'EFGH1234', null],
      ['ended', null, 'expired'],
    ])
    assert.match(String(steps.at(-1)?.['sentence']), /was not typed/)
  })

  it('is linked by a code whose time a terminal counts down in one line', async () => {
    const shown = async (isCountedDown: boolean) => {
      const running = world.cli('connection', 'pair', NUMBER, '--code')
      await waitUntil('the request', async () => (await requestIds()).length > 0, LIMIT)
      await report({ state: 'showing', shown: { number: 1, of: 1, until: world.now + 60_000 } }, 'ABCD1234')
      await waitUntil('it is shown', async () => world.printed.includes('It is valid for 60 s.'), LIMIT)
      world.now += 1_000
      if (isCountedDown) await waitUntil('a second less', async () => world.printed.includes('59 s'), LIMIT)
      else await setTimeout(2 * ASKED_EVERY_MS)
      await report({ state: 'ended', end: 'expired' })
      const { stdout } = await running
      await world.run('delete from session_request')
      world.printed = ''
      return stdout
    }

    const plain = await shown(false)
    world.isTerminal = true
    const onTerminal = await shown(true)

    assert.doesNotMatch(plain, /59 s/)
    const lines = [
      'It is valid for 60 s. End with Ctrl+C.',
      '\u001B[1A\u001B[2KIt is valid for 59 s. End with Ctrl+C.',
      '',
    ]
    assert.ok(onTerminal.includes(lines.join('\n')), onTerminal)
    assert.equal(onTerminal.split('59 s').length, 2)
  })

  it.each([
    ['400', 'Check that the number is right, or scan a QR code instead.'],
    ['429', 'It was asked too often. Wait an hour, or scan a QR code instead.'],
  ])('gets no code that WhatsApp refuses with %s, with what to do instead', async (detail, nextStep) => {
    const refused = { state: 'ended', end: 'code-refused', detail } as const
    const { code, stdout, stderr } = await carriedOut(['connection', 'pair', NUMBER, '--code'], refused)

    assert.deepEqual([code, stderr], [1, ''])
    const said = `WhatsApp gives out no code for ${NUMBER} (error ${detail}).\n${nextStep} → nuncio connection pair ${NUMBER}\n`
    assert.ok(stdout.endsWith(said), stdout)
    assert.doesNotMatch(stdout, /[0-9A-Z]{4}-[0-9A-Z]{4}/)
  })

  it('is refused in one sentence, and nothing is begun', async () => {
    await world.administration.addConnection(
      {
        accountId: of.accountId,
        number: '15550001001',
        channel: 'sandbox',
        policy: DEFAULT_LANE_POLICY,
        channelSettings: {},
      },
      'test',
    )
    const pair = (...args: readonly string[]) => world.cli('connection', ...args)
    const [sandbox, unknown, unlinked] = [
      await pair('pair', '15550001001'),
      await pair('pair', '15550001009'),
      await pair('unlink', NUMBER),
    ]
    world.onboardings = createOnboardings({
      settings: { whatsappCloudUrl: 'http://127.0.0.1:1' },
      clock: systemClock,
      guarded: NO_CALLS,
      extraFolder: () => '/nowhere',
    })
    const notInstalled = await pair('pair', NUMBER)
    const added = await pair('add', '15550001002', '--channel', 'whatsapp-web')

    assert.match(
      sandbox.stderr,
      /is a connection of sandbox, which is not linked to a phone\. \(channel_without_phone\)\n$/,
    )
    assert.match(unknown.stderr, /\(connection_unknown\)\n$/)
    assert.match(unlinked.stderr, /Link it first: nuncio connection pair 15550001000 \(number_not_linked\)\n$/)
    for (const { stderr } of [notInstalled, added])
      assert.match(stderr, /nuncio channel install whatsapp-web \(channel_not_installed\)\n$/)
    assert.deepEqual(await requestIds(), [])
  })

  it('is linked by one person at a time', async () => {
    const running = world.cli('connection', 'pair', NUMBER)
    await waitUntil('the request', async () => (await requestIds()).length > 0, LIMIT)
    const second = await world.cli('connection', 'pair', NUMBER)
    await report({ state: 'ended', end: 'cancelled' })
    await running

    assert.match(second.stderr, /is being linked at this moment \(by cli\)\..*\(session_request_running\)\n$/)
  })

  it('is said how it stands by the check, without asking the network', async () => {
    const before = await world.cli('connection', 'check', NUMBER)
    await world.writeSessionStatus(of.id, 'taken-elsewhere', 440)
    const after = await world.cli('connection', 'check', NUMBER)
    const asJson = JSON.parse((await world.cli('connection', 'check', NUMBER, '--json')).stdout) as { session: object }

    assert.deepEqual([before.code, after.code], [1, 1])
    assert.match(before.stdout, /^The phone of 15550001000 is not linked.*\n.* → nuncio connection pair 15550001000\n$/)
    assert.match(after.stdout, /was opened somewhere else.*\n.* → nuncio connection use-here 15550001000\n/)
    assert.match(after.stdout, / +Last login .*\n +Version +2\.3000\.1\n$/)
    assert.doesNotMatch(after.stdout, /Device/)
    assert.deepEqual(
      { ...asJson.session, sentence: null, since: null, lastLoginAt: null },
      {
        status: 'taken-elsewhere',
        sentence: null,
        since: null,
        isLinked: false,
        device: '3',
        lastLoginAt: null,
        version: '2.3000.1',
        hasWorker: true,
      },
    )
  })

  it('is not said to be logged in while no worker runs', async () => {
    await logIn()
    const served = await world.cli('connection', 'check', NUMBER)
    await world.stopService()
    const alone = await world.cli('connection', 'check', NUMBER)

    assert.deepEqual([alone.code, served.code], [1, 0])
    assert.match(alone.stdout, /^No worker runs, so 15550001000 is not logged in\.\n +Start Nuncio\. → nuncio serve\n/)
    assert.match(served.stdout, /^15550001000 is linked and logged in\.\n +Device +3 of the phone’s linked devices\n/)
  })

  it('may list this device yet when its number is removed, and only where it was linked', async () => {
    await logIn()

    const linked = await world.cli('connection', 'remove', NUMBER)
    await world.cli('connection', 'add', NUMBER, '--channel', 'sandbox')
    const sandbox = await world.cli('connection', 'remove', NUMBER)

    assert.equal(
      linked.stdout,
      `Removed ${NUMBER}. Nothing waited on it.\nThis device disappears from the phone’s list of linked devices once a worker has logged it out. If it stays there while Nuncio runs, log it out on the phone.\n`,
    )
    assert.equal(sandbox.stdout, `Removed ${NUMBER}. Nothing waited on it.\n`)
  })
})
