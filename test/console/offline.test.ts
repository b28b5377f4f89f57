import assert from 'node:assert/strict'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { LiveStatus, LiveStream } from '../../console/api/live.ts'
import { LiveContext } from '../../console/components/use-live.ts'
import { useNow } from '../../console/components/use-now.ts'

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
})

const Now = () => useNow()

function rendered(component: () => React.ReactNode, status: LiveStatus): string {
  const stream = { subscribe: () => () => {}, status: () => status } as unknown as LiveStream
  return renderToStaticMarkup(createElement(LiveContext, { value: stream }, createElement(component)))
}
