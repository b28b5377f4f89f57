import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import type { Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'
import { readRounds, readSeed } from '../run-length.ts'
import {
  connectNumbers,
  countTrouble,
  makeLoad,
  networkSettings,
  openNetwork,
  spoilCalls,
  waitToKill,
} from '../whatsapp-cloud/cloud-run.ts'
import { judgeCloudRun } from '../whatsapp-cloud/judge-cloud-run.ts'

const rounds = readRounds(2)
const seed = readSeed()
const WORKERS = 2
const NUMBERS = 6
const AFTER_THE_LAST_MS = 2_000
const ALL_AT_ONCE_EVERY = 4

describe('an unreliable WhatsApp Cloud, several workers', () => {
  it(
    'G1 G2 G3 G5 G6: with calls cut off, reports astray and kill -9, loses, doubles and reorders nothing on PostgreSQL',
    async () => {
      const simulator = await openNetwork(seed)
      const environment = networkSettings(simulator.url)
      const cluster = await openCluster({ workers: WORKERS, connections: 0, environment })
      try {
        const { client, services, databaseUrl } = cluster
        const cli = new NuncioCli({ ...cluster, environment: { ...environment, NUNCIO_DATABASE_URL: databaseUrl } })
        const serviceUrls = services.map(({ url }) => url)
        const connections = await connectNumbers(cli, simulator, { count: NUMBERS, serviceUrls })
        spoilCalls(simulator, Math.ceil(rounds / 2))
        const load = await makeLoad({ client, connections, seed })
        load.start()

        await killAgainAndAgain(simulator, services)

        await load.stop()
        const { counts, states } = await judgeCloudRun(cluster, load.requests, simulator)
        const trouble = countTrouble(simulator)
        printTable('WhatsApp Cloud, PostgreSQL', { rounds, seed, ...counts, ...states, ...trouble })
        assert.ok(trouble['cut off after acting'], 'No call was cut off')
        assert.ok(load.ackedIds.length > rounds * 30, `Only ${load.ackedIds.length} messages were at stake`)
      } finally {
        await cluster.close()
      }
    },
    300_000 + rounds * 25_000,
  )
})

async function killAgainAndAgain(simulator: Simulator, services: readonly NuncioProcess[]): Promise<void> {
  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await waitToKill(simulator, round, random)
    const one = services[Math.floor(random.next() * services.length)]!
    const killed = round % ALL_AT_ONCE_EVERY === 0 ? services : [one]
    await Promise.all(killed.map((service) => service.killNine()))
    await Promise.all(killed.map((service) => service.start()))
  }
  await setTimeout(AFTER_THE_LAST_MS)
}
