interface Purpose {
  readonly count: number
  /** Why it shares its connection with nothing else: statements on one connection wait for each other. */
  readonly why: string
}

/** The connections that a process keeps open. A key follows `nuncio` in the `application_name` of its connection. */
export const PURPOSES = {
  accept: { count: 2, why: 'Accepts messages. While one batch is flushed to disk, the next one is written.' },
  'look-ups': { count: 1, why: 'Finds tokens and idempotency keys: a request is not accepted before.' },
  background: { count: 1, why: 'Writes refused requests and counts backlogs. No caller waits for that.' },
  steps: { count: 2, why: 'Records attempts and their outcomes. While one batch is flushed, the next one is written.' },
  runs: { count: 2, why: 'Reads the next messages of lanes. A lane does not wait for the commits of others.' },
  claims: { count: 1, why: 'Claims and releases lanes, expires messages and applies receipts.' },
  beats: { count: 1, why: 'Renews the lease of this process. Behind a slow statement it would lose its lanes.' },
  notifications: { count: 1, why: 'Notifies other processes. PostgreSQL commits notifications one after the other.' },
  channels: { count: 1, why: 'Reads and removes what channels remember.' },
  additions: { count: 1, why: 'Stores what channels remember, at once after it was checked that it is still needed.' },
  sessions: { count: 1, why: 'Keeps the sessions of linked devices. Made with the first one.' },
  blocks: { count: 1, why: 'Finds blocked recipients. Every attempt needs that.' },
  media: { count: 1, why: 'Keeps the queue of media to fetch.' },
  retention: { count: 1, why: 'Deletes what is older than its time. A step may take long.' },
  watch: { count: 1, why: 'Counts for the watchdog. That may take seconds.' },
  rest: { count: 1, why: 'Does everything else: figures, maintenance, events, readiness.' },
} as const satisfies Readonly<Record<string, Purpose>>

const LISTENER = 1
const REPEATS = 1

/** A pool never opens more: the connections of the console are closed when it is not used. */
export const MOST_CONNECTIONS_OF_A_POOL = 4

/** What one process may have open at once. */
export const CONNECTIONS_OF_A_PROCESS =
  Object.values(PURPOSES).reduce((sum, { count }) => sum + count, 0) + LISTENER + REPEATS + MOST_CONNECTIONS_OF_A_POOL
