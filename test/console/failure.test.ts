import assert from 'node:assert/strict'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { CallProblem } from '../../console/api/call-problem.ts'
import { type Failure, failureOf } from '../../console/api/failure.ts'

const AWAY = new CallProblem({ status: 0, code: 'unreachable', message: 'The server cannot be reached.' })
const BUSY = new CallProblem({ status: 503, code: 'console_busy', message: 'Try again.' })
const KEY = 'readOverview'

let client: QueryClient
let reply: () => Promise<string>
/** What the page shows at each change. */
let shown: (string | undefined)[]

describe('a page whose query failed before it had data', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    client = new QueryClient()
    shown = []
  })
  afterEach(() => {
    client.clear()
    vi.useRealTimers()
  })

  it('shows the failure from the first call on, also during retries, until it has data', async () => {
    reply = () => Promise.reject(AWAY)
    const observer = observe()
    await vi.advanceTimersByTimeAsync(500)
    const atFirst = shown.at(-1)
    await vi.advanceTimersByTimeAsync(60_000)
    shown = []
    void observer.refetch()
    await vi.advanceTimersByTimeAsync(60_000)
    const again = new Set(shown)
    reply = async () => 'data'
    void observer.refetch()
    await vi.advanceTimersByTimeAsync(0)

    assert.equal(atFirst, AWAY.message)
    assert.deepEqual([...again], [AWAY.message])
    assert.equal(shown.at(-1), undefined)
  })

  it('hides a refusal during retries, until there are no more', async () => {
    reply = () => Promise.reject(BUSY)
    observe()
    await vi.advanceTimersByTimeAsync(2_500)
    const meanwhile = new Set(shown)
    await vi.advanceTimersByTimeAsync(60_000)

    assert.deepEqual([...meanwhile], [undefined])
    assert.equal(shown.at(-1), BUSY.message)
  })

  it('does not show the failure of another query', () => {
    const last: Failure = { key: KEY, problem: AWAY }
    const result = { data: undefined, error: null, failureReason: null }

    assert.equal(failureOf({ key: KEY, result, last }), last)
    assert.equal(failureOf({ key: 'listLog', result, last }), null)
  })
})

function observe(): QueryObserver<string> {
  const observer = new QueryObserver<string>(client, { queryKey: [KEY], queryFn: () => reply(), retry: 2 })
  let last: Failure | null = null
  observer.subscribe((result) => {
    last = failureOf({ key: KEY, result, last })
    shown.push(last?.problem.message)
  })
  return observer
}
