import assert from 'node:assert/strict'
import { collectLedger, drain, type Recorded } from '../../support/black-box/collect-ledger.ts'
import type { Load } from '../../support/black-box/load.ts'
import type { Random } from '../../support/black-box/random.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../../support/ledger/assert-sees-faults.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import type { ListedMessage } from '../../support/ledger/ledger-input.ts'
import { type AskedDatabase, countHalves, countOld, type OldRows, unresolvedOf } from './old-rows.ts'

const WAITING = 20
const GOES_ON_WITHIN_MS = 60_000
const NONE = { attempts: 0, entries: 0, media: 0, bodies: 0, addresses: 0 }

/** The environment of a worker that sweeps all the time. */
export const SWEEPING = { NODE_OPTIONS: `--import=${new URL('sweep-again-and-again.ts', import.meta.url).href}` }

/** Pauses the lane and fills it. Returns the ids of its messages. */
export async function letWait(
  { cli }: Pick<Recorded, 'cli'>,
  { client, number }: { readonly client: Pick<SendClient, 'send'>; readonly number: string },
): Promise<string[]> {
  await cli.json('connection', 'pause', number)
  const ids: string[] = []
  for (let i = 0; i < WAITING; i++) {
    const message = { type: 'message', message: `waits ${i}` }
    const answer = await client.send({ from: number, to: `4470${i}000000`, message, idempotencyKey: null })
    if (answer.kind === 'acked') ids.push(answer.messageId)
  }
  assert.equal(ids.length, WAITING)
  return ids
}

interface KillPlan {
  readonly database: AskedDatabase
  readonly rounds: number
  readonly random: Random
  readonly kill: () => Promise<void>
  readonly start: () => Promise<unknown>
}

/** Kills each time in the middle of a sweep, and then checks what the kill has left. */
export async function killInSweeps({ database, rounds, random, kill, start }: KillPlan): Promise<readonly number[]> {
  const lefts = [await countOld(database)]
  const most = Math.floor((lefts[0] ?? 0) / (rounds + 1))
  for (let round = 0; round < rounds; round += 1) {
    const below = (lefts.at(-1) ?? 0) - random.between(1, most)
    await waitUntil('the sweep goes on', async () => (await countOld(database)) < below, {
      deadlineMs: GOES_ON_WITHIN_MS,
      everyMs: 20,
    })
    await kill()
    assert.deepEqual(await countHalves(database), NONE)
    lefts.push(await countOld(database))
    // The sweep lease of a dead worker lasts two minutes, which this skips. On SQLite a start ends the lease.
    if (database.engine === 'PostgreSQL') await database.ask('update retention_state set swept_until = 0')
    await start()
  }
  const middles = lefts.filter((left) => left > 0 && left < (lefts[0] ?? 0)).length
  assert.ok(middles >= rounds / 2, `Only ${middles} kills came in the middle of the work: ${lefts.join()}`)
  return lefts
}

/** Checks the end of the run, after the load. */
export async function checkSweeps(
  world: Recorded & { readonly database: AskedDatabase },
  { load, old, number }: { readonly load: Load; readonly old: OldRows; readonly number: string },
) {
  const { database, cli } = world
  await waitUntil('nothing is left that is too old', async () => (await countOld(database)) === 0, {
    deadlineMs: GOES_ON_WITHIN_MS,
  })
  await waitUntil('a sweep comes to its end', async () => (await lastSweptAt(database)) !== null, {
    deadlineMs: GOES_ON_WITHIN_MS,
  })
  assert.deepEqual(await countHalves(database), NONE)
  await assertUnfinishedIsWhole(database, old)
  await cli.json('connection', 'resume', number)
  await drain(cli, GOES_ON_WITHIN_MS)

  const all = await collectLedger(world, load.requests)
  const waited = new Set(old.waiting)
  const sent = all.messages.filter(({ id, state }) => waited.has(id) && isSent(state))
  assert.equal(sent.length, waited.size)
  const isOurs = (id: string) => !id.startsWith('old-') && !waited.has(id)
  const input = {
    requests: all.requests,
    messages: all.messages.filter(({ id }) => isOurs(id)),
    inbox: all.inbox.filter(({ messageId }) => isOurs(messageId)),
    attempts: all.attempts?.filter(({ messageId }) => isOurs(messageId)) ?? [],
  }
  const ledger = checkLedger(input)
  assertClean(ledger)
  assertLedgerSeesFaults(input)
  await assertHalvesAreSeen(database)
  return ledger
}

/** The negative control: damages a row. */
async function assertHalvesAreSeen(database: AskedDatabase): Promise<void> {
  const table = database.engine === 'SQLite' ? 'message' : 'settled'
  await database.ask(`update ${table} set body_deleted_at = null where id = 'old-emptied-1'`)
  assert.deepEqual(await countHalves(database), { ...NONE, bodies: 1 })
}

function isSent(state: ListedMessage['state']): boolean {
  return state === 'PUBLISHED' || state === 'DELIVERED' || state === 'READ'
}

async function lastSweptAt({ ask }: AskedDatabase): Promise<unknown> {
  const [row] = await ask('select ended_at from retention_state')
  return row?.['ended_at'] ?? null
}

async function assertUnfinishedIsWhole({ engine, ask }: AskedDatabase, old: OldRows): Promise<void> {
  const attempt = engine === 'SQLite' ? 'attempt' : 'ended_attempt'
  const [row] = await ask(`select
    (select count(*) from message where state = 'QUEUED' and body like '%waits %') as waiting,
    (select count(*) from message m where id like 'old-%' and state = 'UNCONFIRMED' and body like '%of old%'
      and (select count(*) from ${attempt} a where a.message_sequence = m.sequence) = 2) as unresolved`)
  const found = [Number(row?.['waiting']), Number(row?.['unresolved'])]
  assert.deepEqual(found, [old.waiting.length, unresolvedOf(old)])
}
