import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { ConnectionId } from '../../core/ids.ts'

let world: CliWorld

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  await world.cli('account', 'create', 'Acme')
  return close
}

const ADD = ['connection', 'add', '15550001000', '--channel', 'sandbox']

describe.each(ENGINES)('accounts, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are made and listed', async () => {
    const made = await world.json('account', 'create', 'Other')

    assert.deepEqual(Object.keys(made), ['id', 'name', 'createdAt'])
    const accounts = await world.json<{ name: string; createdAt: string }[]>('account', 'list')
    assert.deepEqual(accounts.map(({ name }) => name).sort(), ['Acme', 'Other'])
    assert.equal(accounts[0]?.createdAt, '2026-01-15T12:00:00.000Z')
    assert.match((await world.cli('account', 'list')).stdout, /^NAME +ID +MADE\n/)
  })

  it.each([
    [['account', 'create', 'Acme'], 1, 'account_exists'],
    [['account', 'create', ''], 2, 'argument_invalid'],
    [[...ADD, '--account', 'Missing'], 1, 'account_unknown'],
  ])('refuse %j', async (args, code, refusal) => {
    const answer = await world.cli(...args)

    assert.equal(answer.code, code)
    assert.match(answer.stderr, new RegExp(`\\(${refusal}\\)\n$`))
  })

  it('are named by name or id where there are several', async () => {
    const { id } = await world.json<{ id: string }>('account', 'create', 'Other')

    const ambiguous = await world.cli(...ADD)
    assert.deepEqual([ambiguous.code, /account_ambiguous/.test(ambiguous.stderr)], [1, true])
    assert.equal((await world.json(...ADD, '--account', id))['account'], 'Other')
    assert.equal((await world.json(...ADD, '--account', 'Acme'))['account'], 'Acme')
  })
})

