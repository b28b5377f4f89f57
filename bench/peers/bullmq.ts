import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { answerParent } from '../child.ts'
import { machineMs } from '../machine-clock.ts'

const NAME = `nuncio-bench-${process.pid}`
// With jobs that do nothing, a higher number gains nothing.
const CONCURRENCY = 100
const ADDED_AT_ONCE = 1_000

// The part of BullMQ that is used here. It is not a dependency, so its types are not there.
interface Queue {
  addBulk(jobs: readonly { name: string; data: object; opts: object }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  close(): Promise<void>
}
interface Worker {
  close(force: boolean): Promise<void>
}
interface Bullmq {
  readonly Queue: new (name: string, options: object) => Queue
  readonly Worker: new (name: string, work: () => Promise<void>, options: object) => Worker
}

let bullmq: Bullmq | null = null
let queue: Queue | null = null
let worker: Worker | null = null
let done = 0

const calls = {
  async prepare({ folder, url }: { folder: string; url: string }) {
    const file = createRequire(join(folder, 'package.json')).resolve('bullmq')
    bullmq = (await import(pathToFileURL(file).href)) as Bullmq
    queue = new bullmq.Queue(NAME, { connection: { url } })
    await queue.obliterate({ force: true })
  },
  async add({ jobs }: { jobs: number }): Promise<number> {
    const startedMs = machineMs()
    for (let first = 0; first < jobs; first += ADDED_AT_ONCE) {
      const count = Math.min(ADDED_AT_ONCE, jobs - first)
      const opts = { removeOnComplete: true, removeOnFail: true }
      await queue?.addBulk(
        Array.from({ length: count }, (_, at) => ({ name: 'nothing', data: { at: first + at }, opts })),
      )
    }
    return machineMs() - startedMs
  },
  run({ url }: { url: string }) {
    if (!bullmq) throw new Error('It was not prepared')
    const work = async () => {
      done += 1
    }
    worker = new bullmq.Worker(NAME, work, {
      connection: { url, maxRetriesPerRequest: null },
      concurrency: CONCURRENCY,
    })
  },
  progress() {
    const { user, system } = process.cpuUsage()
    return { atMs: machineMs(), done, outOfOrder: 0, cpuSeconds: (user + system) / 1e6 }
  },
}
export type BullmqCalls = typeof calls

async function stop(): Promise<void> {
  await worker?.close(true)
  await queue?.obliterate({ force: true })
  await queue?.close()
}

process.once('SIGTERM', () => void stop().finally(() => process.exit(0)))
answerParent(calls)
