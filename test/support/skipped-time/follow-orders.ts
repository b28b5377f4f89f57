import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'
import { goOn, installSkippingTime, skipTimeTo } from './local-time.ts'
import { type Answer, type Memory, type Order, SOCKET_VARIABLE } from './skipped-time.ts'

// The service loads this file before its own code, once in each of its threads: see `SkippedTime`.

interface ThreadAnswer {
  readonly thread: number
  /** Null: the thread has begun to follow orders, or has ended. */
  readonly answer: Memory | 'done' | null
}

const COLLECTIONS = 3
const [orders, answers] = ['orders', 'answers'].map((name) => new BroadcastChannel(`skipped-time-${name}`).unref()) as [
  BroadcastChannel,
  BroadcastChannel,
]
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function carryOut(order: Order): Promise<Memory | 'done'> {
  if (order.do === 'measure') return await measureMemory()
  if (order.do === 'skip') skipTimeTo(order.toMs)
  else goOn()
  await turn()
  return 'done'
}

/** Measures the memory after all that can be freed was freed. Finalizers run between the collections. */
async function measureMemory(): Promise<Memory> {
  for (let times = 0; times < COLLECTIONS; times += 1) {
    collectGarbage()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return { thread: threadId, heapUsed, external }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function followMainThread(): void {
  const say = (answer: ThreadAnswer['answer']) =>
    answers.postMessage({ thread: threadId, answer } satisfies ThreadAnswer)
  orders.onmessage = (event) => void carryOut((event as { readonly data: Order }).data).then(say)
  say(null)
}

/** Follows the orders of the test. They come one at a time, each as a line of JSON. */
function followTest(path: string): void {
  const threads = new Set<number>()
  let onAnswer: (answer: ThreadAnswer) => void = () => {}
  process.on('worker', (worker) => {
    const { threadId: thread } = worker
    worker.once('exit', () => {
      threads.delete(thread)
      onAnswer({ thread, answer: null })
    })
  })
  answers.onmessage = (event) => {
    const { data } = event as { readonly data: ThreadAnswer }
    threads.add(data.thread)
    onAnswer(data)
  }
  const inEachThread = async (order: Order): Promise<Answer> => {
    const own = await carryOut(order)
    const waiting = new Set(threads)
    const found: (Memory | 'done')[] = []
    const all = Promise.withResolvers<void>()
    onAnswer = ({ thread, answer }) => {
      // A thread that has just begun does not know of this order, and one that has ended never answers.
      if (waiting.delete(thread) && answer !== null) found.push(answer)
      if (waiting.size === 0) all.resolve()
    }
    orders.postMessage(order)
    if (waiting.size > 0) await all.promise
    return [own, ...found]
  }
  const follow = async (socket: Socket) => {
    for await (const line of createInterface({ input: socket }))
      socket.write(`${JSON.stringify(await inEachThread(JSON.parse(line) as Order))}\n`)
  }
  createServer((socket) => void follow(socket).catch(() => socket.destroy()))
    .listen(path)
    .unref()
}

const path = process.env[SOCKET_VARIABLE]
installSkippingTime()
if (!isMainThread) followMainThread()
else if (path !== undefined) followTest(path)
