import { setTimeout } from 'node:timers/promises'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { MediaContent, MessageContent } from '../../../src/core/message/message.ts'
import type { Channel, Failure, Handover, Outcome, Receipt } from '../../../src/core/ports/channel.ts'
import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import type { ChannelWorld } from '../../conformance/channel/channel-world.ts'

export interface BrokenWeb {
  readonly mistake: string
  /** What each instance of the channel does differently. */
  readonly channel?: (channel: Channel, world: () => ChannelWorld) => Partial<Channel>
  /** What the channel state does differently. */
  readonly memory?: Partial<ChannelState>
  readonly world?: (world: ChannelWorld) => Partial<ChannelWorld>
}

/** What a broken channel throws. */
export class Broken extends Error {}

const REJECTED: Failure = {
  class: 'transient',
  code: 'network_error',
  words: null,
  suspectsNetwork: true,
  retryAfterMs: null,
}
// Longer than a channel may take after it was stopped.
const SLOW_MS = 5_500

/** For each proof, by its title: a mistake that WhatsApp Web could make and that this proof notices. */
export const BROKEN_WEB: Readonly<Record<string, BrokenWeb>> = {
  'reads each setting, and reads its own written form as the same value': {
    mistake: 'forgets a setting',
    world: ({ description }) => ({
      description: {
        ...description,
        writeSettings(stored) {
          const { typing: _, ...others } = description.writeSettings(stored)
          return others
        },
      },
    }),
  },
  'describes each setting that it reads, and no other': {
    mistake: 'does not describe a setting',
    world: ({ description }) => ({ description: { ...description, settings: description.settings.slice(1) } }),
  },
  'knows which of its stored settings are secrets': {
    mistake: 'takes a setting for a secret',
    world: ({ description }) => ({ description: { ...description, secretKeys: ['typing'] } }),
  },
  'refuses an unknown setting, and names it without its value': {
    mistake: 'takes any setting',
    channel: () => ({ parseSettings: (given) => given }),
  },
  'hands over once, and byte for byte: a short text': {
    mistake: 'sends twice',
    channel: (channel) => ({
      async send(handover, ...limits) {
        await channel.send(handover, ...limits)
        return channel.send(nextAttempt(handover), ...limits)
      },
    }),
  },
  'hands over once, and byte for byte: line breaks, tabs and white space at both ends': writing(
    'tidies white space up',
    (text) => text.trim(),
  ),
  'hands over once, and byte for byte: faces of several code points': writing('takes faces apart', (text) =>
    text.replaceAll('\u200d', ''),
  ),
  'hands over once, and byte for byte: letters with combining marks': writing('normalises text', (text) =>
    text.normalize('NFC'),
  ),
  'hands over once, and byte for byte: text from right to left': writing(
    'marks the direction of text',
    (text) => `\u200e${text}`,
  ),
  'hands over once, and byte for byte: characters of markup': writing('takes text for markup', (text) =>
    text.replaceAll('*', ''),
  ),
  'hands over once, and byte for byte: the most code points allowed': writing('counts in units of UTF-16', (text) =>
    text.slice(0, 4_096),
  ),
  'hands over once, and byte for byte: image with its caption': attaching('leaves captions out', () => ({
    caption: null,
  })),
  'hands over once, and byte for byte: document with its caption': attaching('shows another file name', () => ({
    name: 'file',
  })),
  'hands over once, and byte for byte: video with its caption': attaching('tidies captions up', ({ caption }) => ({
    caption: caption?.trimEnd().replace(/\s+/g, ' ') ?? null,
  })),
  'hands over once, and byte for byte: audio with its caption': attaching('sends every file as a document', () => ({
    type: 'document',
  })),
  'returns for each accepted message the id that the network gave it': {
    mistake: 'makes up an id',
    channel: ending((outcome) => (outcome.kind === 'accepted' ? { ...outcome, networkId: 'id' } : outcome)),
  },
  'prepares without an effect that a recipient sees, and harmlessly twice': {
    mistake: 'sends when it is to get ready',
    channel: (channel) => ({
      async prepare(handover, signal) {
        const prepared = await channel.prepare?.(handover, signal)
        await channel.send(handover, signal, () => true)
        return prepared ?? { kind: 'ready' }
      },
    }),
  },
  'continues with what another worker has prepared': {
    mistake: 'knows only what its own worker has got ready',
    channel(channel) {
      const ready = new Set<MessageId>()
      return {
        prepare(handover, signal) {
          ready.add(handover.messageId)
          return channel.prepare?.(handover, signal) ?? Promise.resolve({ kind: 'ready' })
        },
        async send(handover, ...limits) {
          if (handover.media && !ready.has(handover.messageId)) return { kind: 'rejected', failure: REJECTED }
          return channel.send(handover, ...limits)
        },
      }
    },
  },
  'sends no message whose attachment was not prepared, and asks for that': {
    mistake: 'uploads while it sends',
    channel: (channel) => ({
      async send(handover, signal, stillHolds) {
        await channel.prepare?.(handover, signal)
        return channel.send(handover, signal, stillHolds)
      },
    }),
  },
  'reports media_lost for a missing attachment, and that a retry is possible': {
    mistake: 'fails the message whose attachment is gone',
    channel: (channel) => ({
      async prepare(handover, signal) {
        const prepared = await channel.prepare?.(handover, signal)
        if (prepared?.kind !== 'failed') return prepared ?? { kind: 'ready' }
        return { kind: 'failed', failure: { ...prepared.failure, class: 'permanent' } }
      },
    }),
  },
  'returns an outcome for a message whose connection has no settings, and never throws': {
    mistake: 'needs settings',
    channel: (channel) => ({
      async send(handover, ...limits) {
        if (!('typing' in handover.settings)) throw new Broken('a setting is missing')
        return channel.send(handover, ...limits)
      },
    }),
  },
  'returns an outcome for a message whose attachment is missing, and never throws': {
    mistake: 'needs the file',
    channel: (channel) => ({
      async send(handover, ...limits) {
        if (handover.content.type !== 'message' && !handover.media) throw new Broken('a file is missing')
        return channel.send(handover, ...limits)
      },
    }),
  },
  'reports rejected, with a reason, if the network refuses a message': {
    mistake: 'tries again to send to a number that is not registered',
    channel: failing(() => ({ class: 'transient' })),
  },
  'reports that the connection cannot send, and not that the message is wrong': {
    mistake: 'fails the message when the line has ended',
    channel: failing(() => ({ class: 'permanent' })),
  },
  'G5: reports nothing as certain when the line drops before the network acts': {
    mistake: 'takes a message for accepted whose ack did not come',
    channel: ending((outcome) => (outcome.kind === 'unknown' ? { kind: 'accepted', networkId: 'none' } : outcome)),
  },
  'never repeats by itself when the line drops before the network acts': repeating(),
  'G5: reports nothing as certain when the line drops after the network acts': {
    mistake: 'takes a message for refused whose ack did not come',
    channel: ending((outcome) => (outcome.kind === 'unknown' ? { kind: 'rejected', failure: REJECTED } : outcome)),
  },
  'never repeats by itself when the line drops after the network acts': repeating(),
  'G5: ends soon and honestly when it is stopped in mid-call: hangs-before': {
    mistake: 'ignores that it is stopped in mid-call',
    channel: (channel) => ({
      send: (handover, _, stillHolds) => channel.send(handover, new AbortController().signal, stillHolds),
    }),
  },
  'G5: ends soon and honestly when it is stopped in mid-call: hangs-after': {
    mistake: 'says that nothing was sent whenever it is stopped',
    channel: (channel) => ({
      async send(handover, signal, stillHolds) {
        const outcome = await channel.send(handover, signal, stillHolds)
        return signal.aborted ? { kind: 'rejected', failure: REJECTED } : outcome
      },
    }),
  },
  'G6: sends nothing if it is stopped before it begins': {
    mistake: 'ignores that it was stopped before',
    channel: (channel) => ({
      send: (handover, _, stillHolds) => channel.send(handover, new AbortController().signal, stillHolds),
    }),
  },
  'G6: sends nothing after the claim has expired: text': {
    mistake: 'leaves the fence out',
    channel: (channel) => ({ send: (handover, signal) => channel.send(handover, signal, () => true) }),
  },
  'G6: sends nothing after the claim has expired: image': {
    mistake: 'checks the claim too early',
    channel: (channel) => ({
      send(handover, signal, stillHolds) {
        const holds = stillHolds()
        return channel.send(handover, signal, () => holds)
      },
    }),
  },
  'ends soon if it is stopped while it prepares a message': {
    mistake: 'ignores that it is stopped while it gets ready',
    channel: () => ({ prepare: () => setTimeout(SLOW_MS, { kind: 'ready' }) }),
  },
  'never throws while storage is away, and reports rejected only for a message that does not arrive': {
    mistake: 'throws while storage is away',
    channel: ending((outcome) => {
      if (outcome.kind === 'rejected') throw new Broken(outcome.failure.code)
      return outcome
    }),
  },
  'G5: finds evidence of a message that arrived, whichever worker is asked': {
    mistake: 'knows only of what its own worker has sent',
    channel(channel) {
      const sent = new Set<MessageId>()
      return {
        send(handover, ...limits) {
          sent.add(handover.messageId)
          return channel.send(handover, ...limits)
        },
        reconcile: async (open) => (sent.has(open.messageId) ? channel.reconcile(open) : { kind: 'nothing-ever' }),
      }
    },
  },
  'G5: never reports not-sent for a message that arrived, or accepted for one that did not':
    doubting('takes no report for not sent'),
  'G5: keeps its word that an attempt was not sent': {
    mistake: 'forgets what it said of an attempt',
    channel: (channel) => ({ send: (handover, ...limits) => channel.send(nextAttempt(handover), ...limits) }),
  },
  'distinguishes the attempts of a message': {
    mistake: 'does not distinguish attempts',
    channel: (channel) => ({ reconcile: (open) => channel.reconcile({ ...open, attemptNumber: 1 }) }),
  },
  'has no outside effect when it is asked': {
    mistake: 'sends in order to find out whether it can',
    channel: (channel, world) => ({
      async reconcile(open) {
        const probe = await world().handover({ text: 'a probe' })
        await channel.send(probe, new AbortController().signal, () => true)
        return channel.reconcile(open)
      },
    }),
  },
  'never throws while storage is away, and reports nothing as certain then': doubting(
    'takes silence of storage for not sent',
  ),
  'reports under the connection, the message and the attempt': {
    mistake: 'reports under another connection',
    channel: reporting((receipt, offer) => offer({ ...receipt, connectionId: 'another' as ConnectionId })),
  },
  'repeats a report that came too early after its attempt has ended': {
    mistake: 'lets a report go that came too early',
    channel: reporting((receipt, offer) => offer(receipt).then(() => 'applied')),
  },
  'reports nothing from another network or about another connection': {
    mistake: 'takes every report for one about a message of its own',
    memory: {
      findSome: async (_, connectionId, keys) =>
        keys.map((key, position) => ({ position, connectionId, key, value: 'any', at: Date.now() })),
    },
  },
  'reports nothing after it has stopped, and leaves that to another worker': {
    mistake: 'goes on reporting when it has stopped',
    channel: () => ({ stop: () => Promise.resolve() }),
  },
  'can be stopped before it was started, and twice': {
    mistake: 'cannot be stopped before it was started',
    channel(channel) {
      let isStarted = false
      return {
        start(events) {
          isStarted = true
          return channel.start(events)
        },
        stop: () => (isStarted ? channel.stop() : Promise.reject(new Broken('it was not started'))),
      }
    },
  },
}

