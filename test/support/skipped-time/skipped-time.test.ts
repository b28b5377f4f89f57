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

// Says what its clocks and timers did, in two threads, and in one that begins when all of that is over.
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
const LATER = `
  import { workerData } from 'node:worker_threads'
  console.log(Date.now() - workerData >= 510_000)`

it('time skips in each thread by all clocks, what is due is called after each skip, and a later thread begins there', async () => {
  const folder = temporaryFolder()
  const program = join(folder, 'program.mjs')
  writeFileSync(program, PROGRAM)
  writeFileSync(join(folder, 'later.mjs'), LATER)
  const time = new SkippedTime(folder)
  const child = spawn(process.execPath, [program], { env: time.environment, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    time.close()
    child.kill()
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? 'null') as unknown

  const first = await next()
  await time.connect()
  for (let skips = 0; skips < SKIPS; skips += 1) await time.skip(SECOND_MS)

  const each = [true, true, 1, 0, true]
  assert.deepEqual([first, await next(), await next(), await next()], ['ready', each, each, true])
})
