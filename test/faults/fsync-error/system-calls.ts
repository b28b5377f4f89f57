import { closeSync, constants, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'

// Where Debian's libfiu0 puts them.
const LIBRARIES = ['/usr/lib/fiu/fiu_run_preload.so', '/usr/lib/fiu/fiu_posix_preload.so']
const PIPE_NAME = 'fiu'
const ANSWERED_WITHIN_MS = 5_000

export interface Failing {
  /** A system call by libfiu's name for it, such as `sync/fsync`. */
  readonly call: string
  readonly errno: number
  readonly probability: number
}

/** What the service is started with, so that its system calls can be made to fail later. */
export function faultEnvironment(): Record<string, string> {
  // The name is relative: the library makes its pipes in the folder that the service is started in.
  return { LD_PRELOAD: LIBRARIES.join(' '), FIU_CTRL_FIFO: PIPE_NAME }
}

export function whyNoFaults(): string | null {
  return LIBRARIES.every((library) => existsSync(library)) ? null : 'libfiu (Debian package fiu-utils) is not installed'
}

/** From now on some of these calls of the service fail. */
export async function fail(service: NuncioProcess, { call, errno, probability }: Failing): Promise<void> {
  await command(service, `enable_random name=posix/io/${call},probability=${probability},failinfo=${errno}`)
}

export async function heal(service: NuncioProcess, call: string): Promise<void> {
  await command(service, `disable name=posix/io/${call}`)
}

// Not with fiu-ctrl: it waits for ever when the service dies of the very fault it has just been given.
async function command({ pid, settings }: NuncioProcess, line: string): Promise<void> {
  const pipe = join(settings.workDir, `${PIPE_NAME}-${pid}`)
  await waitUntil('libfiu has made its pipes', async () => existsSync(`${pipe}.out`), {
    deadlineMs: ANSWERED_WITHIN_MS,
  })
  // Open for both ways, because opening for one way waits for a process at the other end.
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
