import type { LedgerInput } from '../../support/ledger/ledger-input.ts'

const CRASHES = 3

/** Messages that were given up as poison, though fewer than three kills fell into the time in which they were open. */
export function findFalseQuarantines(killedAt: readonly number[], { messages, attempts = [] }: LedgerInput): string[] {
  const tries = Map.groupBy(attempts, ({ messageId }) => messageId)
  return messages
    .filter(({ reason }) => reason === 'quarantined')
    .map(({ id }) => {
      const own = tries.get(id) ?? []
      const startedAt = Math.min(...own.map((attempt) => attempt.startedAt))
      const endedAt = Math.max(...own.map((attempt) => attempt.endedAt ?? Number.POSITIVE_INFINITY))
      return { id, kills: killedAt.filter((at) => at >= startedAt && at <= endedAt).length }
    })
    .filter(({ kills }) => kills < CRASHES)
    .map(({ id, kills }) => `${id} is quarantined, but met ${kills} kills`)
}
