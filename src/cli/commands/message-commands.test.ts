import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import { createLaneViews } from '../../storage/queries/lanes/lane-views.ts'

let world: CliWorld
let account: AccountId
let connectionId: ConnectionId

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  account = await world.account()
  connectionId = await world.connection(account)
  return close
}

describe.each(ENGINES)('messages, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are listed with exactly the promised fields', async () => {
    const { id } = await world.accept({ connectionId })

    assert.deepEqual(await world.json('message', 'list'), [
      {
        id,
        account: 'Acme',
        connection: '15550001000',
        to: '15550100000',
        type: 'message',
        state: 'QUEUED',
        reason: 'due',
        attempts: 0,
        acceptedAt: '2026-01-15T12:00:00.000Z',
        publishedAt: null,
      },
    ])
    assert.match((await world.cli('message', 'list')).stdout, /^ID +FROM +TO .*\nmessage-1 +15550001000/)
  })

  it('are listed completely unless there is a limit', async () => {
    for (let index = 0; index < 5; index++) await world.accept({ connectionId })
    await world.accept({ connectionId, state: 'FAILED', reason: 'media_dns' })

    const count = async (...args: string[]) => (await world.json<unknown[]>('message', 'list', ...args)).length
    assert.equal(await count(), 6)
    assert.equal(await count('--limit', '2'), 2)
    assert.equal(await count('--state', 'failed'), 1)
    assert.equal(await count('--connection', '15550001000', '--account', 'Acme'), 6)
  })

  it.each([
    [['message', 'list', '--state', 'lost'], 2, 'argument_invalid'],
    [['message', 'list', '--limit', '0'], 2, 'argument_invalid'],
    [['message', 'list', '--connection', '15559999999'], 1, 'connection_unknown'],
    [['message', 'cancel', 'none'], 1, 'message_unknown'],
    [['message', 'retry', 'none'], 1, 'message_unknown'],
    [['message', 'resolve', 'none', '--arrived'], 1, 'message_unknown'],
    [['message', 'resolve', 'none'], 2, 'argument_invalid'],
    [['message', 'resolve', 'none', '--arrived', '--send-again'], 2, 'argument_invalid'],
  ])('refuse %j', async (args, code, refusal) => {
    const answer = await world.cli(...args)

    assert.deepEqual([answer.code, answer.stdout], [code, ''])
    assert.match(answer.stderr, new RegExp(`\\(${refusal}\\)\n$`))
  })

  it('are tried at once while they wait for their next try, and named by those behind them', async () => {
    const [first, second] = [await world.accept({ connectionId }), await world.accept({ connectionId })]
    await world.defer(first.sequence, { kind: 'retry', reason: 'retrying', words: null, until: world.now + 60_000 })
    const explained = await world.cli('message', 'explain', second.id)

    const { stdout } = await world.cli('message', 'retry', first.id)

    assert.match(explained.stdout, new RegExp(`\\nThe earlier message: ${first.id}\\n`))
    assert.equal(stdout, 'Its wait is ended: it is tried at once.\n')
  })

  it('are cancelled, retried and resolved', async () => {
    const { id } = await world.accept({ connectionId })
    const unconfirmed = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })

    assert.equal((await world.json('message', 'cancel', id))['state'], 'CANCELLED')
    const resent = await world.json<{ id: string; state: string }>('message', 'retry', id)
    assert.equal(resent.state, 'QUEUED')
    assert.notEqual(resent.id, id)
    assert.match((await world.cli('message', 'cancel', resent.id)).stdout, /^Cancelled the message/)
    assert.equal((await world.json('message', 'resolve', unconfirmed.id, '--arrived'))['state'], 'PUBLISHED')
  })
})

describe.each(ENGINES)('cancelling what may have arrived, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('G5: does not say that it will not arrive', async () => {
    const { id, sequence } = await world.accept({ connectionId })
    await world.endAttempt(sequence, { outcome: 'unknown' })

    const { stdout } = await world.cli('message', 'cancel', id)

    assert.match(stdout, /^Took the message message-1 to 15550100000 out of its lane\. It is UNCONFIRMED/)
    assert.match(stdout, /nuncio message resolve message-1 --arrived or --send-again/)
    const timeline = (await world.cli('message', 'explain', id)).stdout
    assert.match(
      timeline,
      /\nNobody knows whether it arrived\.\nWhy: .* cancelled it at 12:00 UTC, but attempt 1 before may have arrived\.\n/,
    )
    assert.match(timeline, /Cancelled by the command line/)
    assert.doesNotMatch(timeline, /State: CANCELLED|[Nn]ot sent/)
  })
})

