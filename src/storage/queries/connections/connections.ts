import { isDeepStrictEqual } from 'node:util'
import { type Selectable, type SqlBool, sql } from 'kysely'
import { parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type {
  Administration,
  ConnectionChange,
  ConnectionView,
  NetworkCheck,
  NetworkLink,
} from '../../../core/ports/administration.ts'
import { CHANGED_CAPABILITIES_KIND } from '../../../core/ports/watch.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type LaneContext, laneContextOf, laneFacts, whyStandsStill } from '../lanes/lane-reason.ts'
import { beginPause, endLaneWait, endPause } from '../lanes/standstills.ts'
import { newConnectionId } from '../new-id.ts'
import {
  type Change,
  change,
  type Reader,
  type Reading,
  readingOf,
  type Store,
  touchLane,
  writeAudit,
} from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import { announceConnection } from '../webhooks/write-notifications.ts'

type ChannelSettings = NonNullable<ConnectionChange['channelSettings']>

export function createConnectionReads(store: Store): Pick<Administration, 'listConnections' | 'findConnection'> {
  return {
    async listConnections(accountId) {
      const rows = await selectConnections(readingOf(store), store.now())
        .$if(accountId !== null, (query) => query.where('c.account_id', '=', accountId as AccountId))
        .orderBy('a.created_at')
        .orderBy('c.created_at')
        .orderBy('c.number')
        .execute()
      const context = await laneContextOf(store)
      return rows.map((row) => toConnectionView(row, context))
    },
    async findConnection(number, accountId) {
      const rows = await selectConnections(readingOf(store), store.now())
        .where('c.number', '=', number)
        .$if(accountId !== null, (query) => query.where('c.account_id', '=', accountId as AccountId))
        .execute()
      if (rows.length > 1)
        throw new Refusal(
          'connection_ambiguous',
          `Several accounts have a connection ${number}: say which one with --account.`,
        )
      if (!rows[0]) throw new Refusal('connection_unknown', `There is no connection with the number ${number}.`)
      return toConnectionView(rows[0], await laneContextOf(store))
    },
  }
}

type ChangeVerbs = 'addConnection' | 'setConnectionState' | 'changeConnection' | 'noteCheck'

export function createConnectionChanges(store: Store): Pick<Administration, ChangeVerbs> {
  return {
    addConnection(wanted, actor) {
      const { accountId, number, channel, id = newConnectionId(), link = null } = wanted
      return change(store, actor, async (making) => {
        const { tables, at } = making
        const account = await tables.selectFrom('account').select('name').where('id', '=', accountId).executeTakeFirst()
        if (!account) throw new Refusal('account_unknown')
        const same = await selectConnections(making, at)
          .where('c.account_id', '=', accountId)
          .where('c.number', '=', number)
          .execute()
        if (same.length > 0)
          throw new Refusal(
            'connection_exists',
            `${number} is a connection of the account “${account.name}” already.`,
            'number',
          )
        if (link) await refuseTakenKey(making, { id, channel, link })
        await tables
          .insertInto('connection')
          .values({
            id,
            account_id: accountId,
            number,
            channel,
            state: 'active',
            policy: JSON.stringify(wanted.policy),
            channel_settings: JSON.stringify(wanted.channelSettings),
            network_key: link?.networkKey ?? null,
            callback_app: link?.callbackApp ?? null,
            created_at: at,
          })
          .execute()
        await touchLane(making, id)
        await writeAudit(making, { action: 'connection.add', object: id, accountId, detail: { number, channel } })
        await announceConnection(making, { kind: 'connection.added', accountId, id, number, channel })
        return view(making, id, at)
      })
    },
    setConnectionState: (id, state, actor) =>
      change(store, actor, async (making) => {
        await writeState(making, await stored(making, id), state)
        return view(making, id, making.at)
      }),
    changeConnection: (id, changed, actor) =>
      change(store, actor, async (making) => {
        await writeSettings(making, await stored(making, id), changed)
        return view(making, id, making.at)
      }),
    noteCheck: (id, { facts, isTakenOver }, actor) =>
      change(store, actor, async ({ tables, at }) => {
        const check: NetworkCheck | null = facts.length === 0 ? null : { at, facts }
        await tables
          .updateTable('connection')
          .set({ network_check: check && JSON.stringify(check) })
          .where('id', '=', id)
          .execute()
        if (!isTakenOver) return
        await tables
          .deleteFrom('channel_memory')
          .where('kind', '=', CHANGED_CAPABILITIES_KIND)
          .where('connection_id', '=', id)
          .execute()
      }),
  }
}

type Stored = Selectable<Tables['connection']>

/** Runs inside a change that found the connection not removed. */
export async function writeState(making: Change, before: Stored, state: 'active' | 'paused'): Promise<void> {
  const { tables } = making
  const { id, account_id: accountId, number, channel } = before
  await tables.updateTable('connection').set({ state }).where('id', '=', id).execute()
  // A person resumes after fixing the cause, so the lane tries at once instead of waiting further.
  if (state === 'active') await endLaneWait(making, id)
  await touchLane(making, id)
  const action = state === 'active' ? 'connection.resume' : 'connection.pause'
  await writeAudit(making, { action, object: id, accountId })
  if (before.state === state) return
  await (state === 'paused' ? beginPause(making, id) : endPause(making, id))
  const kind = state === 'active' ? 'connection.resumed' : 'connection.paused'
  await announceConnection(making, { kind, accountId, id, number, channel })
}

/** Runs inside a change that found the connection not removed. Settings that are left out stay as they are. */
export async function writeSettings(
  making: Change,
  before: Stored,
  { name, policy, channelSettings, expected, link }: ConnectionChange,
): Promise<void> {
  const { tables } = making
  const { id, account_id: accountId, number, channel, channel_settings: found } = before
  const columns = {
    ...(name !== undefined && { name }),
    ...(policy && { policy: JSON.stringify(policy) }),
    ...(channelSettings && { channel_settings: JSON.stringify(channelSettings) }),
    ...(link && { network_key: link.networkKey, callback_app: link.callbackApp }),
  }
  if (Object.keys(columns).length === 0) return
  if (link) await refuseTakenKey(making, { id, link, channel })
  // Compares the parsed values, because the expected settings have lost the white space of the stored text.
  if (expected && JSON.stringify(JSON.parse(found)) !== JSON.stringify(expected))
    throw new Refusal('connection_changed')
  const { numUpdatedRows } = await tables
    .updateTable('connection')
    .set(columns)
    .where('id', '=', id)
    // Checked again, because a change of the key ring reseals secrets without waiting for this change.
    .$if(expected !== undefined, (query) => query.where('channel_settings', '=', found))
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new Refusal('connection_changed')
  // The network was just verified with these settings, so the lane tries at once, as after resuming.
  if (link) await endLaneWait(making, id)
  await touchLane(making, id)
  // Only the names of the channel's settings: their values may be credentials.
  const detail = {
    ...(name !== undefined && { name }),
    ...(policy && { policy }),
    ...(channelSettings && { channelSettings: changedKeys(expected ?? {}, channelSettings) }),
    ...(link && { link: Object.keys(link) }),
  }
  await writeAudit(making, { action: 'connection.change', object: id, accountId, detail })
  const what = { kind: 'connection.changed', accountId, id, number, channel, changed: Object.keys(detail) } as const
  await announceConnection(making, what)
}

function changedKeys(before: ChannelSettings, after: ChannelSettings): readonly string[] {
  return Object.keys({ ...before, ...after }).filter((key) => !isDeepStrictEqual(before[key], after[key]))
}

/**
 * One number of a network has one connection in the installation: two connections would send as one sender in two lanes,
 * and a report could not be assigned to one of them. Changes run one at a time, so this check finds a connection that was
 * added at the same time; a unique index backs it up.
 */
async function refuseTakenKey(
  { tables }: Change,
  wanted: { readonly id: ConnectionId; readonly channel: string; readonly link: NetworkLink },
): Promise<void> {
  const taken = await tables
    .selectFrom('connection')
    .select('id')
    .where('channel', '=', wanted.channel)
    .where('network_key', '=', wanted.link.networkKey)
    .where(sql<SqlBool>`state <> 'removed'`)
    .where('id', '<>', wanted.id)
    .executeTakeFirst()
  if (taken) throw new Refusal('network_key_taken')
}

async function stored({ tables }: Change, id: ConnectionId): Promise<Stored> {
  const row = await tables
    .selectFrom('connection')
    .selectAll()
    .where('id', '=', id)
    .where('state', '<>', 'removed')
    .executeTakeFirst()
  if (!row) throw removedMeanwhile()
  return row
}

/** Connections that are not removed, with the status of their lanes. */
export function selectWithLanes(tables: Reader, now: Instant) {
  return (
    tables
      .selectFrom('connection as c')
      .innerJoin('account as a', 'a.id', 'c.account_id')
      .leftJoin('open_attempt as o', 'o.connection_id', 'c.id')
      .leftJoin('lane as l', 'l.connection_id', 'c.id')
      .leftJoin('worker as w', 'w.id', 'l.owner')
      // A literal, so that the planner can use the index on just these.
      .where(sql<SqlBool>`c.state <> 'removed'`)
      .select([
        'c.id',
        'c.number',
        'c.name',
        'c.account_id',
        'a.name as account_name',
        'c.channel',
        'c.policy',
        'c.channel_settings',
        'c.network_key',
        'c.callback_app',
        'l.last_report_at',
        ...laneFacts(now),
      ])
  )
}

type LaneRow = Awaited<ReturnType<ReturnType<typeof selectWithLanes>['execute']>>[number]

export function toConnectionFacts(row: LaneRow) {
  return {
    id: row.id,
    number: row.number,
    name: row.name,
    channel: row.channel,
    policy: parseLanePolicy(row.policy),
    channelSettings: JSON.parse(row.channel_settings) as Record<string, unknown>,
    // Null for a channel without an id of the number in its network.
    link: row.network_key === null ? null : { networkKey: row.network_key, callbackApp: row.callback_app },
    lastReportAt: row.last_report_at,
  }
}

function selectConnections({ tables, engine }: Reading, now: Instant) {
  return selectWithLanes(tables, now).select([
    // Includes the message with an open attempt, because it is not finished.
    sql<number>`(select count(*) from ${engine.unfinishedOfC})`.as('waiting'),
    sql<Instant | null>`(select q.accepted_at from ${engine.unfinishedOfC} order by e.sequence limit 1)`.as(
      'oldest_waiting_at',
    ),
  ])
}

type ConnectionRow = Awaited<ReturnType<ReturnType<typeof selectConnections>['execute']>>[number]

async function view(reading: Reading, id: ConnectionId, now: Instant): Promise<ConnectionView> {
  const row = await selectConnections(reading, now).where('c.id', '=', id).executeTakeFirst()
  if (!row) throw removedMeanwhile()
  // What was read is what was just written.
  return toConnectionView(row, { now, error: null })
}

function removedMeanwhile(): Refusal {
  return new Refusal('connection_unknown', 'This connection was removed in the meantime.')
}

function toConnectionView(row: ConnectionRow, context: LaneContext): ConnectionView {
  const still = whyStandsStill(row, row.waiting, context)
  return {
    ...toConnectionFacts(row),
    account: row.account_name,
    accountId: row.account_id,
    state: row.connection_state,
    waiting: row.waiting,
    oldestWaitingAt: row.oldest_waiting_at,
    reason: still?.reason ?? null,
    reasonWords: still?.words ?? null,
    reasonUntil: still?.until ?? null,
  }
}
