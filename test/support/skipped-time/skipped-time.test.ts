import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../journey/start-nuncio.ts'
import { SkippedTime } from './skipped-time.ts'

const SECOND_MS = 1_000
const SKIPS = 600
const TIMERS = 1_000
const LEFT_BYTES = 2_000_000

// Prints what its clocks and timers did, in two threads and in one that begins after them.
const PROGRAM = `
  import { isMainThread, parentPort, Worker } from 'node:worker_threads'
  const read = () => [Date.now(), new Date().getTime(), performance.now(), Number(process.hrtime.bigint() / 1_000_000n)]
  const say = (fact) => console.log(JSON.stringify(fact))
  const [began, calls] = [read(), []]
  setInterval(() => calls.push('20 s'), 20_000)
  setInterval(() => calls.push('100 ms'), 100)
  clearTimeout(setTimeout(() => calls.push('cancelled'), 1_000))
  setTimeout(() => calls.push('once'), 1_000)
  setTimeout(() => {
    const count = (name) => calls.filter((call) => call === name).length
    const havePassed = read().every((now, place) => now - began[place] >= 510_000)
    say([count('20 s') >= 25, count('100 ms') > 100, count('once'), count('cancelled'), havePassed])
    if (isMainThread) new Worker(new URL('later.mjs', import.meta.url), { workerData: began[0] })
  }, 510_000)
  parentPort?.postMessage('ready')
  if (isMainThread) new Worker(new URL(import.meta.url)).once('message', say)`
/** Sets timers that are not referenced, as a cache does for its entries. */
const WAITING = `
  for (let count = 0; count < ${TIMERS}; count += 1) setTimeout(() => {}, 259_200_000 + count).unref()
  setInterval(() => {}, 60_000)
  console.log('true')`
const LATER = `
  import { workerData } from 'node:worker_threads'
  console.log(Date.now() - workerData >= 510_000)`

it('timers that still wait after many skips take no more memory', async () => {
  const { time, next } = start({ program: WAITING })
  await next()
  await time.connect()
  const measured = async () => {
    const [memory] = await time.measure()
    return memory?.heapUsed ?? 0
  }
  const passHours = async (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) {
      await time.skip(SECOND_MS)
      await time.goOn()
    }
  }
  await passHours(1)
  const before = await measured()

  await passHours(60)

  const grown = (await measured()) - before
  assert.ok(grown < LEFT_BYTES, `${grown} bytes`)
})

it('time skips on all clocks of each thread, due timers fire after each skip, and later threads start at that time', async () => {
  const { time, next } = start({ program: PROGRAM, later: LATER })

  const first = await next()
  await time.connect()
  for (let skips = 0; skips < SKIPS; skips += 1) await time.skip(SECOND_MS)

  const each = [true, true, 1, 0, true]
  assert.deepEqual([first, await next(), await next(), await next()], ['ready', each, each, true])
})

function start(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.mjs`), text)
  const time = new SkippedTime(folder)
  const program = join(folder, 'program.mjs')
  const child = spawn(process.execPath, [program], { env: time.environment, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    time.close()
    child.kill()
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { time, next: async () => JSON.parse((await lines.next()).value ?? 'null') as unknown }
}
