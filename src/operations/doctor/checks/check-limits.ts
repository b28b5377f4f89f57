import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, skipped, warning } from '../finding.ts'
import { readText } from '../machine/read-text.ts'

// Each open call takes one, each open send another, and the files of the database and of media come on top.
const LEAST_FILES = 4_096
// What the service takes at rest, three times over.
const LEAST_MEMORY_BYTES = 384 * 1024 * 1024
const MB = 1024 * 1024

export async function checkLimits({ openSession }: Examination): Promise<readonly CheckResult[]> {
  const session = await openSession()
  const workers = session ? await session.administration.listWorkers() : []
  // The limits of the running service, if they can be read: a service file may set other limits than a shell has.
  const running = workers.find(
    ({ isAlive, pid }) => isAlive && pid !== null && readText(`/proc/${pid}/limits`) !== null,
  )
  const process = running?.pid ?? 'self'
  return [
    assessOpenFiles(readText(`/proc/${process}/limits`), running?.pid ?? null),
    assessMemory(Math.min(totalmem(), readGroupLimit(String(process)))),
  ]
}

/** Pure. `limits`: the text of /proc/PID/limits. */
export function assessOpenFiles(limits: string | null, pid: number | null): CheckResult {
  const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(limits ?? '') ?? []
  if (hard === undefined) return skipped('This system does not say how many files a process may open.')
  // Node raises the soft limit to the hard one when it starts.
  const files = hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
  const whose = pid === null ? 'A process started from here' : `The running service (process ${pid})`
  const facts = { files: hard, pid }
  if (files >= LEAST_FILES) return ok(`${whose} may open ${hard} files at once.`, facts)
  return warning(
    `${whose} may open ${hard} files at once: many callers at once would be turned away.`,
    `Allow at least ${LEAST_FILES}: LimitNOFILE=65536 in its systemd unit, --ulimit nofile=65536 for a container, or ulimit -n.`,
    facts,
  )
}

/** Pure. */
export function assessMemory(bytes: number): CheckResult {
  const facts = { bytes }
  const megabytes = Math.floor(bytes / MB)
  if (bytes >= LEAST_MEMORY_BYTES) return ok(`${megabytes} MB of memory may be used.`, facts)
  return warning(
    `Only ${megabytes} MB of memory may be used, so that the system may kill the service under load.`,
    `Give it at least ${LEAST_MEMORY_BYTES / MB} MB: MemoryMax in the systemd unit, the limit of the container, or the machine.`,
    facts,
  )
}

/** The least limit of the control groups that a process is in, version 2. */
function readGroupLimit(process: string): number {
  const [, group] = /^0::(.*)$/m.exec(readText(`/proc/${process}/cgroup`) ?? '') ?? []
  if (group === undefined) return Number.POSITIVE_INFINITY
  let least = Number.POSITIVE_INFINITY
  for (let path = group; ; path = dirname(path)) {
    const text = readText(join('/sys/fs/cgroup', path, 'memory.max'))?.trim()
    if (text !== undefined && /^[0-9]+$/.test(text)) least = Math.min(least, Number(text))
    if (path === '/' || path === '.') return least
  }
}
