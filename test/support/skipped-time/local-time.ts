import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

/** What the programs of a thread had found before their time was made to skip. */
const original = {
  ...{ setTimeout, clearTimeout, Date },
  now: Date.now.bind(Date),
  monotonic: performance.now.bind(performance),
  hrtime: process.hrtime.bigint.bind(process.hrtime),
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const SHARED = 'skipped-time'
// How far the main thread is, for threads that begin later.
if (isMainThread) setEnvironmentData(SHARED, new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)))
const shared = getEnvironmentData(SHARED) as unknown as Float64Array
let [skippedMs = 0] = shared
const active = new Set<SkippingTimer>()

/** Stands for Node's own, which it has inside. */
class SkippingTimer {
  readonly #call: () => void
  readonly #everyMs: number | null
  #dueAt: number
  #real: NodeJS.Timeout

  constructor(call: () => void, delayMs: number, isInterval: boolean) {
    this.#call = call
    this.#everyMs = isInterval ? delayMs : null
    this.#dueAt = monotonic() + delayMs
    this.#real = this.#wait()
    active.add(this)
  }

  skip(): void {
    if (monotonic() >= this.#dueAt) this.#fire()
  }

  /** After time has skipped. */
  waitAgain(): void {
    const isReferenced = this.#real.hasRef()
    this.stop()
    active.add(this)
    this.#real = this.#wait()
    if (!isReferenced) this.#real.unref()
  }

  stop(): void {
    active.delete(this)
    // Node keeps a list for each length of time, and drops an empty one only if its last timer was referenced. After each skip the
    // lengths are others.
    this.#real.ref()
    original.clearTimeout(this.#real)
  }

  ref(): this {
    this.#real.ref()
    return this
  }

  unref(): this {
    this.#real.unref()
    return this
  }

  hasRef(): boolean {
    return this.#real.hasRef()
  }

  #wait(): NodeJS.Timeout {
    const leftMs = Math.max(1, this.#dueAt - monotonic())
    return original.setTimeout(() => this.#fire(), Math.min(leftMs, LONGEST_TIMER_MS))
  }

  #fire(): void {
    this.stop()
    if (this.#everyMs !== null) {
      this.#dueAt = monotonic() + this.#everyMs
      this.waitAgain()
    }
    this.#call()
  }
}

function monotonic(): number {
  return original.monotonic() + skippedMs
}

function start(isInterval: boolean) {
  // As Node takes what is no time: for the shortest one.
  return (call: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
    new SkippingTimer(() => call(...given), ms !== undefined && ms > 1 ? ms : 1, isInterval)
}

function stop(timer: unknown): void {
  if (timer instanceof SkippingTimer) timer.stop()
  else original.clearTimeout(timer as NodeJS.Timeout)
}

/** Puts clocks and timers in the place of those that the programs of this thread find. Those inside of Node go on in true time. */
export function installSkippingTime(): void {
  const now = () => Math.floor(original.now() + skippedMs)
  globalThis.Date = new Proxy(original.Date, {
    construct: (target, given) => Reflect.construct(target, given.length === 0 ? [now()] : given),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  performance.now = monotonic
  process.hrtime.bigint = () => original.hrtime() + BigInt(skippedMs) * 1_000_000n
  const timers = { setTimeout: start(false), setInterval: start(true), clearTimeout: stop, clearInterval: stop }
  Object.assign(globalThis, timers)
}

/** `ms`: since the process began. A timer that becomes due meanwhile calls once, as after a standstill. */
export function skipTimeTo(ms: number): void {
  skippedMs = ms
  if (isMainThread) shared[0] = ms
  for (const timer of [...active]) if (active.has(timer)) timer.skip()
}

/** Time goes on truly: timers that began before a skip are due sooner by it. */
export function goOn(): void {
  for (const timer of [...active]) timer.waitAgain()
}
