import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { LiveStream } from '../../console/api/live.ts'

/** The connections of a tab: those that were opened, and how many of them are open. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2
  static readonly all: FakeSource[] = []
  readyState = 1

  constructor() {
    super()
    FakeSource.all.push(this)
  }

  static get open(): number {
    return FakeSource.all.filter(({ readyState }) => readyState !== FakeSource.CLOSED).length
  }

  close(): void {
    this.readyState = FakeSource.CLOSED
  }
}

let tab: EventTarget & { hidden: boolean }
let changes: number
let stream: LiveStream

describe('the event stream of a tab', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    tab = Object.assign(new EventTarget(), { hidden: false })
    vi.stubGlobal('document', tab)
    vi.stubGlobal('EventSource', FakeSource)
    FakeSource.all.length = 0
    changes = 0
    const onChanged = () => {
      changes += 1
    }
    stream = new LiveStream('/stream', { onChanged, onSignedOut: () => {} })
  })
  afterEach(() => {
    stream.stop()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  it('is closed while the tab is hidden, and reports one change when it is seen again', () => {
    stream.start()
    show(false)
    const whileHidden = FakeSource.open
    vi.advanceTimersByTime(60_000)
    const before = changes

    show(true)
    vi.advanceTimersByTime(60_000)

    assert.deepEqual([whileHidden, before, FakeSource.open, changes], [0, 0, 1, 1])
  })

  it('is opened in a tab in the background only once that is seen', () => {
    tab.hidden = true
    stream.start()
    const before = FakeSource.all.length

    show(true)

    assert.deepEqual([before, FakeSource.open], [0, 1])
  })

  it('stays as it is where the tab was visible all the time, or is paused', () => {
    stream.start()
    show(true)
    const opened = FakeSource.all.length
    stream.toggle()
    show(false)
    show(true)

    assert.deepEqual([opened, FakeSource.open, stream.status().state], [1, 0, 'paused'])
  })

  it('reports many changes as one, at most once a second', () => {
    stream.start()
    for (let event = 0; event < 5; event += 1) FakeSource.all[0]?.dispatchEvent(new Event('changed'))
    vi.advanceTimersByTime(1_000)
    const first = changes
    FakeSource.all[0]?.dispatchEvent(new Event('changed'))
    vi.advanceTimersByTime(1_000)

    assert.deepEqual([first, changes], [1, 2])
  })
})

function show(isVisible: boolean): void {
  tab.hidden = !isVisible
  tab.dispatchEvent(new Event('visibilitychange'))
}
