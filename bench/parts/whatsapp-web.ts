import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { WHATSAPP_WEB } from '../../src/channels/whatsapp-web/name.ts'
import { nuncioEnvironment, nuncioMain } from '../../test/support/black-box/nuncio-environment.ts'
import { whyNoLibrary } from '../../test/support/whatsapp-web/library.ts'
import { type Bench, loadOf } from '../bench.ts'
import type { Figure } from '../figure.ts'
import { LinkedService } from '../linked-service.ts'
import { machineMs } from '../machine-clock.ts'
import { canSeeProcesses, cpuSecondsOfFamily, cpuSecondsOfThread, residentMbOf } from '../process-facts.ts'
import { SEND_PATH, sendBody } from '../send-request.ts'
import { median, percentile } from '../statistics.ts'

const PART = 'whatsapp-web'
const SANDBOX_CONNECTIONS = 10
const SOCKETS = 16
// Fewer than a thread can do, so that no message waits.
const FIRST_PER_SECOND = 40
const PER_SECOND = 100
const SETTLE_MS = 3_000
const WAITING_SHARE = 0.1

interface Size {
  readonly numbers: number
  /** How many messages are sent one at a time. */
  readonly single: number
}

/** Linked devices on the simulated WhatsApp: their cost and their speed. */
export async function measureWhatsAppWeb(bench: Bench): Promise<Figure[]> {
  const why = whyNoLibrary()
  if (why !== null || !canSeeProcesses()) {
    bench.options.print(`  skipped: ${why ?? 'this system does not say what another process uses'}`)
    return []
  }
  const size = bench.options.isQuick ? { numbers: 4, single: 3 } : { numbers: 500, single: 200 }
  const install = await measureInstall(bench)
  const service = await LinkedService.open(bench, size.numbers, SANDBOX_CONNECTIONS)
  const figures = [
    install,
    ...(await measureSessions(bench, service, size)),
    ...(await measureMessages(bench, service, size)),
    ...(await measureRestart(bench, service, size)),
    ...(bench.options.isQuick ? [] : [await measureDeadLine(service)]),
  ]
  const { complaints } = await service.simulator.ask('progress', null)
  for (const complaint of complaints) bench.options.print(`  ! the simulator complains: ${complaint}`)
  await bench.end(service.process)
  await bench.end(service.simulator)
  await bench.forget(service.data)
  return figures
}

