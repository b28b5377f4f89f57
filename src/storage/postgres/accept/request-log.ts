import type { Clock } from '../../../core/ports/clock.ts'
import type { RefusedRequest, SummedRefusals } from '../../../core/ports/intake.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, integerArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import { type PgConnection, StorageDamaged } from '../connection/pg-connection.ts'
import { tookUsSince } from './accept-batch.ts'

const LOCK_MS = 500
const MOST_PER_BATCH = 500
// A refused body may have 64 KiB. A client that sends many of them must not delay the others for long.
const MOST_CHARACTERS_PER_BATCH = 1_000_000
const CHARACTERS_OF_A_ROW = 300

interface RequestLogParts {
  readonly clock: Clock
  readonly pgConnection: PgConnection
  /** Called when a request could not be stored, and others could not be either. */
  readonly onError: (error: StorageUnavailable) => void
}

/** Keeps refused requests in the API log. */
export class RequestLog {
  readonly #parts: RequestLogParts
  readonly #batches: Batcher<RefusedRequest, true>
  readonly #sums: Batcher<SummedRefusals, true>

  constructor(parts: RequestLogParts) {
    this.#parts = parts
    this.#batches = new Batcher({
      concurrency: 1,
      mostPerBatch: MOST_PER_BATCH,
      size: {
        of: ({ body, errors }) => CHARACTERS_OF_A_ROW + errors.length + (body?.length ?? 0),
        mostPerBatch: MOST_CHARACTERS_PER_BATCH,
      },
      run: (requests) => this.#write(requests),
    })
    this.#sums = new Batcher({ concurrency: 1, mostPerBatch: MOST_PER_BATCH, run: (sums) => this.#writeSums(sums) })
  }

  /** Resolves once committed; false when it could not be stored. */
  keep(request: RefusedRequest): Promise<boolean> {
    return this.#isKept(this.#batches.submit(request))
  }

  /** The same, for a row that stands for many requests. */
  keepSum(sum: SummedRefusals): Promise<boolean> {
    return this.#isKept(this.#sums.submit(sum))
  }

  async #isKept(written: Promise<true>): Promise<boolean> {
    try {
      return await written
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error
      if (!(error instanceof StorageDamaged)) this.#parts.onError(error)
      return false
    }
  }

  async #writeSums(sums: readonly SummedRefusals[]): Promise<true[]> {
    await this.#parts.pgConnection.query('select log_summed_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', [
      LOCK_MS,
      textArray(sums.map(({ accountId }) => accountId)),
      textArray(sums.map(({ tokenId }) => tokenId)),
      textArray(sums.map(({ requestId }) => requestId)),
      bigintArray(sums.map(({ since }) => since)),
      bigintArray(sums.map(({ until }) => until)),
      integerArray(sums.map(({ status }) => status)),
      textArray(sums.map(({ code }) => code)),
      textArray(sums.map(({ errors }) => errors)),
      integerArray(sums.map(({ requests }) => requests)),
    ])
    return sums.map(() => true)
  }

  async #write(requests: readonly RefusedRequest[]): Promise<true[]> {
    const { clock, pgConnection } = this.#parts
    const now = clock.monotonic()
    await pgConnection.query('select log_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)', [
      LOCK_MS,
      textArray(requests.map(({ accountId }) => accountId)),
      textArray(requests.map(({ tokenId }) => tokenId)),
      textArray(requests.map(({ facts }) => facts.requestId)),
      bigintArray(requests.map(({ facts }) => facts.receivedAt)),
      bigintArray(requests.map(({ facts }) => tookUsSince(facts, now))),
      integerArray(requests.map(({ status }) => status)),
      textArray(requests.map(({ code }) => code)),
      textArray(requests.map(({ errors }) => withoutNul(errors))),
      textArray(requests.map(({ body }) => body && withoutNul(body))),
      textArray(requests.map(({ facts }) => facts.remoteAddress)),
      textArray(requests.map(({ facts }) => facts.userAgent && withoutNul(facts.userAgent))),
    ])
    return requests.map(() => true)
  }
}
