import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import { ERASED } from '../../core/message/erased.ts'
import type { AlarmSeverity } from '../../core/watchdog/alarm-kinds.ts'
import { attentionHandlers } from '../../http/console-api/alarms/attention-handlers.ts'
import { createAlarms } from '../../storage/queries/alarms/alarms.ts'
import { createOverview } from '../../storage/queries/overview/overview.ts'
import { createWebhooks } from '../../storage/queries/webhooks/webhooks.ts'

const GB = 1_073_741_824

describe.each(ENGINES)('the alarms in attention, on %s', (engine) => {
  let world: CliWorld
  let account: AccountId

  beforeEach(async () => {
    world = new CliWorld()
    const close = await world.open(engine)
    account = await world.account()
    return close
  })

  function raise(severity: AlarmSeverity): Promise<void> {
    const facts = { host: 'mail-2', folder: '/data', freeBytes: 0.5 * GB, totalBytes: 100 * GB }
    return world.raiseAlarm({ kind: 'disk_filling', severity, object: 'mail-2:/data', facts })
  }

  it('say what is wrong and what to do', async () => {
    await raise('warning')

    const { stdout } = await world.cli('attention')
    const { alarms } = (await world.json('attention')) as { alarms: object[] }

    assert.match(
      stdout,
      /^Alarms\n {2}warning: mail-2 has 512 MB of 100 GB left under \/data\. When that is full, nothing is accepted or sent\. Make room on it or enlarge it\. → nuncio attention/,
    )
    assert.deepEqual(
      alarms.map((alarm) => Object.keys(alarm)),
      [['id', 'kind', 'severity', 'of', 'object', 'name', 'account', 'since', 'raisedAt', 'cause', 'nextStep']],
    )
  })

  it('are none of a service that has died: then that is said, and a check fails', async () => {
    await world.killService()

    const { stdout } = await world.cli('attention')
    const check = await world.cli('attention', '--check')
    const { running } = (await world.json('attention')) as { running: boolean }

    assert.match(stdout, /^Nuncio is not running: nothing is accepted, sent or watched/)
    assert.deepEqual([check.code, running], [1, false])
  })

  it('G10: say of a process that stands still to restart it, and not to start another', async () => {
    const { id } = await world.accept({ connectionId: await world.connection(account) })
    await world.killService()
    world.holder = 1234

    const attention = await world.cli('attention')
    const message = await world.cli('message', 'explain', id)
    const { reasonText, nextStep } = await world.json('message', 'explain', id)

    const sentence =
      'Process 1234 has shown no sign of life since 15 Jan 2026, 11:59:45 UTC, but still holds the data. Nothing is sent.'
    assert.match(
      attention.stdout,
      /^Process 1234 holds the data, but shows no sign of life: .* Restart that process\.\n/,
    )
    assert.match(
      message.stdout,
      new RegExp(`\nWhy: ${sentence}\n[^]*\nWhat to do: Restart that process\\. → nuncio workers\n`),
    )
    assert.deepEqual([reasonText, nextStep], [sentence, 'Restart that process. → nuncio workers'])
  })

  it('G10: come after the reason why nothing can be written, and then no process is reported as stopped', async () => {
    await world.accept({ connectionId: await world.connection(account) })
    const healthy = await world.json('attention')
    world.error = { since: null, cause: 'The disk is full.' }

    const [fresh, silent] = [await world.json('attention'), await silenced()]
    const { stdout } = await world.cli('attention')
    const check = await world.cli('attention', '--check')

    assert.deepEqual([healthy['storage'], healthy['running']], [null, true])
    assert.deepEqual([fresh['storage'], fresh['running']], [{ cause: 'The disk is full.' }, true])
    assert.deepEqual([silent['storage'], silent['running']], [{ cause: 'The disk is full.' }, null])
    assert.match(stdout, /^The disk is full. Nothing can be accepted or sent. Make room/)
    assert.doesNotMatch(stdout, /No service|nuncio serve|Nothing wants/)
    assert.equal(check.code, 1)
  })

  async function silenced() {
    await world.killService()
    return world.json('attention')
  }

  it('make it exit with 1 when it is asked to check and one is critical', async () => {
    const nothing = await world.cli('attention', '--check')
    await raise('warning')
    const warning = await world.cli('attention', '--check')
    await world.run(`update alarm set severity = 'critical'`)
    const critical = await world.cli('attention', '--check')
    const unasked = await world.cli('attention')

    assert.deepEqual(
      [nothing, warning, critical, unasked].map(({ code }) => code),
      [0, 0, 1, 0],
    )
  })
})

