import { type SqlBool, sql } from 'kysely'
import { commandLine } from '../../../core/command-line.ts'
import { hasValidLease } from '../../../core/dispatch/workers/lease.ts'
import type { DeviceSessions, SessionRequestView } from '../../../core/ports/console/device-sessions.ts'
import { LINKS_COUNTED_MS, MOST_LINKS_PER_HOUR } from '../../../core/ports/console/device-sessions.ts'
import type { OfConnection } from '../../../core/ports/console/lanes.ts'
import {
  type SessionRequestKind,
  type SessionRequestProgress,
  WATCHED_FOR_MS,
} from '../../../core/ports/session-requests.ts'
import { Refusal } from '../../../core/refusals.ts'
import { livingConnection } from '../lanes/read-lanes.ts'
import { newSessionRequestId } from '../new-id.ts'
import { type Change, change, type Reader, type Store, touchLane, writeAudit } from '../store.ts'

// A page that watches asks every second or two. Most of these questions write nothing.
const RENEWED_BELOW_MS = WATCHED_FOR_MS - 15_000
// For requests that no person need watch. A worker takes one up within seconds of its start.
const UNWATCHED_LASTS_MS = 5 * 60_000
/** Too late to cancel: the phone shows the device as linked. */
const CONFIRMED: readonly SessionRequestProgress['state'][] = ['confirmed', 'logging-in']

const ACTIONS: Readonly<Record<SessionRequestKind, string>> = {
  qr: 'connection.pair',
  code: 'connection.pair',
  'use-here': 'connection.use-here',
  unlink: 'connection.unlink',
}

export function createDeviceSessions(store: Store): DeviceSessions {
  return { ...createReads(store), ...createRequests(store) }
}

function createReads(store: Store): Pick<DeviceSessions, 'read' | 'watch'> {
  const { database } = store
  return {
    async read(of) {
      await livingConnection(database, of)
      const [row, isLinked] = await Promise.all([
        database.selectFrom('session_status').selectAll().where('connection_id', '=', of.id).executeTakeFirst(),
        hasSession(database, of),
      ])
      if (!row) return null
      const { status, since, code, refused_until: refusedUntil, ready_at: at, device, version } = row
      const hasLoggedIn = at !== null && device !== null && version !== null
      return { status, since, code, refusedUntil, isLinked, lastLogin: hasLoggedIn ? { at, device, version } : null }
    },
    async watch(of, id) {
      await livingConnection(database, of)
      const row = await selectRequest(database, of)
      if (row?.id !== id) throw new Refusal('session_request_unknown')
      const now = store.now()
      if (row.ended_at === null && row.watched_until < now + RENEWED_BELOW_MS)
        await database
          .updateTable('session_request')
          .set({ watched_until: now + WATCHED_FOR_MS })
          .where('connection_id', '=', of.id)
          .where('id', '=', id)
          .execute()
      return toView(row, await hasWorker(database, now))
    },
  }
}

