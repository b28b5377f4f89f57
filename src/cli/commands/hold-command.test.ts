import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'

let world: CliWorld

function open(engine: EngineName) {
  world = new CliWorld()
  return world.open(engine)
}

const AT_NOON = '2026-01-15T12:00:00.000Z'

describe.each(ENGINES)('nuncio hold, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('says that nothing is held', async () => {
    assert.deepEqual(await world.cli('hold'), { code: 0, stdout: 'The lanes are not held.\n', stderr: '' })
    assert.deepEqual(await world.json('hold'), { held: false, since: null, reason: null })
  })

  it('G12: says since when and why all lanes are held, and what to do', async () => {
    await world.cli('hold', '--because', 'restored the backup of Monday')
    world.now += 3 * 60_000

    const { stdout } = await world.cli('hold')

    assert.equal(
      stdout,
      'All lanes are held: restored the backup of Monday (3 minutes ago, at 2026-01-15 12:00:00.000 UTC). No attempt begins until they are released; one that had begun is brought to its end. New messages are accepted and wait. Check what was sent, cancel what must not go out again, then: nuncio hold --release\n',
    )
    assert.deepEqual(await world.json('hold'), {
      held: true,
      since: AT_NOON,
      reason: 'restored the backup of Monday',
    })
  })

  it('G12: says that only one may send where the data were copied', async () => {
    await world.cli('hold', '--because', 'the data were copied to PostgreSQL at localhost:5432/nuncio')

    const { stdout } = await world.cli('hold')

    assert.match(stdout, / wait\. Only one of the two may send\. If the other never will: nuncio hold --release\n$/)
  })

  it('G12: releases them, once', async () => {
    await world.cli('hold', '--because', 'why')

    const released = await world.cli('hold', '--release')
    const again = await world.cli('hold', '--release')

    assert.deepEqual(
      [released.code, released.stdout],
      [0, 'The lanes are released: while a service runs, those that wait for nothing else move again at once.\n'],
    )
    assert.deepEqual(
      [again.code, again.stderr],
      [1, 'nuncio: The numbers are not held, so there is nothing to release. (lanes_not_held)\n'],
    )
  })

  it('G12: is shown by nuncio attention, also while nothing waits', async () => {
    const before = await world.json('attention')
    await world.cli('hold', '--because', 'why')

    const { stdout } = await world.cli('attention')
    const held = await world.json('attention')

    assert.equal(before['hold'], null)
    assert.match(stdout, /^All lanes are held: why \(now, /)
    assert.deepEqual(held['hold'], { since: AT_NOON, reason: 'why' })
  })

  it('wants a reason, and not both at once', async () => {
    const [blank, both] = [
      await world.cli('hold', '--because', ' '),
      await world.cli('hold', '--because', 'why', '--release'),
    ]

    assert.deepEqual([blank.code, blank.stderr], [2, 'nuncio: The reason must not be empty. (argument_invalid)\n'])
    assert.equal(both.code, 2)
    assert.match(both.stderr, /cannot be used with option '--release'/)
    assert.deepEqual(await world.json('hold'), { held: false, since: null, reason: null })
  })
})
