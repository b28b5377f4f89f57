import { closeSync, constants, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'

// Where Debian's package libfiu0 installs them.
const LIBRARIES = ['/usr/lib/fiu/fiu_run_preload.so', '/usr/lib/fiu/fiu_posix_preload.so']
const PIPE_NAME = 'fiu'
const ANSWERED_WITHIN_MS = 5_000

export interface Failing {
  /** The system call, by libfiu's name such as `sync/fsync`. */
  readonly call: string
  readonly errno: number
  readonly probability: number
}

/** The environment with which system calls of the service can be made to fail later. */
export function faultEnvironment(): Record<string, string> {
  // The name is relative: the library creates its pipes in the working folder of the service.
  return { LD_PRELOAD: LIBRARIES.join(' '), FIU_CTRL_FIFO: PIPE_NAME }
}

export function whyNoFaults(): string | null {
  return LIBRARIES.every((library) => existsSync(library)) ? null : 'libfiu (Debian package fiu-utils) is not installed'
}

/** From now on some of these calls fail. */
export async function fail(service: NuncioProcess, { call, errno, probability }: Failing): Promise<void> {
  await command(service, `enable_random name=posix/io/${call},probability=${probability},failinfo=${errno}`)
}

export async function heal(service: NuncioProcess, call: string): Promise<void> {
  await command(service, `disable name=posix/io/${call}`)
}

// Writes to the pipe itself: fiu-ctrl waits for ever if the service dies of the fault that it has just been given.
async function command({ pid, settings }: NuncioProcess, line: string): Promise<void> {
  const pipe = join(settings.workDir, `${PIPE_NAME}-${pid}`)
  await waitUntil('libfiu has made its pipes', async () => existsSync(`${pipe}.out`), {
    deadlineMs: ANSWERED_WITHIN_MS,
  })
  // Opened for reading and writing, because opening for one of them waits for a process at the other end.
  const bothWays = constants.O_RDWR | constants.O_NONBLOCK
  const [input, output] = [openSync(`${pipe}.in`, bothWays), openSync(`${pipe}.out`, bothWays)]
  try {
    writeSync(input, `${line}\n`)
    const answer = await waitUntil('libfiu answers', async () => readNow(output), {
      deadlineMs: ANSWERED_WITHIN_MS,
      everyMs: 5,
    })
    if (!answer.startsWith('0')) throw new Error(`libfiu answered ${answer} to ${line}`)
  } finally {
    closeSync(input)
    closeSync(output)
  }
}

function readNow(pipe: number): string | null {
  try {
    const buffer = Buffer.alloc(64)
    return buffer.toString('utf8', 0, readSync(pipe, buffer))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return null
    throw error
  }
}
