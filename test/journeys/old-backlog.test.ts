import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger, settingsOf } from '../support/journey/engines.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'

const OLD = '15551234567'
const YOUNG = '15551234568'
// Far longer than a test takes on a busy machine.
const OLD_SINCE_MS = 3_600_000
const TOO_OLD = '30m'

describe.each(ENGINES)('an old backlog on $name', ({ start }) => {
  it('needs a confirmation, and is sent without the messages that are too old', async () => {
    const journey = await start()
    const cli = new CliOn(journey.dataDir, settingsOf(journey))
    const { old, young } = await pileUp(journey, cli)

    const { cancelled } = await cli.json<{ cancelled: number }>(
      ...['connection', 'approve-backlog', SENDER, '--cancel-older-than', TOO_OLD],
    )

    assert.equal(cancelled, old.length)
    for (const { messageId } of old) assert.equal((await journey.timeline(messageId)).message.state, 'CANCELLED')
    await journey.reaches(young.messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    assert.deepEqual(
      (await journey.inbox()).map(({ to }) => to),
      [YOUNG],
    )
  })

  it('can be confirmed even if all of it is too old, and the lane then needs no confirmation', async () => {
    const journey = await start()
    const cli = new CliOn(journey.dataDir, settingsOf(journey))
    const { old } = await pileUp(journey, cli)

    const { cancelled } = await cli.json<{ cancelled: number }>(
      ...['connection', 'approve-backlog', SENDER, '--cancel-older-than', '1ms'],
    )

    assert.equal(cancelled, old.length + 1)
    assert.deepEqual(await journey.inbox(), [])
  })

  it('is sent completely if no age is given, and needs one confirmation', async () => {
    const journey = await start()
    const cli = new CliOn(journey.dataDir, settingsOf(journey))
    const { old, young } = await pileUp(journey, cli)

    const wrong = await cli.run('connection', 'approve-backlog', SENDER, '--cancel-older-than', 'yesterday')
    const confirmed = await cli.run('connection', 'approve-backlog', SENDER)

    assert.match(wrong.stderr, /--cancel-older-than must be a time such as 30m or 6h/)
    assert.match(confirmed.stdout, /Confirmed: 3 messages that wait on 15550001000 may go out now/)
    for (const { messageId } of [...old, young]) await journey.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    const again = await cli.run('connection', 'approve-backlog', SENDER)
    assert.match(again.stderr, /No backlog of this connection waits for a confirmation/)
  })
})

/** Two old messages and a new one, on a lane that stood still and now needs a confirmation. */
async function pileUp(journey: Journey, cli: CliOn) {
  const { administration } = journey.operator
  const { id } = await administration.findConnection(SENDER, null)
  await cli.json('connection', 'set', SENDER, 'confirm_backlog_after=1s')
  await administration.setConnectionState(id, 'paused', 'test')
  const old = [await journey.text(OLD, 'too old'), await journey.text(OLD, 'too old, too')]
  await makeOld(journey)
  const young = await journey.text(YOUNG, 'as new')
  await administration.setConnectionState(id, 'active', 'test')
  await waitUntil(
    'the lane asks',
    async () => (await administration.findConnection(SENDER, null)).reason === 'backlog_confirmation',
    { deadlineMs: 20_000 },
  )
  return { old, young }
}

/** Dates the waiting messages back by an hour. */
async function makeOld({ database }: Journey): Promise<void> {
  const stranger = await openStranger(database)
  const table = database.engine === 'postgres' ? 'queued' : 'message'
  await stranger.run(`update ${table} set accepted_at = accepted_at - ${OLD_SINCE_MS}`)
  await stranger.close()
}
