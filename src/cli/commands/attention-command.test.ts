import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { AccountId } from '../../core/ids.ts'

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

  function raise(severity: string): Promise<void> {
    const facts = { host: 'mail-2', folder: '/data', freeBytes: 0.5 * GB, totalBytes: 100 * GB }
    return world.run(
      `insert into alarm (account_id, kind, object, severity, facts, since, raised_at, changed_at, is_announced)
        values (null, 'disk_filling', 'mail-2:/data', ?, ?, ?, ?, ?, 1)`,
      ...[severity, JSON.stringify(facts), world.now, world.now, world.now],
    )
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
    await world.run('update worker set heartbeat_until = ?', world.now)

    const { stdout } = await world.cli('attention')
    const check = await world.cli('attention', '--check')
    const { running } = (await world.json('attention')) as { running: boolean }

    assert.match(stdout, /^Nuncio is not running: nothing is accepted, sent or watched/)
    assert.deepEqual([check.code, running], [1, false])
  })

  it('G10: say of a process that stands still to restart it, and not to start another', async () => {
    const { id } = await world.accept({ connectionId: await world.connection(account) })
    await world.run('update worker set heartbeat_until = ?', world.now)
    world.holder = 1234

    const attention = await world.cli('attention')
    const message = await world.cli('message', 'explain', id)
    const { reasonText, nextStep } = await world.json('message', 'explain', id)

    const sentence =
      'Process 1234 has shown no sign of life since 15 Jan 2026, 11:59:45 UTC, but still holds the data, so nothing is sent.'
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
    assert.match(
      stdout,
      /15550001000 \(Acme\): 1 waiting.* The disk is full. Nothing can be accepted or sent. Make room/,
    )
    assert.doesNotMatch(stdout, /No service|nuncio serve|Nothing wants/)
    assert.equal(check.code, 1)
  })

  async function silenced() {
    await world.run('update worker set heartbeat_until = ?', world.now)
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