describe.each(ENGINES)('attention, on %s', (engine) => {
  let world: CliWorld
  let connectionId: ConnectionId

  beforeEach(async () => {
    world = new CliWorld()
    const close = await world.open(engine)
    connectionId = await world.connection(await world.account())
    return close
  })

  it('says that nothing wants it', async () => {
    await world.accept({ connectionId })

    assert.equal((await world.cli('attention')).stdout, 'Nothing needs your attention.\n')
    assert.deepEqual(await world.json('attention'), {
      storage: null,
      running: true,
      alarms: [],
      hold: null,
      unconfirmed: [],
      webhooks: [],
      lanes: [],
      messages: [],
    })
  })

  it('shows unconfirmed messages, and numbers that only a person can start again', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await world.database.rewriteMessage(sequence, { recipient: ERASED })
    await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'credentials_refused', words: '401' })
    const found = await world.json<{ unconfirmed: { id: string }[]; lanes: unknown[] }>('attention')
    const { stdout } = await world.cli('attention')

    assert.deepEqual(
      found.unconfirmed.map((message) => message.id),
      [id],
    )
    assert.deepEqual(found.lanes, [
      {
        connection: '15550001000',
        account: 'Acme',
        reason: 'credentials_refused',
        words: '401',
        until: null,
        waiting: 1,
        oldestWaitingAt: '2026-01-15T12:00:00.000Z',
        nextStep:
          'Enter valid credentials in the settings of the connection, then resume it. → nuncio connection resume 15550001000',
      },
    ])
    assert.match(
      stdout,
      /Unconfirmed.*\n {2}message-1 from 15550001000 to an erased recipient, accepted .*\. Its result is unknown, and no report shows whether it arrived\. It cannot be sent again\. If you know that it arrived, choose “It arrived”\.\n\nNumbers that need you\n {2}15550001000: The sandbox rejects the credentials of 15550001000\. 1 message waits \(Acme\)\. Since: /,
    )
  })

  it('says of unconfirmed messages what their own network did, and why one cannot be sent again', async () => {
    const account = (await world.administration.listAccounts())[0]!.id
    const other = await world.connection(account, '15550001001')
    const [broken, removed] = [
      await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' }),
      await world.accept({ connectionId: other, state: 'UNCONFIRMED', reason: 'result_unknown' }),
    ]
    await world.run('update connection set channel = ? where id = ?', 'whatsapp-cloud', connectionId)
    await world.run('update message set words = ? where id = ?', 'Meta broke the connection', broken.id)
    await world.administration.removeConnection(other, false, 'test')

    const { stdout } = await world.cli('attention')

    const line = (id: string) => stdout.split('\n').find((one) => one.startsWith(`  ${id} `))
    assert.match(
      line(broken.id) ?? '',
      / The connection to Meta broke, and no report shows whether it arrived\. Nuncio noted: “Meta broke the connection”$/,
    )
    assert.match(line(removed.id) ?? '', / It cannot be sent again: 15550001001 was removed\. If you know /)
  })

  it('lists the same as the console', async () => {
    const account = (await world.administration.listAccounts())[0]!.id
    const refused = await world.connection(account, '15550001001')
    await world.accept({ connectionId: refused })
    await world.lane(refused, { reason: 'credentials_refused', words: '401' })
    await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    const facts = { host: 'mail-2', folder: '/data', freeBytes: 0.5 * GB, totalBytes: 100 * GB }
    await world.raiseAlarm({ kind: 'disk_filling', severity: 'warning', object: 'mail-2:/data', facts })
    const store = {
      alarms: createAlarms(world.store),
      overview: createOverview(world.store),
      webhooks: createWebhooks(world.store),
    }
    const { readAttention } = attentionHandlers({ store } as never)

    const { stdout } = await world.cli('attention')
    const { items } = await readAttention({} as never, { accountId: account, role: 'owner' } as never)

    assert.deepEqual(
      items.map(({ key }) => key.split(' ')[0]),
      ['alarm', 'number', 'messages'],
    )
    for (const { title } of items) assert.ok(stdout.includes(title.replace(/\.$/, '')), `${title}\n${stdout}`)
    assert.match(
      stdout,
      /\nFailed or expired within seven days\n {2}1 message failed: Number rejected \(Acme\)\. The latest: .*\n\nNumbers that need you\n {2}15550001001: /,
    )
  })

  it('leaves out a lane that only keeps its pace, and one that is paused with nothing to do', async () => {
    await world.lane(connectionId, { reason: 'pace', until: NOON + 1_000 })
    const other = await world.connection((await world.administration.listAccounts())[0]!.id, '15550001001')
    await world.administration.setConnectionState(other, 'paused', 'test')
    await world.accept({ connectionId })

    assert.deepEqual((await world.json<{ lanes: unknown[] }>('attention')).lanes, [])
  })
})
