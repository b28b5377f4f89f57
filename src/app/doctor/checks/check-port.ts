import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { localUrl, type Settings } from '../../../config/read-settings.ts'
import type { WorkerView } from '../../../core/ports/administration.ts'
import { findServiceHolder } from '../../../storage/sqlite/service-lock.ts'
import type { Examination } from '../examination.ts'
import { ok, skipped, trouble, type Verdict, warning } from '../finding.ts'

const ANSWER_WITHIN_MS = 5_000
const STRANGER = 'Stop that program, or set NUNCIO_PORT to another port.'

/** Who answers at the address of our settings. */
export type Answer =
  | { readonly kind: 'nobody' | 'stranger' }
  | { readonly kind: 'ours'; readonly troubles: readonly string[] }

export async function checkPort({ settings, openSession }: Examination): Promise<readonly Verdict[]> {
  if (!settings) return [skipped('The settings are wrong, so that nobody knows where the service would answer.')]
  const session = await openSession()
  const workers = session ? (await session.administration.listWorkers()).filter(({ isAlive }) => isAlive) : []
  const { database } = settings
  const holder = database.engine === 'sqlite' ? findServiceHolder(join(dirname(database.path), 'service.lock')) : null
  const port = settings.port === 0 ? null : await askPort(settings)
  return [
    judgePort({ answer: port, url: localUrl(settings, settings.port), holder, port: settings.port }),
    ...(database.engine === 'sqlite' ? judgeSharers(workers) : []),
  ]
}

interface Seen {
  /** Null when any free port is taken, so that nobody knows which to ask. */
  readonly answer: Answer | null
  readonly url: string
  readonly port: number
  /** The process that holds the data folder on SQLite; null when none does, or nobody can tell. */
  readonly holder: number | null
}

/** Pure. */
export function judgePort({ answer, url, port, holder }: Seen): Verdict {
  const facts = { url, holder }
  if (!answer) return skipped('NUNCIO_PORT is 0: the service takes any free port, and says at its start which.', facts)
  if (answer.kind === 'stranger')
    return trouble(`Another program answers at ${url}, so that the service cannot start there.`, STRANGER, facts)
  if (answer.kind === 'ours') {
    if (answer.troubles.length === 0) return ok(`The service runs at ${url} and is ready.`, facts)
    return trouble(
      `The service runs at ${url} and is not ready: ${answer.troubles.join(', ')}.`,
      'Look into its log; the other checks here may say why.',
      { ...facts, troubles: answer.troubles.join(', ') },
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

/** Pure. On SQLite one process serves, and the lock that sees to it does not reach to other machines. */
export function judgeSharers(workers: readonly Pick<WorkerView, 'host' | 'pid'>[]): readonly Verdict[] {
  const hosts = new Set(workers.map(({ host }) => host ?? 'unknown'))
  if (hosts.size < 2) return []
  return [
    trouble(
      `Services on ${hosts.size} machines have used this SQLite database within the last minute: ${[...hosts].join(', ')}. Each message would be sent twice, and the database may be damaged.`,
      `Stop all but one, unless one of them has just ended or this container was renamed: then look again in a minute. For several machines use PostgreSQL. This machine is ${hostname()}.`,
      { hosts: [...hosts].join(', ') },
    ),
  ]
}

async function askPort(settings: Settings): Promise<Answer> {
  const base = localUrl(settings, settings.port)
  const live = await ask(`${base}/health/live`)
  if (live === null) return { kind: 'nobody' }
  if (!isOurs(live, 'live')) return { kind: 'stranger' }
  const ready = (await ask(`${base}/health/ready`)) as { readonly troubles?: readonly string[] } | null
  return { kind: 'ours', troubles: ready === null ? ['it stopped answering'] : (ready.troubles ?? []) }
}

function isOurs(answer: unknown, status: string): boolean {
  return typeof answer === 'object' && answer !== null && 'status' in answer && answer.status === status
}

/** The answer as JSON; a text when it is none; null when nobody answers. */
async function ask(url: string): Promise<unknown> {
  try {
    const said = await read(url)
    try {
      return JSON.parse(said)
    } catch {
      return said
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    // Whoever takes the connection and then says nothing that is HTTP is somebody else.
    return code === 'ECONNREFUSED' ? null : `no HTTP (${String(code)})`
  }
}

/** A certificate of ours is made for the name that callers use, and not for the address by which we reach ourselves. */
function read(url: string): Promise<string> {
  const options = { timeout: ANSWER_WITHIN_MS, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? getTls : getPlain
    const request = get(url, options, (response) => void text(response).then(resolve, reject))
    request.on('error', reject).on('timeout', () => request.destroy(new Error('It did not answer in time')))
  })
}