function nextAttempt(handover: Handover): Handover {
  return { ...handover, attemptNumber: handover.attemptNumber + 1 }
}

function writing(mistake: string, change: (text: string) => string): BrokenWeb {
  return handing(mistake, (content) =>
    content.type === 'message' ? { ...content, text: change(content.text) } : content,
  )
}

function attaching(mistake: string, change: (content: MediaContent) => Partial<MediaContent>): BrokenWeb {
  return handing(mistake, (content) => (content.type === 'message' ? content : { ...content, ...change(content) }))
}

function handing(mistake: string, change: (content: MessageContent) => MessageContent): BrokenWeb {
  const changed = (handover: Handover) => ({ ...handover, content: change(handover.content) })
  return {
    mistake,
    channel: (channel) => ({
      prepare: (handover, signal) => channel.prepare?.(changed(handover), signal) ?? Promise.resolve({ kind: 'ready' }),
      send: (handover, ...limits) => channel.send(changed(handover), ...limits),
    }),
  }
}

function ending(change: (outcome: Outcome) => Outcome): NonNullable<BrokenWeb['channel']> {
  return (channel) => ({ send: async (...given) => change(await channel.send(...given)) })
}

function failing(change: (failure: Failure) => Partial<Failure>): NonNullable<BrokenWeb['channel']> {
  return ending((outcome) =>
    outcome.kind === 'rejected' ? { ...outcome, failure: { ...outcome.failure, ...change(outcome.failure) } } : outcome,
  )
}

