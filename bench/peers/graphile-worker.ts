import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker'
import { answerParent } from '../child.ts'
import { machineMs } from '../machine-clock.ts'
import { OrderWatch } from './order-watch.ts'

const PLAIN = { concurrentJobs: 24, maxPoolSize: 25 }
// The options of its own performance test: jobs are fetched and completed many at a time.
const BATCHED = {
  ...PLAIN,
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const ADDED_AT_ONCE = 1_000

let utils: WorkerUtils | null = null
let runner: Runner | null = null
const watch = new OrderWatch()
const logger = new Logger(() => () => {})

interface Payload {
  readonly lane: number
  readonly place: number
}

const calls = {
  async prepare({ url }: { url: string }) {
    utils = await makeWorkerUtils({ connectionString: url, logger })
    await utils.migrate()
  },
  /** One call after another, like a caller with many jobs. Returns how long it took. */
  async add({ jobs, lanes }: { jobs: number; lanes: number }): Promise<number> {
    const startedMs = machineMs()
    for (let first = 0; first < jobs; first += ADDED_AT_ONCE) {
      const count = Math.min(ADDED_AT_ONCE, jobs - first)
      await utils?.addJobs(
        Array.from({ length: count }, (_, at) => {
          const [lane, place] = [(first + at) % lanes, Math.floor((first + at) / lanes)]
          return { identifier: 'nothing', payload: { lane, place }, queueName: `lane-${lane}` }
        }),
      )
    }
    return machineMs() - startedMs
  },
  async run({ url, isBatched }: { url: string; isBatched: boolean }) {
    runner = await run({
      preset: { worker: { connectionString: url, ...(isBatched ? BATCHED : PLAIN), logger } },
      noHandleSignals: true,
      taskList: {
        nothing: (payload) => {
          const { lane, place } = payload as Payload
          watch.note(lane, place)
        },
      },
    })
  },
  progress() {
    const { user, system } = process.cpuUsage()
    return { atMs: machineMs(), done: watch.done, outOfOrder: watch.outOfOrder, cpuSeconds: (user + system) / 1e6 }
  },
}
export type PeerCalls = typeof calls

async function stop(): Promise<void> {
  await runner?.stop()
  await utils?.release()
}

process.once('SIGTERM', () => void stop().finally(() => process.exit(0)))
answerParent(calls)
