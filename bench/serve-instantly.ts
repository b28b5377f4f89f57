import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answerParent } from './child.ts'
import { InstantWorld } from './instant-world.ts'
import { machineMs } from './machine-clock.ts'
import { settingsFor } from './settings-for.ts'

const RESOLUTION_MS = 1

let world: InstantWorld | null = null
const loopDelay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

const calls = {
  async start({ dataDir, environment = {} }: { dataDir: string; environment?: Readonly<Record<string, string>> }) {
    world = new InstantWorld(settingsFor(dataDir, { ...environment, NUNCIO_PORT: '0' }))
    return world.start()
  },
  /** The number of deliveries so far, the time, and the CPU time used. */
  progress() {
    const { user, system } = process.cpuUsage()
    return { atMs: machineMs(), sent: world?.sent ?? 0, cpuSeconds: (user + system) / 1e6 }
  },
  watchLoop() {
    loopDelay.enable()
    loopDelay.reset()
  },
  /** The longest block of the event loop since the last call, in milliseconds. */
  takeLongestHoldMs() {
    const longestMs = loopDelay.max / 1e6 - RESOLUTION_MS
    loopDelay.reset()
    return Math.max(0, longestMs)
  },
  trace() {
    world?.trace()
  },
  takeTraced: () => world?.takeTraced() ?? [],
  /** Works only with --expose-gc. Returns the megabytes that its objects need. */
  collectGarbage() {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed / 1e6
  },
}
export type InstantCalls = typeof calls

process.once('SIGTERM', () => {
  void (world?.stop() ?? Promise.resolve()).finally(() => process.exit(0))
})
answerParent(calls)