function repeating(): BrokenWeb {
  return {
    mistake: 'tries again by itself when the line breaks',
    channel: (channel) => ({
      async send(handover, ...limits) {
        const outcome = await channel.send(handover, ...limits)
        if (outcome.kind !== 'unknown') return outcome
        for (let attempt = nextAttempt(handover); ; attempt = nextAttempt(attempt)) {
          // Every try is rejected until the session has logged in again.
          if ((await channel.send(attempt, ...limits)).kind !== 'rejected') return outcome
          await setTimeout(50)
        }
      },
    }),
  }
}

function doubting(mistake: string): BrokenWeb {
  return {
    mistake,
    channel: (channel) => ({
      async reconcile(open) {
        const evidence = await channel.reconcile(open)
        return evidence.kind === 'nothing-yet' ? { kind: 'not-sent', words: 'nothing was found' } : evidence
      },
    }),
  }
}

type Offer = Parameters<Channel['start']>[0]['offerReceipt']

function reporting(change: (receipt: Receipt, offer: Offer) => ReturnType<Offer>): NonNullable<BrokenWeb['channel']> {
  return (channel) => ({
    start: (events) =>
      channel.start({
        ...events,
        offerReceipt: (receipt) => change(receipt, (changed) => events.offerReceipt(changed)),
      }),
  })
}
