import assert from 'node:assert/strict'
import { HeadlessMantineProvider } from '@mantine/core'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { LiveStatus, LiveStream } from '../../console/api/live.ts'
import { AwayBanner, LiveSwitch } from '../../console/components/live-status.tsx'
import { LiveContext } from '../../console/components/use-live.ts'
import { useNow } from '../../console/components/use-now.ts'
import { logSearch } from '../../console/features/logs/log-search.ts'
import { RowResult } from '../../console/features/logs/row-result.tsx'
import { useLogFilter } from '../../console/features/logs/use-log-filter.ts'

describe('a page while the service does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 90_000 })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('shows relative times as they were at the last answer', () => {
    assert.equal(rendered(Now, { state: 'live', lostAt: null }), '90000')
    assert.equal(rendered(Now, { state: 'reconnecting', lostAt: 30_000 }), '90000')
    assert.equal(rendered(Now, { state: 'offline', lostAt: 30_000 }), '30000')
  })

  it('keeps showing in the log what a message waits for', () => {
    const wait = { code: 'awaiting_evidence', list: 'Asking what became of it', sentence: '', until: 60_000 }
    const place = { isOpen: true, code: 'awaiting_evidence', mayHaveLeft: false, behind: null, wait }
    const row = { outcome: 'accepted', state: 'SENDING', isPaused: false, reason: null }
    const props = { row, place } as unknown as ComponentProps<typeof RowResult>
    const [live, , offline] = ALL.map((status) => rendered(() => createElement(RowResult, props), status))

    assert.match(live ?? '', />Asking what became of it</)
    assert.match(offline ?? '', />Asking what became of it, goes on \d\d:\d\d:00 at the latest</)
  })

  it('requests the rows that the log has shown last, which are still cached', () => {
    const since = (status: LiveStatus) => Number(rendered(FilteredSince, status))
    const before = since({ state: 'live', lostAt: null })
    vi.setSystemTime(690_000)
    const offline = since({ state: 'offline', lostAt: 630_000 })
    const again = since({ state: 'live', lostAt: null })

    assert.deepEqual([offline, again], [before, before + 600_000])
  })

  it('says above its content since when, and only then', () => {
    const [live, lost, offline] = ALL.map((status) => rendered(AwayBanner, status))

    assert.deepEqual([live, lost], ['', ''])
    assert.match(offline ?? '', /role="alert".*The service does not answer.*It has not answered since \d\d:\d\d:30\./)
  })
})

describe('the switch for live updates', () => {
  it.each([
    ['live', 'Live', 'Live updates'],
    ['reconnecting', 'Reconnecting…', 'Live updates, reconnecting'],
    ['offline', 'Offline', 'Live updates, offline'],
    ['paused', 'Updates paused', 'Live updates, paused'],
  ] as const)('says that they are %s', (state, word, name) => {
    const html = rendered(LiveSwitch, { state, lostAt: null })

    assert.match(html, new RegExp(`<span[^>]*>${word}</span>`))
    assert.match(html, new RegExp(` aria-pressed="${state !== 'paused'}" aria-label="${name}"`))
  })
})

const ALL: readonly LiveStatus[] = [
  { state: 'live', lostAt: null },
  { state: 'reconnecting', lostAt: 30_000 },
  { state: 'offline', lostAt: 30_000 },
]

const Now = () => useNow()
const FilteredSince = () => useLogFilter(logSearch.parse({})).since

function rendered(component: () => React.ReactNode, status: LiveStatus): string {
  const stream = { subscribe: () => () => {}, status: () => status } as unknown as LiveStream
  return renderToStaticMarkup(
    createElement(
      HeadlessMantineProvider,
      null,
      createElement(LiveContext, { value: stream }, createElement(component)),
    ),
  )
}
