import { setTimeout } from 'node:timers/promises'
import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import type { Random } from '../../support/black-box/random.ts'
import type { Uptime } from './measure-resumption.ts'

const KILL_WITHIN_MS = 2_000
// The share of kills during a start, when the service recovers from the kill before.
const SHARE_WHILE_STARTING = 0.15
const STARTING_MS = 400

export interface Kills {
  readonly uptimes: readonly Uptime[]
  /** When each kill happened, by the wall clock. */
  readonly killedAt: readonly number[]
}

/** Kills a running service this many times, at random moments, and starts it again each time. */
export async function killAgainAndAgain(service: NuncioProcess, rounds: number, random: Random): Promise<Kills> {
  const uptimes: Uptime[] = []
  const killedAt: number[] = []
  const kill = async () => {
    killedAt.push(Date.now())
    await service.killNine()
  }
  let readyAt = Date.now()
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(1, KILL_WITHIN_MS))
    await kill()
    uptimes.push({ readyAt, endedAt: Date.now() })
    if (random.next() < SHARE_WHILE_STARTING) {
      service.spawn()
      await setTimeout(random.between(1, STARTING_MS))
      await kill()
    }
    readyAt = await service.start()
  }
  return { uptimes: [...uptimes, { readyAt, endedAt: Number.POSITIVE_INFINITY }], killedAt }
}