function createRequests(store: Store): Pick<DeviceSessions, 'request' | 'cancel'> {
  return {
    request: (of, kind, actor) =>
      change(store, actor, async (making) => {
        const { tables, at, person } = making
        const { number } = await livingConnection(tables, of)
        if (await tables.selectFrom('hold').select('since').executeTakeFirst()) throw new Refusal('lanes_held')
        const before = await selectRequest(tables, of)
        if (before) refuseRunning(before, making)
        const isLink = kind === 'qr' || kind === 'code'
        if (!isLink && !(await hasSession(tables, of))) throw new Refusal('number_not_linked', notLinked(number))
        const begun = (JSON.parse(before?.begun ?? '[]') as number[]).filter((time) => at - time < LINKS_COUNTED_MS)
        if (isLink) refuseTooMany(begun, at)
        const progress: SessionRequestProgress = { state: 'waiting' }
        const row = {
          id: newSessionRequestId(),
          kind,
          requested_by: making.actor,
          person_id: person?.personId ?? null,
          watched_until: at + (isLink ? WATCHED_FOR_MS : UNWATCHED_LASTS_MS),
          progress: JSON.stringify(progress),
          code: null,
          ended_at: null,
          begun: JSON.stringify(isLink ? [...begun, at] : begun),
        }
        await tables
          .insertInto('session_request')
          .values({ connection_id: of.id, ...row })
          .onConflict((conflict) => conflict.column('connection_id').doUpdateSet(row))
          .execute()
        await touchLane(making, of.id)
        const { accountId, id: object } = of
        await writeAudit(making, { action: ACTIONS[kind], object, accountId, ...(isLink && { detail: { by: kind } }) })
        return toView(row, await hasWorker(tables, at))
      }),
    cancel: (of, id, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        await livingConnection(tables, of)
        const row = await selectRequest(tables, of)
        if (row?.id !== id || row.ended_at !== null || CONFIRMED.includes(progressOf(row).state)) return
        const progress: SessionRequestProgress = { state: 'ended', end: 'cancelled' }
        await tables
          .updateTable('session_request')
          .set({ progress: JSON.stringify(progress), code: null, ended_at: at })
          .where('connection_id', '=', of.id)
          .where('id', '=', id)
          // Not over what the worker has written since.
          .where('progress', '=', row.progress)
          .execute()
        await touchLane(making, of.id)
      }),
  }
}

async function hasSession(tables: Reader, { id }: OfConnection): Promise<boolean> {
  const row = await tables
    .selectFrom('channel_session')
    .select('connection_id')
    .where('connection_id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

function selectRequest(tables: Reader, { id }: OfConnection) {
  return tables.selectFrom('session_request').selectAll().where('connection_id', '=', id).executeTakeFirst()
}

type Row = NonNullable<Awaited<ReturnType<typeof selectRequest>>>

/** A person who asks again, such as with another tab, goes on alone. At the command line it is not known who asks. */
function refuseRunning(row: Row, { at, person }: Change): void {
  if (row.ended_at !== null || row.watched_until <= at) return
  const isConfirmed = CONFIRMED.includes(progressOf(row).state)
  if (person !== null && person.personId === row.person_id && !isConfirmed) return
  const what = row.kind === 'qr' || row.kind === 'code' ? 'is being linked' : 'is being changed'
  throw new Refusal(
    'session_request_running',
    `This number ${what} at this moment (by ${row.requested_by}). Wait until that has ended, at most a minute after it is watched no more.`,
  )
}

function refuseTooMany(begun: readonly number[], at: number): void {
  const [first] = begun
  if (first === undefined || begun.length < MOST_LINKS_PER_HOUR) return
  const minutes = Math.ceil((first + LINKS_COUNTED_MS - at) / 60_000)
  throw new Refusal(
    'links_exhausted',
    `Codes were asked for ${MOST_LINKS_PER_HOUR} times in the last hour, and WhatsApp restricts numbers for more. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
  )
}

function notLinked(number: string): string {
  return `${number} is not linked to a phone. Link it first: ${commandLine`connection pair ${number}`}`
}

async function hasWorker(tables: Reader, now: number): Promise<boolean> {
  const rows = await tables
    .selectFrom('worker')
    .select('heartbeat_until')
    .where(sql<SqlBool>`',' || coalesce(roles, 'dispatch') || ',' like '%,dispatch,%'`)
    .execute()
  return rows.some(({ heartbeat_until: until }) => hasValidLease(until, now))
}

function progressOf({ progress }: Pick<Row, 'progress'>): SessionRequestProgress {
  return JSON.parse(progress) as SessionRequestProgress
}

function toView(
  row: Pick<Row, 'id' | 'kind' | 'requested_by' | 'progress' | 'code'>,
  isAnyWorker: boolean,
): SessionRequestView {
  const { id, kind, requested_by: by, code } = row
  return { id, kind, by, progress: progressOf(row), code, hasWorker: isAnyWorker }
}
