import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'

/** The sum over all lines of a metric whose labels contain this text. */
async function read({ url }: Journey, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

describe.each(ENGINES)('the metrics on $name', ({ start, name }) => {
  it('show commits, lanes, waits and the database after some messages', async () => {
    const nuncio = await start()

    const { messageId } = await nuncio.text('15550177001', 'hello')
    await nuncio.reaches(messageId, 'PUBLISHED')

    assert.ok((await read(nuncio, 'nuncio_commit_rows_sum')) >= 2)
    assert.equal(await read(nuncio, 'nuncio_first_attempt_wait_seconds_count'), 1)
    assert.ok((await read(nuncio, 'nuncio_lane_claims_total', 'change="taken"')) >= 1)
    assert.ok((await read(nuncio, 'nuncio_database_bytes')) > 0)
    assert.equal((await read(nuncio, 'nuncio_database_connections_made_total')) > 0, name === 'PostgreSQL')
    const idle = async () => (await read(nuncio, 'nuncio_lanes', 'status="idle"')) === 1
    await waitUntil('the lane has nothing to do', idle, { deadlineMs: 30_000 })
  })

  it('show a paused connection', async () => {
    const nuncio = await start()

    const [connection] = await nuncio.operator.administration.listConnections(null)
    await nuncio.operator.administration.setConnectionState(connection!.id, 'paused', 'test')

    const isShown = async () => (await read(nuncio, 'nuncio_connections_paused')) === 1
    assert.equal(connection!.number, SENDER)
    // On PostgreSQL this metric is queried every fifteen seconds.
    await waitUntil('the paused connection is shown', isShown, { deadlineMs: 25_000 })
  })
})