describe.each(ENGINES)('a quarantined message, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('G10: says "not sent" and is retried where that is proven, and is resolved by a person where it is not', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'quarantined' })
    const unknown = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'quarantined' })

    const proven = (await world.cli('message', 'explain', failed.id)).stdout
    const unproven = (await world.cli('message', 'explain', unknown.id)).stdout
    const timeline = await world.json('message', 'explain', failed.id)
    const refused = await world.cli('message', 'resolve', failed.id, '--arrived')
    const retried = await world.json('message', 'retry', failed.id)

    assert.match(
      proven,
      /\nWhy: Nuncio stopped three times while sending it; the sandbox showed that it never left\.\n/,
    )
    assert.match(proven, /\nWhat to do: .*nuncio message retry message-1\n/)
    assert.match(unproven, /\nWhy: Nuncio stopped three times while sending it, so it is not tried again\.\n/)
    assert.match(unproven, /\nWhat to do: .*nuncio message resolve message-2 --arrived or --send-again/)
    assert.equal(
      timeline['reasonText'],
      'Nuncio stopped three times while sending it; the sandbox showed that it never left.',
    )
    assert.match(refused.stderr, /^nuncio: This message is FAILED, not UNCONFIRMED/)
    assert.equal(retried['state'], 'QUEUED')
  })
})

