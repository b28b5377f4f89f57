import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const BYTES_PER_MB = 1_000_000

/** Whether this system shows what other processes use. Only Linux does, under /proc. */
export function canSeeProcesses(): boolean {
  return process.platform === 'linux'
}

/** The time of a process and of all that it has started, ended ones included. NaN where that cannot be seen. */
export function cpuSecondsOfFamily(pid: number): number {
  if (!canSeeProcesses()) return Number.NaN
  let seconds = 0
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null
    if (Number(name) === pid) seconds += (stat?.ownSeconds ?? 0) + (stat?.endedSeconds ?? 0)
    else if (stat?.parent === pid) seconds += stat.ownSeconds
  }
  return seconds
}

/** The time of those threads of a process that have this name; NaN where none has. */
export function cpuSecondsOfThread(pid: number, name: string): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => `${pid}/task/${id}`)
  const found = threads.filter((thread) => readFileSync(`/proc/${thread}/comm`, 'utf8').trim() === name)
  const seconds = found.map((thread) => readStat(thread)?.ownSeconds ?? 0)
  return found.length === 0 ? Number.NaN : seconds.reduce((sum, each) => sum + each, 0)
}

interface ProcessStat {
  readonly parent: number
  readonly ownSeconds: number
  /** The seconds of its children that it has seen end. */
  readonly endedSeconds: number
}

/** Null if there is no such process any more. */
function readStat(pid: number | string): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name is in brackets and may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND
    return { parent: Number(fields[1]), ownSeconds: seconds(11), endedSeconds: seconds(13) }
  } catch {
    return null
  }
}

export function residentMbOf(pid: number): number {
  return fieldOf(pid, 'VmRSS')
}

/** The highest value ever, or since `forgetPeak`. */
export function peakMbOf(pid: number): number {
  return fieldOf(pid, 'VmHWM')
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

function fieldOf(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
  return (Number(found?.[1] ?? 0) * 1024) / BYTES_PER_MB
}