async function measureInstall(bench: Bench): Promise<Figure> {
  const folder = bench.newFolder()
  const startedMs = performance.now()
  const environment = { ...nuncioEnvironment(folder), HOME: process.env['HOME'] ?? '' }
  const child = spawn(process.execPath, [nuncioMain, 'channel', 'install', WHATSAPP_WEB, '--yes'], {
    ...{ cwd: folder, env: environment, stdio: 'ignore' },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`The channel could not be installed: exit code ${String(code)}`)
  const seconds = (performance.now() - startedMs) / 1_000
  return figureOf('nuncio channel install whatsapp-web', seconds, {
    unit: 's',
    reach: { atMost: 15 },
    note: 'the registry included',
  })
}

/**
 * Memory and logins. Each figure is the difference to a fresh process with fewer sessions, so it excludes the cost of a start.
 */
async function measureSessions(bench: Bench, service: LinkedService, { numbers }: Size): Promise<Figure[]> {
  const { connections } = service.data
  const none = await restAfterStart(service, 0)
  await service.link(connections.slice(0, 1))
  await service.process.stop()
  const one = await restAfterStart(service, 1)
  const linkingFromMs = performance.now()
  await service.link(connections.slice(1, numbers))
  bench.options.print(`  linked ${numbers} numbers in ${Math.round((performance.now() - linkingFromMs) / 1_000)} s`)
  await service.process.stop()
  const all = await restAfterStart(service, numbers)
  const more = numbers - 1
  return [
    figureOf('memory: the thread and the library', one.mb - none.mb, {
      ...{ unit: 'MB', reach: { atMost: 80 } },
      note: `with the first session; without ${Math.round(none.mb)} MB`,
    }),
    figureOf('memory: one more idle session', (all.mb - one.mb) / more, {
      ...{ unit: 'MB', reach: { atMost: 0.8 } },
      note: '',
    }),
    figureOf(`memory: ${numbers} idle sessions`, all.mb, {
      ...{ unit: 'MB', reach: { atMost: 700 } },
      note: 'the whole process',
    }),
    figureOf('CPU of a login', ((all.cpuSeconds - one.cpuSeconds) / more) * 1_000, {
      ...{ unit: 'ms', reach: { atMost: 45 } },
      note: 'of the service and of the simulator together',
    }),
  ]
}

interface Rest {
  readonly mb: number
  /** What the service has used since its start, and the simulator in the same time. */
  readonly cpuSeconds: number
}

/** Starts the service, and leaves it running. */
async function restAfterStart(service: LinkedService, numbers: number): Promise<Rest> {
  const { simulator } = service
  const simulatorBefore = cpuSecondsOfFamily(simulator.pid)
  await service.start(numbers)
  await pause(SETTLE_MS)
  const { pid } = service.process
  const cpuSeconds = cpuSecondsOfFamily(pid) + cpuSecondsOfFamily(simulator.pid) - simulatorBefore
  return { mb: residentMbOf(pid), cpuSeconds }
}

async function measureMessages(bench: Bench, service: LinkedService, size: Size): Promise<Figure[]> {
  const linked = service.data.numbers.slice(0, size.numbers)
  const sandbox = service.data.numbers.slice(size.numbers)
  const first = await load(bench, service, {
    numbers: linked,
    perSecond: FIRST_PER_SECOND,
    seconds: linked.length / FIRST_PER_SECOND,
  })
  const warm: Load[] = []
  const beside: { readonly with: number; readonly without: number }[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const without = await load(bench, service, {
      numbers: sandbox,
      perSecond: PER_SECOND,
      seconds: bench.options.seconds,
    })
    const turn = await load(bench, service, { numbers: linked, perSecond: PER_SECOND, seconds: bench.options.seconds })
    warm.push(turn)
    beside.push({ with: turn.p99Ms, without: without.p99Ms })
  }
  const times = await sendSingly(service, size)
  const differences = beside.map((turn) => turn.with - turn.without)
  const cpuMs = warm.map((turn) => turn.threadCpuMs)
  const p99 = (which: 'with' | 'without') => median(beside.map((turn) => turn[which])).toFixed(2)
  return [
    figureOf('CPU of the first message to a recipient', first.threadCpuMs, {
      ...{ unit: 'ms', reach: { atMost: 8 } },
      note: `in the thread; ${first.processCpuMs.toFixed(1)} ms in the whole process`,
    }),
    {
      ...figureOf('CPU of a message', median(cpuMs), {
        ...{ unit: 'ms', reach: { atMost: 3 } },
        note: `in the thread; ${median(warm.map((turn) => turn.processCpuMs)).toFixed(1)} ms in the whole process`,
      }),
      rounds: cpuMs,
    },
    figureOf('request → taken by WhatsApp, p50', percentile(times, 0.5), {
      ...{ unit: 'ms', reach: { atMost: 15 } },
      note: `${times.length} messages, one at a time; p99 ${percentile(times, 0.99).toFixed(1)} ms`,
    }),
    {
      ...figureOf(`accept p99 at ${PER_SECOND}/s, more than with the sandbox`, median(differences), {
        ...{ unit: 'ms', reach: { atMost: 1 } },
        note: `${p99('with')} ms while each is sent by WhatsApp Web, ${p99('without')} ms while the sandbox takes each`,
      }),
      rounds: differences,
    },
  ]
}

interface Load {
  readonly p99Ms: number
  /** For each message. */
  readonly threadCpuMs: number
  readonly processCpuMs: number
}

interface WantedLoad {
  readonly numbers: readonly string[]
  readonly perSecond: number
  readonly seconds: number
}

/** Sends at a steady rate, and waits until everything was sent. */
async function load(bench: Bench, service: LinkedService, { numbers, perSecond, seconds }: WantedLoad): Promise<Load> {
  const { data, process: served, simulator } = service
  const target = { port: served.settings.port, pid: served.pid }
  const isLinked = data.numbers[0] === numbers[0]
  const { taken } = await simulator.ask('progress', null)
  const before = { thread: cpuSecondsOfThread(served.pid, WHATSAPP_WEB), all: cpuSecondsOfFamily(served.pid) }
  const result = await bench.load({
    ...{ ...loadOf(data, target), numbers, sockets: SOCKETS, ratePerSecond: perSecond, seconds, warmUpSeconds: 0 },
  })
  if (isLinked) await service.hasSent(taken, result.allReplies)
  const each = (secondsOf: number) => (secondsOf / result.allReplies) * 1_000
  return {
    p99Ms: result.p99Ms,
    threadCpuMs: each(cpuSecondsOfThread(served.pid, WHATSAPP_WEB) - before.thread),
    processCpuMs: each(cpuSecondsOfFamily(served.pid) - before.all),
  }
}

/** To a recipient that the number has written to before. */
async function sendSingly({ data, process: served, simulator }: LinkedService, { single }: Size): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < single; count += 1) {
    const { taken } = await simulator.ask('progress', null)
    const startedMs = machineMs()
    await post(`${served.url}${SEND_PATH}`, { token: data.token, from: data.numbers[0] ?? '' })
    let progress = await simulator.ask('progress', null)
    while (progress.taken === taken) {
      await pause(1)
      progress = await simulator.ask('progress', null)
    }
    times.push(progress.lastTakenMs - startedMs)
    await pause(20)
  }
  return times
}

