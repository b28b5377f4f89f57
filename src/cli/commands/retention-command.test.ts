import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'

describe.each(ENGINES)('nuncio retention, on %s', (engine) => {
  let world: CliWorld

  beforeEach(async () => {
    world = new CliWorld()
    const close = await world.open(engine)
    await world.account('Acme')
    return close
  })

  it('shows how long what is kept', async () => {
    const shown = (await world.cli('retention')).stdout

    assert.match(shown, /file names are kept 30 days, messages and the API log 90 days, the audit log 400 days/)
    assert.match(shown, /Nothing was checked yet/)
  })

  it('lets an account keep less, with an entry in the audit log, and never more', async () => {
    const changed = (await world.cli('retention', '--account', 'Acme', '--bodies', '7')).stdout
    const more = (await world.cli('retention', '--account', 'Acme', '--messages', '91')).stderr
    const longer = (await world.cli('retention', '--account', 'Acme', '--messages', '10', '--bodies', '11')).stderr

    assert.match(changed, /kept 7 days, messages and the API log 90 days/)
    assert.match(more, /Messages are kept for 90 days in this installation: an account can have less, not more\./)
    assert.match(longer, /Texts cannot be kept longer \(11 days\) than the messages they belong to \(10 days\)\./)
    const [entry] = await world.audited('retention.change')
    assert.deepEqual(JSON.parse(entry?.detail ?? ''), { bodiesDays: 7, messagesDays: null })
  })

  it('shows the wait after a copy, and ends it', async () => {
    await world.delayRetention(world.now + 3_600_000)

    const waiting = (await world.cli('attention')).stdout
    await world.cli('retention', '--begin')
    const after = (await world.cli('attention')).stdout

    assert.match(waiting, /This installation was copied from another: it begins in 1 hour/)
    assert.doesNotMatch(after, /copied from another/)
  })
})
