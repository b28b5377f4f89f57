import type { Client, QueryConfig, QueryResult } from 'pg'

/**
 * Asks one statement and gives up waiting after so many milliseconds; the statement is not cancelled, and the connection is
 * of no use then. Rejects with what pg says, or with an Error of its own that `classify` calls unknown.
 *
 * Neither pg's promises nor its `query_timeout` are used, because both assign a new function to each query. V8 makes such
 * functions in the old generation of its heap, where each kept all that its statement had touched (values, rows, the
 * waiting requests) until the next full collection: that one came twice a second and held everybody up for 50 ms.
 */
export function queryClient(
  client: Client,
  query: QueryConfig,
  answerWithinMs: number,
): Promise<QueryResult<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(giveUp, answerWithinMs, reject)
    client.query<Record<string, unknown>>(query, (error, result) => {
      clearTimeout(timer)
      // pg's types say that there is always an error.
      if (error as Error | null) reject(error)
      else resolve(result)
    })
  })
}

function giveUp(reject: (error: Error) => void): void {
  reject(new Error('The database did not answer in time'))
}
