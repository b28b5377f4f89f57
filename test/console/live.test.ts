import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { LiveStream } from '../../console/api/live.ts'
import { ALIVE_EVERY_MS } from '../../src/contract/console/stream-events.ts'

/** The event streams that a tab has opened, and how many of them are open. */
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
let answers: boolean
let stream: LiveStream

describe('the event stream of a tab', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    tab = Object.assign(new EventTarget(), { hidden: false })
    vi.stubGlobal('document', tab)
    vi.stubGlobal('EventSource', FakeSource)
    FakeSource.all.length = 0
    changes = 0
    answers = true
    const onChanged = () => {
      changes += 1
    }
    stream = new LiveStream('/stream', { onChanged, onSignedOut: () => {}, answers: async () => answers })
  })
  afterEach(() => {
    stream.stop()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  it('is closed while the tab is hidden, and reports one change when the tab is visible again', () => {
    stream.start()
    show(false)
    const whileHidden = FakeSource.open
    vi.advanceTimersByTime(60_000)
    const before = changes

    show(true)
    vi.advanceTimersByTime(60_000)

    assert.deepEqual([whileHidden, before, FakeSource.open, changes], [0, 0, 1, 1])
  })

  it('is opened in a background tab only when that becomes visible', () => {
    tab.hidden = true
    stream.start()
    const before = FakeSource.all.length

    show(true)

    assert.deepEqual([before, FakeSource.open], [0, 1])
  })

  it('stays unchanged if the tab was always visible, or is paused', () => {
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

  it('reconnects as soon as it is lost, and is offline when requests are not answered either', async () => {
    stream.start()
    fire('alive')
    vi.setSystemTime(1_000)
    fire('error')
    const atOnce = stream.status()
    answers = false
    vi.setSystemTime(3_000)
    fire('error')
    await vi.advanceTimersByTimeAsync(0)
    const afterwards = stream.status()
    const before = changes
    fire('alive')
    vi.advanceTimersByTime(1_000)

    assert.deepEqual(atOnce, { state: 'reconnecting', lostAt: 1_000 })
    assert.deepEqual(afterwards, { state: 'offline', lostAt: 1_000 })
    assert.deepEqual([stream.status(), changes - before], [{ state: 'live', lostAt: null }, 1])
  })

  it('is not offline if a service that answers refuses it', async () => {
    stream.start()
    fire('alive')
    for (const _ of [1, 2]) {
      FakeSource.all.at(-1)?.close()
      fire('error')
      await vi.advanceTimersByTimeAsync(3_000)
    }

    assert.equal(stream.status().state, 'reconnecting')
    assert.deepEqual([FakeSource.all.length, FakeSource.open], [3, 1])
  })

  it('is lost if nothing comes over an open connection, and offline if requests are not answered either', async () => {
    stream.start()
    for (const event of ['alive', 'changed', 'alive']) {
      fire(event)
      vi.advanceTimersByTime(2 * ALIVE_EVERY_MS)
    }
    const whileAlive = [stream.status().state, FakeSource.all.length]
    const heardAt = Date.now() - 2 * ALIVE_EVERY_MS
    answers = false
    vi.advanceTimersByTime(ALIVE_EVERY_MS)
    const atOnce = stream.status()
    await vi.advanceTimersByTimeAsync(0)
    const afterwards = stream.status()
    const sources = [FakeSource.all.length, FakeSource.open]
    fire('alive')

    assert.deepEqual(whileAlive, ['live', 1])
    assert.deepEqual(atOnce, { state: 'reconnecting', lostAt: heardAt })
    assert.deepEqual([afterwards, sources], [{ state: 'offline', lostAt: heardAt }, [2, 1]])
    assert.equal(stream.status().state, 'live')
  })

  it('expects nothing while it is paused or hidden', async () => {
    stream.start()
    stream.toggle()
    await vi.advanceTimersByTimeAsync(60_000)
    const whilePaused = stream.status().state
    stream.toggle()
    show(false)
    await vi.advanceTimersByTimeAsync(60_000)

    assert.deepEqual([whilePaused, stream.status().state, FakeSource.open], ['paused', 'live', 0])
  })
})

function fire(event: string): void {
  FakeSource.all.at(-1)?.dispatchEvent(new Event(event))
}

function show(isVisible: boolean): void {
  tab.hidden = !isVisible
  tab.dispatchEvent(new Event('visibilitychange'))
}
