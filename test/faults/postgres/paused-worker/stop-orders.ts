import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NuncioProcess } from '../../../support/black-box/nuncio-process.ts'
import { waitUntil } from '../../../support/black-box/wait-until.ts'
import { CARELESS_VARIABLE, ORDERS_VARIABLE, type Point } from './points.ts'

const PRELOAD = new URL('stop-at-points.ts', import.meta.url).href
// Some points are rarely reached, such as a claim while no lane changes hands.
const REACHED_WITHIN_MS = 8_000

export interface Stop {
  /** By the wall clock. */
  readonly at: number
  /** False if the point was not reached in time, and the worker was stopped wherever it was. */
  readonly isAtPoint: boolean
}

/** Orders one worker to stop at points. */
export class StopOrders {
  readonly #file: string
  #number = 0

  constructor(folder: string, worker: number) {
    this.#file = join(folder, `stop-${worker}`)
  }

  /**
   * The environment of the worker. `careless`: it never checks its claim before it calls, and its network lets late calls
   * through.
   */
  environment({ careless = false } = {}): Readonly<Record<string, string>> {
    return {
      NODE_OPTIONS: `--import=${PRELOAD}`,
      [ORDERS_VARIABLE]: this.#file,
      ...(careless && { [CARELESS_VARIABLE]: 'yes' }),
    }
  }

  /** Resolves when the worker has stopped. */
  async stop(service: NuncioProcess, point: Point): Promise<Stop> {
    this.#number += 1
    this.#order(point)
    const what = `the worker reaches ${point}`
    const isAtPoint = await waitUntil(what, async () => this.#hasReached(point), {
      deadlineMs: REACHED_WITHIN_MS,
      everyMs: 5,
    }).catch(() => false)
    if (!isAtPoint) {
      this.#number += 1
      this.#order('nowhere')
      service.signal('SIGSTOP')
    }
    await waitUntil('the worker stands still', async () => stateOf(service.pid) === 'T', {
      deadlineMs: 5_000,
      everyMs: 5,
    })
    return { at: Date.now(), isAtPoint }
  }

  #order(point: string): void {
    const draft = `${this.#file}.new`
    writeFileSync(draft, `${this.#number} ${point}`)
    renameSync(draft, this.#file)
  }

  #hasReached(point: Point): boolean {
    try {
      return readFileSync(`${this.#file}.report`, 'utf8').includes(`${this.#number} ${point}\n`)
    } catch {
      return false
    }
  }
}

function stateOf(pid: number): string | undefined {
  return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
}
