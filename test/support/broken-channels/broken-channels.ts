import type { MessageContent } from '../../../src/core/message/message.ts'
import type { Channel, Handover, Outcome } from '../../../src/core/ports/channel.ts'
import type { ChannelWorld } from '../../conformance/channel/channel-world.ts'

/** The part of the suite that is most likely to notice the mistake. It is tried first, to save time. */
export type Part = 'settings' | 'handing over' | 'trouble' | 'evidence' | 'reporting'

export interface BrokenChannel {
  readonly on: 'sandbox' | 'whatsapp-cloud'
  readonly noticedBy: Part
  /** What each instance of the channel does differently. */
  readonly channel?: (channel: Channel, world: () => ChannelWorld) => Partial<Channel>
  readonly world?: (world: ChannelWorld) => Partial<ChannelWorld>
}

const REJECTED: Outcome = {
  kind: 'rejected',
  failure: { class: 'transient', code: 'network_error', words: null, suspectsNetwork: true, retryAfterMs: null },
}

/** Mistakes that a channel could make. The suite must notice each of them. */
export const BROKEN_CHANNELS: Readonly<Record<string, BrokenChannel>> = {
  'says accepted and sends nothing': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: () => ({ send: async () => ({ kind: 'accepted', networkId: 'net-1' }) }),
  },
  'sends twice': {
    on: 'whatsapp-cloud',
    noticedBy: 'handing over',
    channel: (channel) => ({
      async send(handover, ...limits) {
        await channel.send(handover, ...limits)
        return channel.send(handover, ...limits)
      },
    }),
  },
  'tidies white space up': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: (channel) => ({
      send: (handover, ...limits) =>
        channel.send(
          changed(handover, (t) => t.trim()),
          ...limits,
        ),
    }),
  },
  'counts in units of UTF-16': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: (channel) => ({
      send: (handover, ...limits) =>
        channel.send(
          changed(handover, (t) => t.slice(0, 4_096)),
          ...limits,
        ),
    }),
  },
  'normalises text': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: (channel) => ({
      send: (handover, ...limits) =>
        channel.send(
          changed(handover, (t) => t.normalize('NFC')),
          ...limits,
        ),
    }),
  },
  'leaves captions away': {
    on: 'whatsapp-cloud',
    noticedBy: 'handing over',
    channel: (channel) => ({
      send: (handover, ...limits) =>
        channel.send({ ...handover, content: { ...handover.content, caption: null } as MessageContent }, ...limits),
    }),
  },
  'sends when it is to get ready': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: (channel) => ({
      async prepare(handover, signal) {
        await channel.send(handover, signal, () => true)
        return { kind: 'ready' }
      },
    }),
  },
  'fails the message whose attachment is gone': {
    on: 'sandbox',
    noticedBy: 'handing over',
    channel: (channel) => ({
      async send(...given) {
        const outcome = await channel.send(...given)
        if (outcome.kind !== 'rejected' || outcome.failure.code !== 'media_lost') return outcome
        return { kind: 'rejected', failure: { ...outcome.failure, class: 'permanent' } }
      },
    }),
  },
  'throws when the network refuses': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({
      async send(...given) {
        const outcome = await channel.send(...given)
        if (outcome.kind === 'rejected') throw new Error(outcome.failure.code)
        return outcome
      },
    }),
  },
  'takes a broken line for a refusal': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({
      async send(...given) {
        const outcome = await channel.send(...given)
        return outcome.kind === 'unknown' ? REJECTED : outcome
      },
    }),
  },
  'tries again by itself when the line breaks': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({
      async send(...given) {
        const outcome = await channel.send(...given)
        if (outcome.kind === 'unknown') await channel.send(...given)
        return outcome
      },
    }),
  },
  'does not check the claim': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({ send: (handover, signal) => channel.send(handover, signal, () => true) }),
  },
  'checks the claim too early': {
    on: 'sandbox',
    noticedBy: 'trouble',
    channel: (channel) => ({
      send(handover, signal, stillHolds) {
        const holds = stillHolds()
        return channel.send(handover, signal, () => holds)
      },
    }),
  },
  'ignores the signal': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({
      send: (handover, _, stillHolds) => channel.send(handover, new AbortController().signal, stillHolds),
    }),
  },
  'says that nothing was sent whenever it is stopped': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel) => ({
      async send(handover, signal, stillHolds) {
        const outcome = await channel.send(handover, signal, stillHolds)
        return signal.aborted ? REJECTED : outcome
      },
    }),
  },
  'repeats what it was sent with': {
    on: 'whatsapp-cloud',
    noticedBy: 'trouble',
    channel: (channel, world) => ({
      async send(...given) {
        const outcome = await channel.send(...given)
        if (outcome.kind !== 'rejected') return outcome
        return { kind: 'rejected', failure: { ...outcome.failure, words: `refused ${world().secrets.join(' ')}` } }
      },
    }),
  },
  'knows only of what its own worker has sent': {
    on: 'sandbox',
    noticedBy: 'evidence',
    channel: (channel) => {
      const sent = new Set<string>()
      return {
        send(handover, ...limits) {
          sent.add(handover.messageId)
          return channel.send(handover, ...limits)
        },
        reconcile: async (open) =>
          sent.has(open.messageId) ? channel.reconcile(open) : { kind: 'not-sent', words: 'not by this worker' },
      }
    },
  },
  'takes evidence that is missing for evidence of nothing': {
    on: 'whatsapp-cloud',
    noticedBy: 'evidence',
    channel: (channel) => ({
      async reconcile(open) {
        const evidence = await channel.reconcile(open)
        return evidence.kind === 'nothing-yet' ? { kind: 'not-sent', words: 'nothing was found' } : evidence
      },
    }),
  },
  'does not distinguish attempts': {
    on: 'whatsapp-cloud',
    noticedBy: 'evidence',
    channel: (channel) => ({ reconcile: (open) => channel.reconcile({ ...open, attemptNumber: 1 }) }),
  },
  'sends in order to find out whether it can': {
    on: 'sandbox',
    noticedBy: 'evidence',
    channel: (channel, world) => ({
      async reconcile(open) {
        const probe = await world().handover({ text: 'a probe' })
        await channel.send(probe, new AbortController().signal, () => true)
        return channel.reconcile(open)
      },
    }),
  },
  'does not say of which attempt a report speaks': {
    on: 'sandbox',
    noticedBy: 'reporting',
    channel: (channel) => ({
      start: (events) =>
        channel.start({
          ...events,
          receipt: (receipt) => events.receipt({ ...receipt, attemptNumber: (receipt.attemptNumber ?? 0) + 1 }),
        }),
    }),
  },
  'reports under another connection': {
    on: 'whatsapp-cloud',
    noticedBy: 'reporting',
    channel: (channel) => ({
      start: (events) =>
        channel.start({
          ...events,
          offerReceipt: (receipt) =>
            events.offerReceipt({ ...receipt, connectionId: 'another' as Handover['connectionId'] }),
        }),
    }),
  },
  'lets a report go that came too early': {
    on: 'whatsapp-cloud',
    noticedBy: 'reporting',
    channel: (channel) => ({
      start: (events) =>
        channel.start({ ...events, offerReceipt: (receipt) => events.offerReceipt(receipt).then(() => 'applied') }),
    }),
  },
  'goes on reporting when it has stopped': {
    on: 'whatsapp-cloud',
    noticedBy: 'reporting',
    channel: () => ({ stop: () => Promise.resolve() }),
  },
  'cannot be stopped before it was started': {
    on: 'sandbox',
    noticedBy: 'reporting',
    channel: (channel) => {
      let isStarted = false
      return {
        start(events) {
          isStarted = true
          return channel.start(events)
        },
        stop: () => (isStarted ? channel.stop() : Promise.reject(new Error('it was not started'))),
      }
    },
  },
  'forgets a setting': {
    on: 'whatsapp-cloud',
    noticedBy: 'settings',
    world: ({ description }) => ({
      description: {
        ...description,
        writeSettings(stored) {
          const { link_preview: _, ...others } = description.writeSettings(stored)
          return others
        },
      },
    }),
  },
  'takes a secret for none': {
    on: 'whatsapp-cloud',
    noticedBy: 'settings',
    world: ({ description }) => ({ description: { ...description, secretKeys: description.secretKeys.slice(1) } }),
  },
  'shows the value of a setting that it refuses': {
    on: 'sandbox',
    noticedBy: 'settings',
    channel: (channel) => ({
      parseSettings(given) {
        try {
          return channel.parseSettings(given)
        } catch (error) {
          if (error instanceof Error) error.message += JSON.stringify(given)
          throw error
        }
      },
    }),
  },
}

function changed(handover: Handover, change: (text: string) => string): Handover {
  const { content } = handover
  return content.type === 'message' ? { ...handover, content: { ...content, text: change(content.text) } } : handover
}