async function post(url: string, { token, from }: { readonly token: string; readonly from: string }): Promise<void> {
  const headers = { 'x-api-key': token, 'content-type': 'application/json' }
  const reply = await fetch(url, { method: 'POST', headers, body: sendBody({ from }) })
  if (reply.status !== 200) throw new Error(`A text was answered with ${reply.status}`)
}

/** Kills the service while a tenth of its numbers have a waiting message. */
async function measureRestart(bench: Bench, service: LinkedService, { numbers }: Size): Promise<Figure[]> {
  const { data, process: served } = service
  const waiting = data.connections.slice(0, Math.ceil(numbers * WAITING_SHARE))
  await served.stop()
  service.write(`update connection set state = 'paused'`, waiting)
  await service.start(numbers)
  for (const { number } of waiting) await post(`${served.url}${SEND_PATH}`, { token: data.token, from: number })
  await served.killNine()
  service.write(`update connection set state = 'active'`, waiting)
  const { readyMs, sentMs } = await service.start(numbers, waiting.length)
  bench.options.print(`  after kill -9: sent after ${Math.round(sentMs)} ms, all after ${Math.round(readyMs)} ms`)
  return [
    figureOf('after kill -9: what waited is sent', sentMs / 1_000, {
      ...{ unit: 's', reach: { atMost: 30 } },
      note: `from the start of the process; a message of each of ${waiting.length} numbers`,
    }),
    figureOf(`after kill -9: all ${numbers} are logged in`, readyMs / 1_000, {
      ...{ unit: 's', reach: { atMost: 60 } },
      note: 'from the start of the process',
    }),
  ]
}

async function measureDeadLine(service: LinkedService): Promise<Figure> {
  const metric = 'nuncio_session_lines_ended_total{code="none"}'
  const before = await service.readMetric(metric)
  const startedMs = performance.now()
  await service.simulator.ask('freeze', { number: service.data.numbers[0] ?? '' })
  while ((await service.readMetric(metric)) === before) await pause(100)
  const seconds = (performance.now() - startedMs) / 1_000
  return figureOf('a dead line is noticed', seconds, {
    unit: 's',
    reach: { atMost: 35 },
    note: 'its peer answers nothing any more',
  })
}

function figureOf(name: string, value: number, { unit, reach, note }: Pick<Figure, 'unit' | 'reach' | 'note'>): Figure {
  return { part: PART, name: `WhatsApp Web: ${name}`, value, unit, reach, rounds: [], note }
}