describe.each(ENGINES)('explain, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('explains the life of a message in plain words, with the next step', async () => {
    const { id } = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })

    const { stdout } = await world.cli('message', 'explain', id)

    assert.match(stdout, /^Message message-1\nmessage from 15550001000 to 15550100000, of the account “Acme”\n/)
    assert.match(
      stdout,
      /\nState: UNCONFIRMED \(result_unknown\)\nNobody knows whether it arrived\.\nWhy: Its result is unknown/,
    )
    assert.match(stdout, /\nWhat to do: .*nuncio message resolve message-1 --arrived/)
    assert.match(stdout, /\n2026-01-15 12:00:00\.000 UTC {8}\+0 ms {2}Accepted \[request request-1\]\n/)
    assert.match(stdout, /\+1 s {2}Finished: nobody knows whether it arrived: Its result is unknown/)
  })

  it('reports a message that the network accepted and has said nothing about since, and what to check', async () => {
    const { id } = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 3_600_000 })
    const at = NOON - 3_599_000
    const facts = { number: '15550001000', channel: 'whatsapp-cloud', count: 12, oldestAt: at, lastReportAt: 1 }
    await world.raiseAlarm({ accountId: account, kind: 'reports_missing', object: connectionId, facts, since: at })

    const { stdout } = await world.cli('message', 'explain', id)
    const attention = (await world.cli('attention')).stdout

    const cause =
      'Meta has reported nothing for 12 messages of 15550001000, since 11:00 UTC (59 min ago). Before, it did.'
    for (const text of [stdout, attention]) assert.ok(text.includes(cause), text)
    assert.match(stdout, /\nWhat to do: Check the callback address .* nuncio connection check 15550001000\n/)
  })

  it('explains why a lane stands still to those behind', async () => {
    await world.accept({ connectionId })
    const { id } = await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'connection_away', words: 'no route\u001b[0m', until: NOON + 5_000 })

    const { stdout } = await world.cli('message', 'explain', id)

    assert.match(stdout, /Place in its lane: 2\n/)
    assert.match(stdout, /\nWhy: 15550001000 cannot reach the sandbox\. The sandbox said: “no route\\u001b\[0m”\n/)
    assert.match(stdout, /Goes on: in 5 seconds, at 2026-01-15 12:00:05\.000 UTC\n/)
    assert.match(stdout, /Expires: in 1 day/)
  })

  it('G10: says after a removal what to do, and after a retry what was done and nothing that would double it', async () => {
    const { id } = await world.accept({ connectionId })
    const explained = async () => (await world.cli('message', 'explain', id)).stdout
    await world.cli('connection', 'remove', '15550001000', '--cancel-waiting')
    const removed = await explained()
    await world.cli('connection', 'add', '15550001000', '--channel', 'sandbox')
    const added = await explained()
    const copy = await world.json<{ id: string }>('message', 'retry', id)
    const retried = await explained()
    const { nextStep } = await world.json('message', 'explain', id)
    const again = await world.cli('message', 'retry', id)

    assert.match(
      removed,
      /\nWhy: The command line removed 15550001000 .*\nWhat to do: Add 15550001000 again; “Retry” then appears here\.\n/,
    )
    assert.match(added, /\nWhat to do: Retry it if it is still wanted\.\n/)
    assert.match(
      retried,
      /The command line sent it again\. That message waits to be sent\.\n(?:.*\n)*What to do: You need not do anything here\.\n/,
    )
    assert.ok(retried.includes(`\nIt was sent again as the message ${copy.id}.\n`), retried)
    assert.doesNotMatch(retried, /[Rr]etry/)
    assert.equal(nextStep, 'You need not do anything here.')
    assert.match(again.stderr, new RegExp(`sent again already, as ${copy.id}`))
  })

  it('G10: says of a wait for media why the last download failed and when the next one comes', async () => {
    const { id, sequence } = await world.accept({ connectionId, type: 'image' })
    await world.lane(connectionId, { reason: 'all_deferred', until: NOON + 60_000 })
    const fresh = (await world.cli('message', 'explain', id)).stdout
    const failed =
      "update media set tries = 1, code = 'media_status', words = ?, next_try_at = ? where message_sequence = ?"
    await world.run(failed, 'files.test answered 503 (service unavailable).', NOON + 30_000, sequence)

    const { stdout } = await world.cli('message', 'explain', id)
    const list = (await world.cli('connection', 'list')).stdout
    const seen = await createLaneViews(world.store).readLane({ accountId: account, id: connectionId })

    const words = 'files.test answered 503 (service unavailable). The next try is number 2 of 4.'
    assert.match(fresh, /\nWhy: Its file is downloaded soon\.\n/)
    assert.doesNotMatch(fresh, /Goes on:/)
    assert.ok(stdout.includes(`\nWhy: ${words}\n`), stdout)
    assert.match(stdout, /\nGoes on: in 30 seconds at the earliest, at /)
    assert.match(
      list,
      / files\.test answered 503 \(service unavailable\)\. The next try is number 2 of 4\. Goes on in 30 seconds at the earliest\.\n/,
    )
    assert.deepEqual(seen.standsStill, { reason: 'all_deferred', words: null, until: NOON + 60_000, canBeEnded: false })
  })

  it('distinguishes a repeat by the channel from one by a person, and a network’s time from ours', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON + 250 })
    const stopped = { how: 'killed', lastedMs: 5_700, until: 1_795_805_785_891 }
    await world.writeTimeline(
      sequence,
      { at: NOON + 250, kind: 'sent-again', code: 'whatsapp_131047', facts: { oldMessage: 'old', by: 'channel' } },
      { at: NOON + 1_000, kind: 'receipt-delivered' },
      { at: NOON + 2_000, kind: 'service-stopped', facts: stopped },
    )

    const { stdout } = await world.cli('message', 'explain', id)

    assert.match(
      stdout,
      /Made by Nuncio to repeat another message as a template: 15550100000 has not written .* \[old\]\n/,
    )
    assert.match(stdout, /Delivered \[the network says 2026-01-15 12:00:01 UTC\]/)
    assert.match(stdout, /Nuncio stopped: It ended without warning\. It ran again 5\.7 s later\.\n/)
    assert.ok(stdout.indexOf('Finished: sent') < stdout.indexOf('Delivered'))
  })

  it('gives programs all of it', async () => {
    const { id } = await world.accept({ connectionId })

    const timeline = await world.json<{ timeline: unknown[] }>('message', 'explain', id)

    assert.deepEqual(timeline.timeline, [
      {
        at: '2026-01-15T12:00:00.000Z',
        kind: 'accepted',
        text: 'Accepted',
        code: null,
        codeText: null,
        words: null,
        facts: { requestId: 'request-1', token: null, from: null, userAgent: null, tookMs: null },
      },
    ])
    assert.equal((timeline as unknown as { expiresAt: string }).expiresAt, '2026-01-16T12:00:00.000Z')
  })
})

describe.each(ENGINES)('the sandbox inbox, on %s', (engine) => {
  beforeEach(() => open(engine))

  const delivery = {
    messageId: 'm-1',
    connection: '15550001000',
    to: '15550100000',
    type: 'image',
    text: null,
    caption: 'Our cat',
    name: 'cat.jpg',
    sizeBytes: 1_234,
    sha256: 'ab'.repeat(32),
    deliveredAt: NOON,
  }

  it('shows deliveries with exactly the promised fields', async () => {
    world.inbox = [delivery]

    assert.deepEqual(await world.json('sandbox', 'inbox'), [{ ...delivery, deliveredAt: '2026-01-15T12:00:00.000Z' }])
    assert.match(
      (await world.cli('sandbox', 'inbox')).stdout,
      /now +15550001000 +15550100000 +image +cat\.jpg: Our cat +1234 B +abababababab\n$/,
    )
  })

  it('says what to do while it is empty', async () => {
    assert.match((await world.cli('sandbox', 'inbox')).stdout, /^Nothing was delivered yet\./)
    assert.deepEqual(await world.json('sandbox', 'inbox'), [])
    assert.equal((await world.cli('sandbox', 'inbox', '--connection', '+1')).code, 2)
  })
})
