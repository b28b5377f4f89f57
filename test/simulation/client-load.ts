import type { AccountId, ConnectionId, TokenId } from '../../src/core/ids.ts'
import type { MessageContent, Sequence } from '../../src/core/message/message.ts'
import type { Candidate } from '../../src/core/ports/intake.ts'
import { toQueued } from '../../src/server/wiring/wake-on-accept.ts'
import type { Random } from './random.ts'
import type { Sent } from './referee.ts'
import { BAD_RECIPIENT, UPLOADING_NETWORKS } from './simulated-network.ts'
import type { SimulatedConnection, SimulatedWorld } from './simulated-world.ts'

const SHARE_OF_LATE_MEDIA = 0.2
// About as long as four tries and the waits between them.
const FETCHES_GIVEN_UP_AFTER_MS = 800_000

/** Plans clients that send messages, alone and in bursts, and the media of some messages. */
export function planLoad(world: SimulatedWorld, untilMs: number): void {
  const random = world.random.fork('load')
  const late = world.random.fork('late media')
  const bursts = random.between(8, 24) * world.load.timesAsMany
  for (let i = 0; i < bursts; i++) {
    const connection = random.pick(world.connections)
    const many = random.pick([1, 1, 2, 5])
    world.schedule.after(random.between(0, untilMs), () => {
      for (let j = 0; j < many; j++) send(world, connection, { random, late, name: `text ${i}.${j}` })
    })
  }
}

function send(
  world: SimulatedWorld,
  connection: SimulatedConnection,
  { random, late, name }: { random: Random; late: Random; name: string },
): void {
  const to = random.chance(0.08) ? BAD_RECIPIENT : `155500020${random.between(1, world.load.recipientsOfEach)}`
  const isUploading = UPLOADING_NETWORKS.some((each) => each.name === connection.network)
  const content: MessageContent = random.chance(isUploading ? 0.5 : 0.2)
    ? { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: name }
    : { type: 'message', text: name }
  const sent: Sent = { text: name, to, connectionId: connection.id, messageId: null }
  const candidate = candidateOf(world, connection, { content, to, name })
  const storageResult = random.weighed({
    works: 1,
    'fails before': world.storageFaults.failsBefore,
    'fails after': world.storageFaults.failsAfter,
  })
  const loads = {
    media: random.weighed({ ready: isUploading ? 40 : 5, failed: 1, never: isUploading ? 0.5 : 1 }),
    // Some files come when much else has been accepted since.
    afterMs: random.between(50, 30_000) * (late.chance(SHARE_OF_LATE_MEDIA) ? 10 : 1),
  }
  if (storageResult === 'fails before') return
  world.referee.sent.push(sent)
  void world.schedule.work(async () => {
    const result = await world.storage.storage.intake.accept(candidate)
    if (result.kind !== 'accepted') return world.trace.violate('I1 no loss', `${name} is ${result.kind}`)
    // Otherwise the client does not know whether it was accepted.
    if (storageResult === 'works') sent.messageId = result.messageId
    const { sequence } = result
    world.trace.note(
      'client',
      `sends m${sequence} by ${connection.id}${content.type === 'message' ? '' : ' with media'}`,
    )
    world.notifyOf(toQueued(candidate, result, world.schedule.now), random)
    if (content.type !== 'message') planMedia(world, connection, { sequence, ...loads, random })
  })
}

/** Plans the files of messages that people send again. */
export function planMediaOfCopies(world: SimulatedWorld, random: Random): void {
  const copies = world.storage.database
    .prepare(
      `select message.sequence, message.connection_id as id from media join message on message.sequence = media.message_sequence
         where media.state = 'pending' and message.resend_of is not null order by message.sequence`,
    )
    .all() as unknown as { sequence: Sequence; id: ConnectionId }[]
  for (const { sequence, id } of copies) planMedia(world, { id }, { sequence, media: 'ready', afterMs: 1_000, random })
}

function planMedia(
  world: SimulatedWorld,
  connection: Pick<SimulatedConnection, 'id'>,
  {
    sequence,
    media,
    afterMs,
    random,
  }: { sequence: Sequence; media: 'ready' | 'failed' | 'never'; afterMs: number; random: Random },
): void {
  world.schedule.after(media === 'never' ? FETCHES_GIVEN_UP_AFTER_MS : afterMs, () => {
    void world.schedule.work(async () => {
      const { mediaQueue } = world.storage.storage
      const now = world.schedule.now
      const file = { path: `spool/${sequence}`, sizeBytes: 1, sha256: '00', mime: 'image/png' }
      if (media === 'ready') await mediaQueue.ready(sequence, { file, tookMs: 1, at: now })
      else await mediaQueue.fail(sequence, { code: 'media_status', words: 'gone', at: now })
      world.trace.note('media', `of m${sequence}: ${media}`)
      world.notifyOfMedia(connection.id, sequence, random)
    })
  })
}

function candidateOf(
  world: SimulatedWorld,
  connection: SimulatedConnection,
  { content, to, name }: { content: MessageContent; to: string; name: string },
): Candidate {
  const message =
    content.type === 'message'
      ? { type: 'message', message: content.text }
      : { type: content.type, media: { name: content.name, url: content.url, caption: content.caption } }
  return {
    facts: {
      requestId: name,
      receivedAt: world.schedule.now,
      receivedMonotonic: world.schedule.now,
      remoteAddress: '192.0.2.1',
      userAgent: null,
    },
    tokenId: `tok_${connection.accountNumber}` as TokenId,
    accountId: `acc_${connection.accountNumber}` as AccountId,
    from: connection.number,
    to,
    content,
    body: JSON.stringify({ from: connection.number, to, message }),
    idempotency: null,
  }
}
