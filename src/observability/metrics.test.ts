import assert from 'node:assert/strict'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { describe, it, vi } from 'vitest'
import type { ConnectionId, MessageId } from '../core/ids.ts'
import type { JournalEvent } from '../core/ports/journal.ts'
import type { MetricDefinition } from './metrics/metric-definition.ts'
import { METRIC_LIST } from './metrics/metric-table.ts'
import { Metrics } from './metrics.ts'

const HOUR_MS = 3_600_000
const NOTHING = { waiting: () => 0, lanes: () => 0 }

const FINISHED: Extract<JournalEvent, { event: 'attempt.finished' }> = {
  event: 'attempt.finished',
  messageId: '0197d2a4-0000-7000-8000-000000000001' as MessageId,
  connectionId: 'connection-1' as ConnectionId,
  channel: 'sandbox',
  number: 1,
  outcome: 'accepted',
  code: null,
  startedAt: 1_000_000,
  tookMs: 20,
  waitedMs: 700,
  next: 'PUBLISHED',
}

function read(text: string, name: string): number | null {
  const [, value] = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text) ?? []
  return value === undefined ? null : Number(value)
}

/** One line, by its labels as they are written. */
function line(text: string, start: string): number | null {
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${start} `))
  return found === undefined ? null : Number(found.slice(start.length + 1))
}

describe('the metrics of several processes', () => {
  it('add up what each counted, and do not add what all of them see', async () => {
    const other = new Metrics({ waiting: () => 70, lanes: () => 3 })
    const asked = new Metrics({ waiting: () => 69, lanes: () => 2 }, async () => [await other.report()])
    asked.replied(200, 'accepted', 1)
    other.replied(200, 'accepted', 1)
    other.replied(200, 'accepted', 2_000)

    const text = await asked.text()

    assert.equal(read(text, 'nuncio_requests_total'), 3)
    assert.equal(read(text, 'nuncio_request_duration_seconds_count'), 3)
    assert.equal(line(text, 'nuncio_request_duration_seconds_bucket{le="0.001"}'), 2)
    assert.equal(line(text, 'nuncio_request_duration_seconds_bucket{le="+Inf"}'), 3)
    assert.equal(read(text, 'nuncio_messages_waiting'), 70)
    assert.equal(read(text, 'nuncio_lanes_held'), 5)
  })

  it('survive being handed from process to process as JSON', async () => {
    const other = new Metrics(NOTHING)
    const handed = async () => [JSON.parse(JSON.stringify(await other.report())) as object[]]
    const asked = new Metrics(NOTHING, handed)
    other.committed({ operation: 'step', rows: 3, tookMs: 4 })

    const text = await asked.text()

    assert.equal(line(text, 'nuncio_commit_rows_sum{operation="step"}'), 3)
    assert.equal(line(text, 'nuncio_commit_rows_bucket{le="+Inf",operation="step"}'), 1)
  })

  it('are those of one alone where there are no others', async () => {
    const alone = new Metrics({ waiting: () => 1, lanes: () => 2 })

    const text = await alone.text()

    assert.equal(read(text, 'nuncio_lanes_held'), 2)
    assert.notEqual(read(text, 'process_start_time_seconds'), null)
  })
})

describe('the metrics of one process', () => {
  it('put each value into the buckets that it is not too large for', async () => {
    const metrics = new Metrics(NOTHING)
    metrics.record(FINISHED)
    metrics.record({ ...FINISHED, waitedMs: 100_000_000 })

    const text = await metrics.text()

    assert.equal(line(text, 'nuncio_first_attempt_wait_seconds_bucket{le="0.5"}'), 0)
    assert.equal(line(text, 'nuncio_first_attempt_wait_seconds_bucket{le="1"}'), 1)
    assert.equal(line(text, 'nuncio_first_attempt_wait_seconds_bucket{le="86400"}'), 1)
    assert.equal(line(text, 'nuncio_first_attempt_wait_seconds_bucket{le="+Inf"}'), 2)
    assert.equal(line(text, 'nuncio_first_attempt_wait_seconds_sum'), 100_000.7)
  })

  it('do not count the wait for a second attempt as one for the first', async () => {
    const metrics = new Metrics(NOTHING)
    metrics.record({ ...FINISHED, number: 2 })

    assert.equal(line(await metrics.text(), 'nuncio_first_attempt_wait_seconds_count'), 0)
  })

  it('count a value that is in no list as other, however many there are', async () => {
    const metrics = new Metrics(NOTHING)
    for (let i = 0; i < 500; i++) {
      metrics.record({ ...FINISHED, channel: `channel-${i}` })
      metrics.record({ event: 'callback.ignored', channel: `channel-${i}`, reason: `reason ${i}`, count: 1 })
      metrics.replied(400, `15550001${i}`, 1)
    }

    const text = await metrics.text()

    assert.equal(line(text, 'nuncio_attempts_total{channel="other",outcome="accepted"}'), 500)
    assert.equal(line(text, 'nuncio_callback_parts_ignored_total{channel="other",reason="other"}'), 500)
    assert.equal(line(text, 'nuncio_requests_total{status="400",outcome="other"}'), 500)
    assert.ok(!/channel-\d|reason \d|15550001/.test(text))
  })

  it('begin at zero, so that the first fault is seen as a change', async () => {
    const text = await new Metrics(NOTHING).text()

    assert.equal(line(text, 'nuncio_events_total{event="fault"}'), 0)
    assert.equal(line(text, 'nuncio_lane_claims_total{change="lost"}'), 0)
  })

  it('count lanes by what they do or wait for', async () => {
    let said = ['sending', 'pace', 'quiet_hours', 'whatsapp_pair_pace', 'backlog_confirmation', 'idle', 'trouble']
    const metrics = new Metrics({ ...NOTHING, laneStatuses: () => said })

    const before = await metrics.text()
    said = ['idle']
    const after = await metrics.text()

    assert.equal(line(before, 'nuncio_lanes{status="pace"}'), 2)
    assert.equal(line(before, 'nuncio_lanes{status="network"}'), 1)
    assert.equal(line(before, 'nuncio_lanes{status="confirmation"}'), 1)
    assert.equal(line(before, 'nuncio_lanes{status="connection"}'), 1)
    assert.equal(line(before, 'nuncio_attempts_open'), 1)
    assert.equal(line(after, 'nuncio_lanes{status="pace"}'), 0)
    assert.equal(line(after, 'nuncio_lanes{status="idle"}'), 1)
    assert.equal(line(after, 'nuncio_attempts_open'), 0)
  })

  it('count sessions by status, logins, and lines by the code that ended them', async () => {
    const metrics = new Metrics(NOTHING)
    const change = (id: string, status: string, code: number | null = null) =>
      metrics.record({
        event: 'session.changed',
        channel: 'whatsapp-web',
        connectionId: id as ConnectionId,
        status,
        code,
      })
    change('one', 'ready')
    change('two', 'ready')
    change('one', 'connecting')
    change('one', 'ready')
    change('two', 'taken-elsewhere', 440)
    change('three', 'ready')
    change('three', 'closed')

    const text = await metrics.text()

    assert.equal(line(text, 'nuncio_sessions{status="ready"}'), 1)
    assert.equal(line(text, 'nuncio_sessions{status="taken-elsewhere"}'), 1)
    assert.equal(line(text, 'nuncio_sessions{status="connecting"}'), 0)
    assert.equal(line(text, 'nuncio_session_logins_total'), 4)
    assert.equal(line(text, 'nuncio_session_lines_ended_total{code="440"}'), 1)
    assert.equal(line(text, 'nuncio_session_lines_ended_total{code="none"}'), 1)
  })

  it('sample the event loop ten times a second, from when they are first read, and show how late it was', async () => {
    const perfHooks = createRequire(import.meta.url)('node:perf_hooks') as typeof import('node:perf_hooks')
    const made: { resolution: number; isEnabled: boolean }[] = []
    const monitor = vi.spyOn(perfHooks, 'monitorEventLoopDelay').mockImplementation(({ resolution = 10 } = {}) => {
      const histogram = { resolution, isEnabled: false }
      made.push(histogram)
      const sampleNs = (resolution + 7) * 1e6
      return {
        ...{ count: 1, min: sampleNs, max: sampleNs, mean: sampleNs, stddev: 0 },
        percentile: () => sampleNs,
        reset: () => {},
        enable: () => {
          histogram.isEnabled = true
          return true
        },
      } as unknown as ReturnType<typeof perfHooks.monitorEventLoopDelay>
    })
    syncBuiltinESMExports()
    const metrics = new Metrics(NOTHING)
    monitor.mockRestore()
    syncBuiltinESMExports()

    const often = made.filter(({ resolution, isEnabled }) => isEnabled && resolution < HOUR_MS)
    const text = await metrics.text()

    assert.deepEqual(often, [])
    assert.deepEqual(
      made.filter(({ resolution }) => resolution < HOUR_MS),
      [{ resolution: 100, isEnabled: true }],
    )
    for (const what of ['max', 'mean', 'p50', 'p90', 'p99'])
      assert.equal(read(text, `nodejs_eventloop_lag_${what}_seconds`)?.toFixed(3), '0.007', what)
    assert.ok(!text.includes('nodejs_eventloop_lag_min_seconds'))
  })

  it.each(METRIC_LIST as readonly (readonly [string, MetricDefinition])[])(
    '%s is shown, with its sentence',
    async (name, { help, kind }) => {
      const text = await new Metrics(NOTHING).text()

      assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`))
      assert.equal(kind === 'counter', name.endsWith('_total'))
      assert.ok(help.endsWith('.'))
    },
  )
})
