import type { Kysely, Transaction } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import { isAtLeast } from '../../core/people/role.ts'
import type { Actor, PersonActor, PersonRight } from '../../core/ports/administration.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { ReasonCode } from '../../core/reasons.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Engine, Reader } from './engine.ts'
import type { Tables } from './tables.generated.ts'

const MOST_TRIES = 20

/** What every function of administration works with. */
export interface Store {
  readonly database: Kysely<Tables>
  readonly engine: Engine
  readonly now: () => Instant
  /** Why nothing can be written at present. Left out where no lane is explained. */
  readonly findStorageError?: () => Promise<StorageError | null>
  /** Which process holds the data, even if it is frozen; null when that is not known. Only another process may ask. */
  readonly findHolder?: () => number | null
}

/** An open transaction of one change, and who makes it. */
export interface Change extends Reading {
  readonly tables: Transaction<Tables>
  readonly at: Instant
  /** The name for the audit log. */
  readonly actor: string
  /** Null when it is no person of the console. */
  readonly person: PersonActor | null
}

export type { Reader }

export interface Reading {
  readonly tables: Reader
  readonly engine: Engine
}

export function readingOf({ database, engine }: Store): Reading {
  return { tables: database, engine }
}

/**
 * Runs one change in a transaction; changes run one at a time. Refuses a person whose right to make it has ended. The service
 * runs beside it, so a fact that a change read may differ a moment later unless the change locked it first.
 */
export function change<Result>(store: Store, actor: Actor, make: (change: Change) => Promise<Result>): Promise<Result> {
  const { database, engine } = store
  return database.transaction().execute(async (tables) => {
    await engine.beginChange(tables)
    const [name, person] = typeof actor === 'string' ? [actor, null] : [actor.name, actor]
    if (person?.right) await refuseEndedRight(tables, person.right)
    return make({ tables, engine, at: store.now(), actor: name, person })
  })
}

async function refuseEndedRight(tables: Reader, { sessionId, membership }: PersonRight): Promise<void> {
  const session = await tables
    .selectFrom('session as s')
    .leftJoin('membership as m', (join) =>
      join.onRef('m.person_id', '=', 's.person_id').on('m.account_id', '=', membership?.accountId ?? null),
    )
    .select('m.role')
    .where('s.id', '=', sessionId)
    .executeTakeFirst()
  if (!session) throw new Refusal('not_signed_in')
  if (!membership) return
  if (!session.role) throw new Refusal('account_unknown', 'You no longer belong to this account.')
  if (!isAtLeast(session.role, membership.least)) throw new Refusal('role_too_low')
}

/** Reads several things as of one moment, without blocking writers. */
export function snapshot<Result>(
  store: Store,
  read: (tables: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return store.database.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(read)
}

export async function writeAudit(
  { tables, at, actor, person }: Pick<Change, 'tables' | 'at' | 'actor' | 'person'>,
  what: { action: string; object: string; accountId: AccountId | null; detail?: Readonly<Record<string, unknown>> },
): Promise<void> {
  const detail = what.detail ? JSON.stringify(what.detail) : null
  await tables
    .insertInto('audit')
    .values({
      at,
      actor,
      account_id: what.accountId,
      action: what.action,
      object: what.object,
      detail,
      person_id: person?.personId ?? null,
      remote_address: person?.remoteAddress ?? null,
      user_agent: person?.userAgent ?? null,
    })
    .execute()
}

/** Makes the running service reload the lane. Rows are never deleted, because the service remembers the last one it saw. */
export async function touchLane({ tables }: Change, connectionId: ConnectionId): Promise<void> {
  await tables.insertInto('lane_change').values({ connection_id: connectionId }).execute()
}

export async function addTimelineEntry(
  { tables, at }: Change,
  entry: {
    readonly sequence: Sequence
    readonly kind: TimelineKind
    readonly code?: ReasonCode
    readonly facts?: Readonly<Record<string, string | number | null>>
  },
): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = await tables
      .selectFrom('timeline')
      .select(({ fn }) => fn.max('position').as('position'))
      .where('message_sequence', '=', entry.sequence)
      .executeTakeFirst()
    const { numInsertedOrUpdatedRows } = await tables
      .insertInto('timeline')
      .values({
        message_sequence: entry.sequence,
        position: (last?.position ?? 0) + 1,
        at,
        kind: entry.kind,
        code: entry.code ?? null,
        facts: entry.facts ? JSON.stringify(entry.facts) : null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (numInsertedOrUpdatedRows === 1n) return
    // The service has stored an entry at the same time, such as a receipt.
  }
  throw new Error(`The timeline of message ${entry.sequence} changes all the time`)
}
