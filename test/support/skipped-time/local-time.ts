import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

/** The originals of what is replaced in this thread. */
const original = {
  ...{ setTimeout, clearTimeout, Date },
  now: Date.now.bind(Date),
  monotonic: performance.now.bind(performance),
  hrtime: process.hrtime.bigint.bind(process.hrtime),
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const SHARED = 'skipped-time'
// The time that the main thread has skipped, for threads that begin later.
if (isMainThread) setEnvironmentData(SHARED, new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)))
const shared = getEnvironmentData(SHARED) as unknown as Float64Array
let [skippedMs = 0] = shared
const active = new Set<SkippingTimer>()

/** Replaces a timer of Node, and uses one inside. */
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

  /** Sets the real timer anew, because time has skipped. */
  waitAgain(): void {
    const isReferenced = this.#real.hasRef()
    this.stop()
    active.add(this)
    this.#real = this.#wait()
    if (!isReferenced) this.#real.unref()
  }

  stop(): void {
    active.delete(this)
    // Node keeps one list of timers for each duration, and drops an empty list only if its last timer was referenced. After each
    // skip the durations are different, so lists would pile up.
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
  // Like Node, uses the shortest time for anything that is not a valid time.
  return (call: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
    new SkippingTimer(() => call(...given), ms !== undefined && ms > 1 ? ms : 1, isInterval)
}

function stop(timer: unknown): void {
  if (timer instanceof SkippingTimer) timer.stop()
  else original.clearTimeout(timer as NodeJS.Timeout)
}

/** Replaces the clocks and timers that code in this thread finds. Those inside Node keep real time. */
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

/** `ms`: the time skipped since the process began. A timer that came due meanwhile fires once, as after a standstill. */
export function skipTimeTo(ms: number): void {
  skippedMs = ms
  if (isMainThread) shared[0] = ms
  for (const timer of [...active]) if (active.has(timer)) timer.skip()
}

/** Lets real time go on: each timer waits for what is left of its time after the skips. */
export function goOn(): void {
  for (const timer of [...active]) timer.waitAgain()
}
