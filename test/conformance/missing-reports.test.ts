import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MessageId } from '../../src/core/ids.ts'
import { explainMessage } from '../../src/core/sentences/explain-message.ts'
import type { OpenAlarm } from '../../src/core/watchdog/alarm.ts'
import { alarmText } from '../../src/core/watchdog/alarm-text.ts'
import { Watchdog, type WatchState } from '../../src/core/watchdog/watchdog.ts'
import {
  type CallbackWorld,
  type CloudSender,
  openWorlds,
  status,
  withCallbacks,
} from '../support/callback-world/callback-world.ts'
import { ANNA, accept, addSender, attempt, beat, head, holdLane, open, step } from './storage-world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

describe.each(openWorlds())('missing reports of a network, on %s', (_, newWorld) => {
  it('G10: raise an alarm after ten minutes, also shown on the message, until a report comes (situation 45)', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [sender, other] = [await world.addSender(), await world.addSender()]
      const watch = watching(world)
      const ids = await publish(world, sender, 12)
      const [elsewhere] = await publish(world, other, 1)

      const early = await watch.watchFor(9 * MINUTE_MS)
      const before = await linesOf(world, ids[11])
      const late = await watch.watchFor(3 * MINUTE_MS)
      const raised = [await reportsMissing(world, ids[11]), await reportsMissing(world, elsewhere)]
      const lines = await linesOf(world, ids[11])
      await world.tell(sender, { id: 'wamid.of-another-program', status: 'sent' })
      const cleared = await watch.watchFor(15 * SECOND_MS)
      const after = await reportsMissing(world, ids[11])

      assert.deepEqual(early, [])
      assert.deepEqual(before.slice(1), [
        'Meta has it. It has not reported delivery yet.',
        'You need not do anything: it is delivered when the phone is online.',
      ])
      assert.deepEqual(kindsOf(late), [['reports_missing', sender.connectionId]])
      assert.match(
        causeOf(world, late[0]),
        /^Meta has never reported anything for 15550003001, though it took 12 messages since 12:00 UTC .12 min ago.\. Without/,
      )
      assert.deepEqual([raised, cleared, after], [[causeOf(world, late[0]), null], [], null])
      assert.match(lines[0] ?? '', /^Sent: Meta accepted it .+ after the request\.$/)
      assert.match(lines[1] ?? '', /^Meta has never reported anything for 15550003001, though it took 12 messages /)
      assert.equal(
        lines[2],
        'Check the callback address that the network knows, its certificate and the field messages: the page of the connection shows what to enter.',
      )
    })
  })

  it('count only messages that the network accepted since its last report', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const watch = watching(world)
      const [before] = await publish(world, sender, 5)
      await world.tell(sender, status('sent', before as MessageId, 'wamid.0'))
      await world.storage.clock.pass(2 * MINUTE_MS)
      await publish(world, sender, 4)

      const [alarm, ...further] = await watch.watchFor(12 * MINUTE_MS)

      assert.deepEqual(further, [])
      assert.match(
        causeOf(world, alarm),
        /^Meta has reported nothing for 4 messages of 15550003001, since 12:02 UTC .12 min ago.\. Before, it did\.$/,
      )
      assert.equal(await reportsMissing(world, before), null)
    })
  })

  it('raise no alarm for few messages, or if phones are off and the network reports only that it has sent', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [few, off] = [await world.addSender(), await world.addSender()]
      const watch = watching(world)
      await publish(world, few, 2)
      for (let round = 0; round < 12; round++) {
        const [id] = await publish(world, off, 1)
        await world.tell(off, status('sent', id as MessageId, `wamid.${round}`))
        await watch.watchFor(15 * SECOND_MS)
      }

      const alarms = await watch.watchFor(30 * MINUTE_MS)

      assert.deepEqual(alarms, [])
    })
  })

  it('count what adapters accepted, under any ids, unless they report only failures', async () => {
    await withCallbacks(newWorld, async (world) => {
      const { administration } = world.storage
      const [silent, failures] = [await world.addSender(), await world.addSender()]
      for (const [{ connectionId }, receipts] of [
        [silent, ['sent', 'failed']],
        [failures, ['failed']],
      ] as const)
        await administration.changeConnection(connectionId, { channelSettings: { capabilities: { receipts } } }, 'test')
      const watch = watching(world)
      await beat(world.storage, ANNA, MINUTE_MS)
      await world.storage.clock.pass(SECOND_MS)
      for (const id of ['a', 'bridge:b', '+'].flatMap((text) => [`bridge:${text}`, `bridge:${text}2`])) {
        await world.publish(silent, id)
        await world.publish(failures, id)
      }

      const alarms = await watch.watchFor(12 * MINUTE_MS)

      assert.deepEqual(
        alarms.map(({ object, facts }) => [object, facts['count']]),
        [[silent.connectionId, 6]],
      )
    })
  })

  it('raise no alarm for a channel without callbacks', async () => {
    await withCallbacks(newWorld, async (world) => {
      const { storage } = world
      const sender = await addSender(storage)
      const watch = watching(world)
      for (let made = 0; made < 4; made++) {
        await accept(storage, sender)
        const lane = await holdLane(storage, ANNA, sender.connectionId)
        const message = await head(storage, sender.connectionId)
        await open(storage, lane, message)
        const close = {
          attempt: { ...attempt(storage, message), networkId: `wamid.${made}` },
          disposition: { do: 'finalize', as: 'PUBLISHED', reason: null, words: null },
        } as const
        await storage.lanes.record(step(storage, lane, { finish: close }))
      }

      assert.deepEqual(await watch.watchFor(30 * MINUTE_MS), [])
    })
  })

  it('raise no alarm for messages from before Nuncio was away, and keep the alarm that was raised', async () => {
    await withCallbacks(newWorld, async (world) => {
      const { storage } = world
      const [silent, away] = [await world.addSender(), await world.addSender()]
      const watch = watching(world)
      await publish(world, silent, 3)
      const raised = await watch.watchFor(12 * MINUTE_MS)
      await publish(world, away, 3)
      await storage.clock.pass(8 * 60 * MINUTE_MS)

      await storage.sql(`update worker set started_at = ${storage.clock.now()}`)
      await storage.sql(
        `insert into worker (id, heartbeat_until, roles, started_at) values ('from before the clock was set back', ${Number.MAX_SAFE_INTEGER}, 'api', 0)`,
      )
      const restarted = await watching(world).watchFor(20 * MINUTE_MS)
      await publish(world, away, 3)
      const later = await watch.watchFor(12 * MINUTE_MS)

      assert.deepEqual(kindsOf(raised), [['reports_missing', silent.connectionId]])
      assert.deepEqual(kindsOf(restarted), kindsOf(raised))
      assert.deepEqual(kindsOf(later), [...kindsOf(raised), ['reports_missing', away.connectionId]])
    })
  })
})

