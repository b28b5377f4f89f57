import type { LedgerInput } from './ledger-input.ts'

const CRASHES = 3

/** Finds messages that were given up as poison although the service crashed fewer than three times during their attempts. */
export function findFalseQuarantines(crashedAt: readonly number[], { messages, attempts = [] }: LedgerInput): string[] {
  const tries = Map.groupBy(attempts, ({ messageId }) => messageId)
  return messages
    .filter(({ reason }) => reason === 'quarantined')
    .map(({ id }) => {
      const own = tries.get(id) ?? []
      const startedAt = Math.min(...own.map((attempt) => attempt.startedAt))
      const endedAt = Math.max(...own.map((attempt) => attempt.endedAt ?? Number.POSITIVE_INFINITY))
      return { id, met: crashedAt.filter((at) => at >= startedAt && at <= endedAt).length }
    })
    .filter(({ met }) => met < CRASHES)
    .map(({ id, met }) => `${id} is quarantined, but met ${met} crashes`)
}
