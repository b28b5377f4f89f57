import type { Cluster } from '../../support/black-box/cluster.ts'
import { drain } from '../../support/black-box/collect-ledger.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { withClient } from '../../support/postgres/postgres-server.ts'

const DRAINED_WITHIN_MS = 90_000
const REPORTED_WITHIN_MS = 60_000
const COUNT = `select count(*)::int as count from settled where state = 'PUBLISHED'`

/** Waits until everything was sent, and some worker has applied the network's report of each delivery. */
export async function waitForReceipts({ cli, databaseUrl }: Pick<Cluster, 'cli' | 'databaseUrl'>): Promise<void> {
  await drain(cli, DRAINED_WITHIN_MS)
  const isDone = () =>
    withClient(databaseUrl, async (client) => (await client.query<{ count: number }>(COUNT)).rows[0]?.count === 0)
  await waitUntil('every delivery is reported', isDone, { deadlineMs: REPORTED_WITHIN_MS, everyMs: 200 })
}
