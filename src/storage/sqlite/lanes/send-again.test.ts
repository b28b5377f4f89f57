import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { SENDABLE } from '../../../../test/support/sendable.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { systemClock } from '../../../server/system-clock.ts'
import { openDatabase } from '../connection/open-database.ts'
import { SqliteStorage } from '../index.ts'
import { openAdministration } from '../queries/open-administration.ts'

const REASON = 'whatsapp_131047'
const FAILED = 'failed' as MessageId

let folder: string
let path: string
let storage: SqliteStorage
let connectionId: ConnectionId

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nuncio-send-again-'))
  path = join(folder, 'nuncio.db')
  storage = new SqliteStorage({
    path,
    clock: systemClock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    onBroken: () => {},
    onError: () => {},
  })
  const visitor = openAdministration(path, { create: false, now: Date.now })
  const { administration } = visitor
  const { id: accountId } = await administration.createAccount('Acme', 'test')
  const number = '15550001000'
  const wanted = { accountId, number, channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
  connectionId = (await administration.addConnection(wanted, 'test')).id
  visitor.close()
  storage.database
    .prepare(
      `insert into message (id, account_id, connection_id, body, body_crc, recipient, type, state, reason, accepted_at, settled_at)
         values (?, ?, ?, '{}', 0, '15550100000', 'message', 'FAILED', ?, 1, 2)`,
    )
    .run(FAILED, accountId, connectionId, REASON)
})

afterEach(async () => {
  await storage.close()
  await rm(folder, { recursive: true, force: true })
})

describe('sending again on SQLite', () => {
  it('reports the lane in this process', async () => {
    const woken: ConnectionId[] = []
    await storage.start({ lanesChanged: (ids) => woken.push(...ids) })
    woken.length = 0

    assert.ok(await storage.sendAgain({ connectionId, messageId: FAILED, reason: REASON }))

    await waitUntil('the lane is woken', async () => woken.includes(connectionId), { deadlineMs: 20_000, everyMs: 5 })
    // Counted anew when the change of the lane was noticed.
    assert.equal(storage.waiting(), 1)
  })

  it('waits for another writer without stopping what this process does meanwhile', async () => {
    const other = openDatabase(path, { create: false })
    other.exec('begin immediate')
    let turns = 0
    const ticking = setInterval(() => turns++, 1)

    const copied = storage.sendAgain({ connectionId, messageId: FAILED, reason: REASON })
    // Less than the 5 s after which it gives up.
    await waitUntil('something else has had its turn', async () => turns >= 10, { deadlineMs: 4_000, everyMs: 5 })
    other.exec('commit')
    const copy = await copied
    clearInterval(ticking)
    other.close()

    assert.ok(copy)
  })

  it('leaves room for what this process does between one and the next', async () => {
    let turns = 0
    const ticking = setInterval(() => turns++, 1)

    await Promise.all(
      Array.from({ length: 20 }, () => storage.sendAgain({ connectionId, messageId: FAILED, reason: REASON })),
    )
    clearInterval(ticking)

    assert.ok(turns >= 19, `${turns} turns`)
  })

  it('says that storage is away once it is closed', async () => {
    await storage.close()

    await assert.rejects(storage.sendAgain({ connectionId, messageId: FAILED, reason: REASON }), StorageUnavailable)
  })
})