describe.each(ENGINES)('connections, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are added with exactly the promised fields', async () => {
    const connection = await world.json(...ADD)

    assert.deepEqual(connection, {
      id: connection['id'],
      number: '15550001000',
      name: null,
      account: 'Acme',
      channel: 'sandbox',
      state: 'active',
      waiting: 0,
      oldestWaitingAt: null,
      reason: null,
    })
    assert.deepEqual(await world.json('connection', 'list'), [connection])
  })

  it('take settings of the lane and of the channel', async () => {
    await world.cli(...ADD, '--set', 'latency=200ms', '--set', 'least_gap=2s')
    await world.cli('connection', 'set', '15550001000', 'read_after=3s', 'on_unconfirmed=resend')

    const { policy, channelSettings } = await world.administration.findConnection('15550001000', null)
    assert.deepEqual(channelSettings, { latencyMs: 200, readAfterMs: 3_000 })
    assert.deepEqual([policy.leastGapMs, policy.onUnconfirmed], [2_000, 'resend'])
  })

  it.each([
    [['connection', 'add', '+1 555 000 1000', '--channel', 'sandbox'], 2, 'number_malformed'],
    [['connection', 'add', '15550001001', '--channel', 'telex'], 1, 'channel_unknown'],
    [[...ADD, '--set', 'color=red'], 2, 'argument_invalid'],
    [[...ADD, '--set', 'latency'], 2, 'argument_invalid'],
    [['connection', 'pause', '15559999999'], 1, 'connection_unknown'],
    [['connection', 'set', '15559999999', 'least_gap=1s'], 1, 'connection_unknown'],
    [['connection', 'remove', '12'], 2, 'number_malformed'],
  ])('refuse %j', async (args, code, refusal) => {
    const answer = await world.cli(...args)

    assert.equal(answer.code, code, answer.stderr)
    assert.match(answer.stderr, new RegExp(`\\(${refusal}\\)\n$`))
  })

  it('refuse a second time, and a number that several accounts have', async () => {
    await world.cli(...ADD)
    assert.match((await world.cli(...ADD)).stderr, /connection_exists/)
    await world.cli('account', 'create', 'Other')
    await world.cli(...ADD, '--account', 'Other')

    assert.match((await world.cli('connection', 'pause', '15550001000')).stderr, /connection_ambiguous/)
    assert.equal((await world.json('connection', 'pause', '15550001000', '--account', 'Other'))['state'], 'paused')
  })

  it('are renamed, and lose their name again', async () => {
    await world.cli(...ADD)

    const said = await world.cli('connection', 'rename', '15550001000', ' Front desk ')
    const listed = await world.cli('connection', 'list')
    const long = await world.cli('connection', 'rename', '15550001000', 'x'.repeat(61))
    const unnamed = await world.json('connection', 'rename', '15550001000', '')

    assert.equal(said.stdout, '15550001000 is now called “Front desk”.\n')
    assert.match(listed.stdout, /15550001000 +Front desk +Acme /)
    assert.deepEqual([long.code, /has at most 60 characters/.test(long.stderr)], [2, true])
    assert.equal(unnamed['name'], null)
  })

  it('are paused, resumed and removed, and say what waits', async () => {
    const { id } = await world.json<{ id: ConnectionId }>(...ADD)
    await world.accept({ connectionId: id })
    await world.accept({ connectionId: id })

    const paused = await world.json('connection', 'pause', '15550001000')
    assert.deepEqual(
      [paused['state'], paused['waiting'], paused['oldestWaitingAt'], paused['reason']],
      ['paused', 2, '2026-01-15T12:00:00.000Z', 'paused'],
    )
    assert.match(
      (await world.cli('connection', 'list')).stdout,
      /15550001000 .* paused +2 .*The command line paused 15550001000 .*|15550001000 is paused\./,
    )
    assert.equal(
      (await world.cli('connection', 'resume', '15550001000')).stdout,
      'Resumed 15550001000. 2 messages wait on it.\n',
    )
    await world.json('hold', '--because', 'restored the backup of Monday')
    assert.equal(
      (await world.cli('connection', 'resume', '15550001000')).stdout,
      'Resumed 15550001000. 2 messages wait on it. A person held all numbers: “restored the backup of Monday”.\n',
    )
    await world.json('hold', '--release')
    assert.match(
      (await world.cli('connection', 'remove', '15550001000')).stderr,
      /2 messages wait .*--cancel-waiting.*connection_has_waiting/,
    )
    const removed = await world.json('connection', 'remove', '15550001000', '--cancel-waiting')
    assert.deepEqual([removed['state'], removed['cancelled']], ['removed', 2])
    assert.deepEqual(await world.json('connection', 'list'), [])
    assert.match((await world.cli('connection', 'list')).stdout, /^There is no connection yet\. Add one/)
  })

  it('G5: are confirmed without counting as cancelled what may have arrived before', async () => {
    const { id } = await world.json<{ id: ConnectionId }>(...ADD)
    const { sequence } = await world.accept({ connectionId: id })
    await world.acceptMany(2, id)
    await world.lane(id, { reason: 'backlog_confirmation', until: NOON + 86_400_000 })
    await world.endAttempt(sequence, { outcome: 'unknown' })
    world.now += 60_000
    await world.accept({ connectionId: id })

    const { stdout } = await world.cli('connection', 'approve-backlog', '15550001000', '--cancel-older-than', '30s')

    assert.match(stdout, /^2 messages were cancelled\. 1 message is UNCONFIRMED: an earlier attempt may have arrived\./)
    assert.match(stdout, /\nConfirmed: 1 message that waits on 15550001000/)
  })

  it('G5: are removed without counting as cancelled what may have arrived before', async () => {
    const { id } = await world.json<{ id: ConnectionId }>(...ADD)
    const { sequence } = await world.accept({ connectionId: id })
    await world.acceptMany(2, id)
    await world.endAttempt(sequence, { outcome: 'unknown' })

    const { stdout } = await world.cli('connection', 'remove', '15550001000', '--cancel-waiting')

    assert.equal(
      stdout,
      'Removed 15550001000. 2 messages were cancelled. 1 message is UNCONFIRMED: an earlier attempt may have arrived. See: nuncio message list --state UNCONFIRMED\n',
    )
    const [entry] = await world.audited('connection.remove')
    assert.deepEqual(JSON.parse(entry?.detail ?? ''), { number: '15550001000', cancelled: 2, unconfirmed: 1 })
  })
})
