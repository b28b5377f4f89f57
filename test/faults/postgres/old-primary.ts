import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { NuncioProcess, type ServiceSettings } from '../../support/black-box/nuncio-process.ts'
import type { TryAnswer } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { PostgresServer } from '../../support/postgres/postgres-server.ts'
import type { ReplicatedCluster } from './replicated-cluster.ts'
import type { TimedClient } from './timed-client.ts'

const REFUSED_FOR_MS = 2_000
const NOTICED_WITHIN_MS = 30_000
const ENDED_WITHIN_MS = 60_000
const BACK_WITHIN_MS = 15_000
const DATABASE = 'nuncio'
const REFUSED = /The database is refused: it is an old primary \(timeline 1\): a standby has been promoted since/

/**
 * Asserts that the workers report ready: messages are accepted while lanes are held, so no load balancer may turn requests away.
 */
export async function assertIsReady({ cluster }: ReplicatedCluster): Promise<void> {
  const ready = await Promise.all(cluster.services.map(({ url }) => fetch(`${url}/health/ready`)))
  assert.deepEqual(
    ready.map(({ status }) => status),
    ready.map(() => 200),
  )
}

/**
 * Moves all connections by mistake to the old primary, which is back, and asserts that no service uses it. Then moves them to the
 * new one again. The load continues meanwhile.
 */
export async function assertOldPrimaryIsRefused(
  world: ReplicatedCluster,
  old: PostgresServer,
  timed: TimedClient,
): Promise<void> {
  const { cluster, way, primary } = world
  const { services, dataDir, workDir } = cluster
  const messagesBefore = await countMessages(old)
  way.moveTo(old.port)
  const isRefused = async () => services.every(({ settings }) => REFUSED.test(readLog(workDir, settings)))
  await waitUntil('the services refuse it', isRefused, { deadlineMs: NOTICED_WITHIN_MS })
  const refusedAt = performance.now()

  const late = new NuncioProcess({
    dataDir,
    workDir,
    name: 'late',
    port: await findFreePort(),
    environment: { NUNCIO_DATABASE_URL: world.databaseUrl },
  })
  late.spawn()
  const ending = await late.ended(ENDED_WITHIN_MS)
  await setTimeout(REFUSED_FOR_MS)
  const answersSince = () => timed.calls.filter(({ startedAt }) => startedAt > refusedAt)
  await waitUntil('something is answered', async () => answersSince().length > 0, { deadlineMs: NOTICED_WITHIN_MS })
  const answers = answersSince().map(({ answer }) => answer)

  assert.deepEqual(new Set(answers.map(whatItSays)), new Set(['503 not_accepted']))
  assert.equal(await countMessages(old), messagesBefore)
  assert.ok(services.every(({ isRunning }) => isRunning))
  assert.equal(ending.code, 1)
  assert.match(late.log, /^nuncio: The database is refused: it is an old primary/m)

  way.moveTo(primary.port)
  const backAt = performance.now()
  const isBack = async () => timed.firstAckAfter(backAt) < Number.POSITIVE_INFINITY
  await waitUntil('messages are accepted again', isBack, { withinMs: BACK_WITHIN_MS })
}

function whatItSays(answer: TryAnswer): string {
  return answer.kind === 'refused' ? `${answer.status} ${answer.codes.join()}` : answer.kind
}

function readLog(workDir: string, { name }: ServiceSettings): string {
  return readFileSync(join(workDir, `${name}.log`), 'utf8')
}

async function countMessages(server: PostgresServer): Promise<number> {
  const [row] = await server.query<{ count: string }>('select count(*) from message', [], DATABASE)
  return Number(row?.count)
}
