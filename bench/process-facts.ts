import { readFileSync, writeFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const BYTES_PER_MB = 1_000_000

/** Whether this system tells what other processes use. Only Linux does, under /proc. */
export function canSeeProcesses(): boolean {
  return process.platform === 'linux'
}

/** Processor time a process has used so far, in seconds. NaN where that cannot be seen. */
export function cpuSecondsOf(pid: number): number {
  if (!canSeeProcesses()) return Number.NaN
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name, in brackets, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export function residentMbOf(pid: number): number {
  return fieldOf(pid, 'VmRSS')
}

/** The most it ever had, or since `forgetPeak`. */
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
