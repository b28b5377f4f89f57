import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Channel, Failure, Handover, Outcome } from '../../ports/channel.ts'
import { reportLostMedia } from './report-lost-media.ts'

const MEDIA = { path: 'spool/file', sizeBytes: 1, sha256: '00', mime: 'image/png' }

describe('the maintenance of the spool', () => {
  it.each([
    ['hears of an attachment that the channel did not find', rejected('media_lost'), 1],
    ['hears of no other refusal', rejected('busy'), 0],
    ['hears of no success', { kind: 'accepted', networkId: 'net-1' } as const, 0],
  ])('%s', async (_, outcome, times) => {
    let heard = 0
    const channel = reportLostMedia(
      channelThat(async () => outcome),
      () => {
        heard += 1
      },
    )

    const seen = await channel.send(handover(), new AbortController().signal, () => true)

    assert.deepEqual([seen, heard], [outcome, times])
  })

  it('keeps the sessions of a channel, and makes none for a channel without them', () => {
    const sessions = { open: () => {}, requested: () => {}, close: async () => {} }
    const bare = channelThat(() => assert.fail())

    assert.equal(reportLostMedia({ ...bare, sessions }, () => {}).sessions, sessions)
    assert.equal('sessions' in reportLostMedia(bare, () => {}), false)
  })

  it('passes on what a channel throws, and does nothing else', async () => {
    const fault = new Error('fault')
    const channel = reportLostMedia(
      channelThat(() => Promise.reject(fault)),
      () => assert.fail('heard of nothing'),
    )

    await assert.rejects(
      channel.send(handover(), new AbortController().signal, () => true),
      fault,
    )
  })

  it('is notified of an attachment that is missing during a preparation', async () => {
    let heard = 0
    const channel = reportLostMedia(
      { ...channelThat(() => assert.fail()), prepare: async () => ({ kind: 'failed', failure: LOST }) },
      () => {
        heard += 1
      },
    )

    const seen = await channel.prepare?.(handover(), new AbortController().signal)

    assert.deepEqual([seen, heard], [{ kind: 'failed', failure: LOST }, 1])
  })

  it('passes on the rate-limit delay', () => {
    const delay = { scope: 'connection', until: 5, reason: 'rate_limited', words: null } as const
    const channel = reportLostMedia({ ...channelThat(() => assert.fail()), rateLimitDelayOf: () => delay }, () => {})

    assert.equal(channel.rateLimitDelayOf?.(handover(), 0), delay)
  })

  it('leaves out what the channel leaves out', () => {
    const channel = reportLostMedia(
      channelThat(() => assert.fail()),
      () => {},
    )

    assert.deepEqual(['prepare' in channel, 'rateLimitDelayOf' in channel], [false, false])
  })

  it('returns the promise of the channel itself for a text', () => {
    const sending = new Promise<Outcome>(() => {})
    const channel = reportLostMedia(
      channelThat(() => sending),
      () => {},
    )

    assert.equal(
      channel.send({ ...handover(), media: null }, new AbortController().signal, () => true),
      sending,
    )
  })
})

const LOST: Failure = {
  class: 'transient',
  code: 'media_lost',
  words: null,
  suspectsNetwork: false,
  retryAfterMs: null,
}

function rejected(code: Failure['code']): Outcome {
  const failure = { class: 'transient', code, words: null, suspectsNetwork: false, retryAfterMs: null } as const
  return { kind: 'rejected', failure }
}

function channelThat(send: Channel['send']): Channel {
  return {
    name: 'test',
    capabilities: {
      types: ['image'],
      maxTextLength: null,
      maxCaptionLength: null,
      recognisesRepeat: false,
      evidenceWaitMs: 0,
      callBudgetMs: 1_000,
    },
    parseSettings: () => ({}),
    start: async () => {},
    stop: async () => {},
    send,
    reconcile: async () => ({ kind: 'nothing-ever' }),
  }
}

function handover(): Handover {
  return {
    messageId: 'message' as Handover['messageId'],
    accountId: 'account' as Handover['accountId'],
    connectionId: 'connection' as Handover['connectionId'],
    from: '15550001000',
    to: '15551234567',
    content: { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: null },
    media: MEDIA,
    attemptNumber: 1,
    startedAt: 0,
    settings: {},
  }
}
