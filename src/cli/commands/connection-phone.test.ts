import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { waitUntil } from '../../../test/support/black-box/wait-until.ts'
import { NO_CALLS } from '../../../test/support/bridge/no-calls.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import { createSetUps } from '../../channels/registry.ts'
import { DEFAULT_LANE_POLICY } from '../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import { placeOfCode, type SessionRequestProgress } from '../../core/ports/session-requests.ts'
import { systemClock } from '../../server/system-clock.ts'

const NUMBER = '15550001000'
const LIMIT = { deadlineMs: 20_000 }

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

/** What the worker of the lane writes. */
async function report(progress: SessionRequestProgress, code: string | null = null): Promise<void> {
  const [row] = await world.all('select id from session_request')
  const id = String(row?.['id'])
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

/** The command runs, and a worker takes it up, shows this code, and ends it so. */
async function carriedOut(args: readonly string[], end: SessionRequestProgress, code: string | null = null) {
  const running = world.cli(...args)
  await waitUntil('the request', async () => (await world.all('select id from session_request')).length > 0, LIMIT)
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
    assert.match(linked.stdout, /15550001000 is linked\. What waits is sent now\.\n$/)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stdout,
      /its number ends in 42.* Nothing was linked\.\n.* → nuncio connection pair 15550001000\n$/,
    )
  })

  it('is linked by a code to type, and as JSON says each step in a line', async () => {
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
    world.setUps = createSetUps({
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
    assert.deepEqual(await world.all('select * from session_request'), [])
  })

  it('is linked by one person at a time', async () => {
    const running = world.cli('connection', 'pair', NUMBER)
    await waitUntil('the request', async () => (await world.all('select id from session_request')).length > 0, LIMIT)
    const second = await world.cli('connection', 'pair', NUMBER)
    await report({ state: 'ended', end: 'cancelled' })
    await running

    assert.match(second.stderr, /is being linked at this moment \(by cli\)\..*\(session_request_running\)\n$/)
  })

  it('is said how it stands by the check, without asking the network', async () => {
    const before = await world.cli('connection', 'check', NUMBER)
    await world.run(
      `insert into session_status (connection_id, status, since, code, ready_at, device, version)
         values (?, 'taken-elsewhere', ?, 440, ?, '3', '2.3000.1')`,
      of.id,
      world.now,
      world.now,
    )
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
    await world.run(
      `insert into session_status (connection_id, status, since, code, ready_at, device, version)
         values (?, 'ready', ?, null, ?, '3', '2.3000.1')`,
      of.id,
      world.now,
      world.now,
    )
    await world.run(
      `insert into channel_session (connection_id, data_key, credentials, holds) values (?, '', ?, 0)`,
      of.id,
      Buffer.of(1),
    )
    const served = await world.cli('connection', 'check', NUMBER)
    await world.run('delete from worker')
    const alone = await world.cli('connection', 'check', NUMBER)

    assert.deepEqual([alone.code, served.code], [1, 0])
    assert.match(alone.stdout, /^No worker runs, so 15550001000 is not logged in\.\n +Start Nuncio\. → nuncio serve\n/)
    assert.match(served.stdout, /^15550001000 is linked and logged in\.\n +Device +3 of the phone’s linked devices\n/)
  })
})
