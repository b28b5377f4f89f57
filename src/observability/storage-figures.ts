/** One durable commit, for the metrics. */
export interface Committed {
  readonly operation: 'shared' | 'accept' | 'step'
  /** How many acceptances, steps and other jobs shared it. */
  readonly rows: number
  readonly tookMs: number
}

/** What is known of the database without a query. */
export interface StorageFigures {
  readonly databaseBytes: number
  readonly spoolBytes: number
  readonly pausedConnections: number
  /** Since the process began; 0 where there are none to be made. */
  readonly connectionsMade: number
}
