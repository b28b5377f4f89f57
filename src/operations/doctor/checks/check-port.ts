import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { localUrl, type Settings } from '../../../config/read-settings.ts'
import type { WorkerView } from '../../../core/ports/administration.ts'
import { findServiceHolder } from '../../../storage/sqlite/connection/service-lock.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const ANSWER_WITHIN_MS = 5_000

/** What answers at the address of our settings. `silent`: something takes the connection and says nothing. */
type Answer =
  | { readonly kind: 'nothing' | 'stranger' | 'silent' }
  | { readonly kind: 'ours'; readonly problems: readonly string[] }

export async function checkPort(
  { settings, openSession }: Examination,
  answerWithinMs = ANSWER_WITHIN_MS,
): Promise<readonly CheckResult[]> {
  if (!settings) return [skipped('The settings are wrong, so that it is unknown where the service would answer.')]
  const session = await openSession()
  const workers = session ? (await session.administration.listWorkers()).filter(({ isAlive }) => isAlive) : []
  const { database } = settings
  const answer = settings.port === 0 ? null : await probePort(settings, answerWithinMs)
  let holder: number | null = null
  if (database.engine === 'sqlite') holder = findServiceHolder(join(dirname(database.path), 'service.lock'))
  // Several processes share PostgreSQL, on ports of their own: one is named only where one seems to hang.
  else if (answer?.kind === 'silent') holder = workers.find(({ host }) => host === hostname())?.pid ?? null
  return [
    assessPort({ answer, url: localUrl(settings, settings.port), holder, port: settings.port }),
    ...(database.engine === 'sqlite' ? assessSharers(workers) : []),
  ]
}

interface Seen {
  /** Null when any free port is taken, so that it is unknown which to ask. */
  readonly answer: Answer | null
  readonly url: string
  readonly port: number
  /** The process that holds the data folder on SQLite, or one of this machine on PostgreSQL; null when none is known. */
  readonly holder: number | null
}

/** Pure. */
export function assessPort({ answer, url, port, holder }: Seen): CheckResult {
  const facts = { url, holder }
  if (!answer) return skipped('NUNCIO_PORT is 0: the service takes any free port, and says at its start which.', facts)
  if (answer.kind === 'stranger') return describeStranger(url, holder)
  if (answer.kind === 'silent') return describeSilent(url, holder)
  if (answer.kind === 'ours') {
    if (answer.problems.length === 0) return ok(`The service runs at ${url} and is ready.`, facts)
    return problem(
      `The service runs at ${url} and is not ready: ${answer.problems.join(', ')}.`,
      'Read its log; the other checks here may say why.',
      { ...facts, problems: answer.problems.join(', ') },
    )
  }
  if (holder !== null)
    return warning(
      `A service (process ${holder}) holds the data, but does not answer at ${url}.`,
      'It may be starting, or run with other settings: give the doctor the same NUNCIO_HOST and NUNCIO_PORT.',
      facts,
    )
  return ok(`No service runs, and port ${port} is free.`, facts)
}

function describeStranger(url: string, holder: number | null): CheckResult {
  if (holder === null)
    return problem(
      `Another program answers at ${url}, so that the service cannot start there.`,
      'Stop that program, or set NUNCIO_PORT to another port.',
      { url, holder },
    )
  return problem(
    `A service (process ${holder}) holds the data, but what answers at ${url} is not Nuncio.`,
    'The service may run with other settings: give the doctor the same NUNCIO_HOST, NUNCIO_PORT and TLS settings.',
    { url, holder },
  )
}

function describeSilent(url: string, holder: number | null): CheckResult {
  if (holder === null)
    return problem(
      `Something listens at ${url} and does not answer: another program, or a service that hangs.`,
      'Find out which process listens there. Restart it if it is Nuncio; otherwise stop it, or set NUNCIO_PORT to another port.',
      { url, holder },
    )
  return problem(
    `The service (process ${holder}) holds the data and does not answer at ${url}: it hangs.`,
    'Read its log, and restart it. The other checks here may say why it hangs.',
    { url, holder },
  )
}

/** Pure. On SQLite one process serves, and the lock that sees to it does not reach to other machines. */
export function assessSharers(workers: readonly Pick<WorkerView, 'host' | 'pid'>[]): readonly CheckResult[] {
  const hosts = new Set(workers.map(({ host }) => host ?? 'unknown'))
  if (hosts.size < 2) return []
  return [
    problem(
      `Services on ${hosts.size} machines have used this SQLite database within the last minute: ${[...hosts].join(', ')}. Each message would be sent twice, and the database may be damaged.`,
      `Stop all but one, unless one of them has just ended or this container was renamed: then check again in a minute. For several machines use PostgreSQL. This machine is ${hostname()}.`,
      { hosts: [...hosts].join(', ') },
    ),
  ]
}

async function probePort(settings: Settings, answerWithinMs: number): Promise<Answer> {
  const base = localUrl(settings, settings.port)
  const live = await ask(`${base}/health/live`, answerWithinMs)
  if (live.kind !== 'said') return live
  if (!isOurs(live.body, 'live')) return { kind: 'stranger' }
  const ready = await ask(`${base}/health/ready`, answerWithinMs)
  if (ready.kind !== 'said' || typeof ready.body !== 'object' || ready.body === null)
    return { kind: 'ours', problems: ['it stopped answering'] }
  return { kind: 'ours', problems: (ready.body as { readonly problems?: readonly string[] }).problems ?? [] }
}

function isOurs(answer: unknown, status: string): boolean {
  return typeof answer === 'object' && answer !== null && 'status' in answer && answer.status === status
}

type Said = { readonly kind: 'nothing' | 'silent' | 'stranger' } | { readonly kind: 'said'; readonly body: unknown }

/** The answer as JSON, or a text when it is none. */
async function ask(url: string, withinMs: number): Promise<Said> {
  const signal = AbortSignal.timeout(withinMs)
  try {
    const said = await read(url, signal)
    try {
      return { kind: 'said', body: JSON.parse(said) }
    } catch {
      return { kind: 'said', body: said }
    }
  } catch (error) {
    // The system takes connections for a process that hangs, too.
    if (signal.aborted) return { kind: 'silent' }
    // Whatever ends the connection, or says what is not HTTP, is another program.
    const isRefused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    return { kind: isRefused ? 'nothing' : 'stranger' }
  }
}

/** A certificate of ours is made for the name that callers use, and not for the address by which we reach ourselves. */
function read(url: string, signal: AbortSignal): Promise<string> {
  const options = { signal, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? getTls : getPlain
    get(url, options, (response) => void text(response).then(resolve, reject)).on('error', reject)
  })
}
