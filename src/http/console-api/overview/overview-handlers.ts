import type { overviewRoutes } from '../../../contract/console/overview.ts'
import type { Role } from '../../../contract/console/route.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import type { OverviewView } from '../../../core/ports/console/overview.ts'
import type { ExplainedReason } from '../../../core/reasons.ts'
import { explainStandstill } from '../../../core/sentences/explain-standstill.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'

export function overviewHandlers({
  store: { overview, administration, lanes },
  keeps,
}: Pick<ConsoleDeps, 'store' | 'keeps'>): Handlers<typeof overviewRoutes> {
  return {
    async readOverview({ query: { range, connection, zone, offset } }, { accountId, role }) {
      const connectionId = (connection as ConnectionId | undefined) ?? null
      const place = { timeZone: zone ?? null, offsetMinutes: offset }
      const seen = await overview.readOverview({ accountId, range, connectionId, ...place })
      const explained = []
      // One after the other: all at once would wait too long for a connection of the database.
      for (const lane of seen.lanes) {
        const { reason, words, until, channel, policy, ...shown } = lane
        const of = { number: lane.number, channel, policy, accountId, id: lane.connectionId }
        const still =
          reason === null ? null : await explainStandstill(of, { reason, words, until }, { lanes, now: seen.now })
        explained.push({ ...shown, reason, ...inText(still?.why ?? null), until: still ? still.until : until })
      }
      return {
        ...seen,
        bars: [...seen.bars],
        hold: seen.hold && holdFor(role, seen.hold),
        lanes: explained,
      }
    },
    async noteMessageSeen(_, { accountId, actor }) {
      await overview.noteMessageSeen(accountId, actor)
      return { done: true as const }
    },
    async releaseHold(_, { accountId, actor }) {
      await overview.releaseHold(accountId, actor)
      return { done: true as const }
    },
    async readRetention(_, { accountId }) {
      const kept = await overview.readRetention(accountId)
      const { beginsAt, waitsFor, last } = await administration.readSweep()
      const waits = beginsAt > kept.now
      return {
        ...kept,
        installation: keeps,
        own: await administration.readOwnTimes(accountId),
        waitsUntil: waits ? beginsAt : null,
        waitsFor: waits ? waitsFor : null,
        lastSweptAt: last?.endedAt ?? null,
      }
    },
    changeRetention: ({ body }, { accountId, actor }) =>
      administration.setOwnTimes({ accountId, own: body, installation: keeps }, actor),
  }
}

function holdFor(role: Role, { since, reason, isOwn }: NonNullable<OverviewView['hold']>) {
  return { since, reason, mayRelease: isOwn && role === 'owner' }
}

interface Texts {
  readonly meaning: string | null
  readonly whatToDo: string | null
}

function inText(explained: ExplainedReason | null): Texts {
  if (explained === null) return { meaning: null, whatToDo: null }
  const { cause: meaning, nextStep: whatToDo } = explained
  return { meaning, whatToDo }
}
