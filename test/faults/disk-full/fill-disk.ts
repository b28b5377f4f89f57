import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkRun } from '../../support/black-box/check-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { openPages } from '../../support/black-box/open-pages.ts'
import { readRunArguments, reportAndExit } from '../../support/black-box/own-mounts.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { openWorld } from '../../support/black-box/world.ts'
import type { SentRequest } from '../../support/ledger/ledger-input.ts'
import { SlowFileHost } from './slow-file-host.ts'
import { SmallDisk } from './small-disk.ts'
import { assertCauseIsSaid, assertPageSaysDiskFull, readBanner } from './what-is-said.ts'

export interface DiskFullReport {
  readonly acked: number
  readonly notAccepted: number
  readonly states: Readonly<Record<string, number>>
  /** For each round: the time from when there was room until the next message was accepted. */
  readonly resumedAfterMs: readonly number[]
  readonly mediaRequests: number
  /** How many of the refused requests were found in the API log afterwards. */
  readonly refusedInLog: number
}

const DISK_MB = 48
const FULL_FOR_MS = 3_000
const NOTICED_WITHIN_MS = 20_000
const RESUMED_WITHIN_MS = 20_000

const { workDir, rounds, seed } = readRunArguments<{ rounds: number; seed: number }>()
const disk = new SmallDisk(workDir, DISK_MB)
const world = await openWorld({
  connections: 4,
  connectionArguments: ['--set', 'latency=10ms'],
  environment: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.1/32' },
  place: { workDir, dataDir: join(disk.path, 'data') },
})
const { service, client, cli, connections } = world
const { pid } = service
// Sign in now: it writes a row, which a full disk prevents.
const readLines = await openPages(world, service.url)
const [from = '', ...others] = connections
const load = new Load({ client, connections: others, pauseMs: 20, keyedShare: 0.3, seed, textLength: 2_000 })
load.start()
await waitUntil('the load is accepted', async () => load.ackedIds.length > 100, { deadlineMs: 20_000 })

const host = new SlowFileHost()
const media = await sendFile(await host.start())
await waitUntil('the file is being fetched', async () => host.isHolding, { deadlineMs: 20_000 })

const resumedAfterMs: number[] = []
for (let round = 0; round < rounds; round += 1) resumedAfterMs.push(await fillAndMakeRoom(round))
await load.stop()
await waitUntil('an alarm reports it', isInAttention, { deadlineMs: 60_000 })
await waitUntil('all that was refused is in the API log', async () => (await refusedInLog()) >= notAccepted(), {
  deadlineMs: 150_000,
})
const { counts, states } = await checkRun(world, [...load.requests, media])
assert.equal(service.pid, pid)
assert.ok(service.isRunning)
reportAndExit({
  acked: counts.acked,
  notAccepted: notAccepted(),
  states,
  resumedAfterMs,
  mediaRequests: host.requests,
  refusedInLog: await refusedInLog(),
} satisfies DiskFullReport)

async function fillAndMakeRoom(round: number): Promise<number> {
  const before = notAccepted()
  disk.fill()
  if (round === 0) host.goOn()
  const isNoticed = async () => {
    // Also takes what a checkpoint frees, until nothing can be committed.
    disk.fill()
    return notAccepted() > before
  }
  await waitUntil('503 not_accepted comes', isNoticed, { deadlineMs: NOTICED_WITHIN_MS })
  if (round === 0) await assertEverythingSaysWhy()
  await setTimeout(FULL_FOR_MS)
  assert.ok(await service.isAlive(), `The service died of a full disk:\n${service.log}`)

  disk.makeRoom()
  const roomAt = performance.now()
  const accepted = load.ackedIds.length
  await waitUntil('messages are accepted again', async () => load.ackedIds.length > accepted, {
    withinMs: RESUMED_WITHIN_MS,
    everyMs: 10,
  })
  return Math.round(performance.now() - roomAt)
}

/** Asserts the explanations at once, and again when the last lease has expired and the service seems to be gone. */
async function assertEverythingSaysWhy(): Promise<void> {
  const fileId = media.answer.kind === 'acked' ? media.answer.messageId : ''
  assertPageSaysDiskFull(await readLines(fileId))
  assert.equal((await readBanner(service.url))?.cause, 'The disk is full.')
  await assertCauseIsSaid(cli, /^The disk is full/)
  const isSilent = async () => {
    disk.fill()
    return (await cli.json<{ state: string }[]>('workers')).every(({ state }) => state === 'gone')
  }
  await waitUntil('the heartbeat has run out', isSilent, { deadlineMs: 40_000 })
  await assertCauseIsSaid(cli, /^The disk is full/)
  assert.equal((await readBanner(service.url))?.cause, 'The disk is full.')
  assertPageSaysDiskFull(await readLines(fileId))
}

async function isInAttention(): Promise<boolean> {
  const { alarms } = await cli.json<{ alarms: { kind: string; cause: string }[] }>('attention')
  return alarms.some(
    ({ kind, cause }) => kind === 'storage_unavailable' && /The disk is full.*refused with 503/.test(cause),
  )
}

async function refusedInLog(): Promise<number> {
  const entries = await cli.json<{ summed: { requests: number } | null }[]>('log', 'list', '--status', '503')
  return entries.reduce((sum, { summed }) => sum + (summed?.requests ?? 0), 0)
}

function notAccepted(): number {
  return Object.entries(load.answers).reduce(
    (sum, [name, count]) => sum + (name.startsWith('503 not_accepted') ? count : 0),
    0,
  )
}

async function sendFile(url: string): Promise<SentRequest> {
  const to = '447800000001'
  const message = { type: 'document', media: { name: 'file.bin', url, caption: 'a file' } }
  const sentAt = performance.now()
  const answer = await client.send({ from, to, message, idempotencyKey: null })
  assert.ok(answer.kind === 'acked', JSON.stringify(answer))
  const content = {
    type: 'document',
    name: 'file.bin',
    caption: 'a file',
    sizeBytes: host.bytes.length,
    sha256: host.sha256,
  }
  return { connection: from, to, content, sentAt, answer: { ...answer, at: performance.now() } }
}