/** Lets time pass with a living worker and a check every 15 seconds. Returns the alarms that are open then. */
function watching({ storage }: CallbackWorld) {
  let state: WatchState | null = null
  const { watch, clock } = storage
  const watchdog = new Watchdog({
    watch,
    watcher: ANNA,
    host: 'here',
    pid: 7,
    clock,
    journal: { record: () => {} },
    limits: { oldestWaitingMs: 0, diskFreeShare: 0 },
    readDisks: async () => [],
    takeOutage: () => null,
    callBudgetMs: () => 30 * SECOND_MS,
    announce: async () => {},
    onChecked: (checked) => {
      state = checked
    },
  })
  return {
    async watchFor(ms: number): Promise<readonly OpenAlarm[]> {
      const end = clock.now() + ms
      while (clock.now() < end) {
        await clock.pass(15 * SECOND_MS)
        await beat(storage, ANNA, MINUTE_MS)
        await watchdog.check()
      }
      return state?.alarms ?? []
    },
  }
}

let published = 0

async function publish(world: CallbackWorld, sender: CloudSender, count: number): Promise<readonly MessageId[]> {
  const ids: MessageId[] = []
  await beat(world.storage, ANNA, MINUTE_MS)
  await world.storage.clock.pass(SECOND_MS)
  for (let made = 0; made < count; made++) ids.push(await world.publish(sender, `wamid.published-${++published}`))
  return ids
}

async function reportsMissing({ storage }: CallbackWorld, id: MessageId | undefined): Promise<string | null> {
  const { reportsMissing: missing } = await storage.administration.explainMessage(id as MessageId)
  return missing?.cause ?? null
}

/** The page of the message: was it sent, why is it not delivered, and what to do. */
async function linesOf({ storage }: CallbackWorld, id: MessageId | undefined): Promise<readonly (string | null)[]> {
  const { sentence, cause, nextStep } = explainMessage(await storage.administration.explainMessage(id as MessageId))
  return [sentence, cause, nextStep]
}

function kindsOf(alarms: readonly OpenAlarm[]) {
  return alarms.map(({ kind, object }) => [kind, object])
}

function causeOf({ storage }: CallbackWorld, alarm: OpenAlarm | undefined): string {
  return alarm ? alarmText(alarm, storage.clock.now()).cause : ''
}
