import type { Channel, Failure, Handover, Outcome, Prepared } from '../../ports/channel.ts'

/**
 * The same channel, but `onLost` is called when the channel finds that an attachment is missing. Such a failure is transient,
 * so the lane retries, and by then the file is fetched again.
 */
export function reportLostMedia(channel: Channel, onLost: () => void): Channel {
  const reportLost = ({ code }: Failure) => {
    if (code === 'media_lost') onLost()
  }
  const checkOutcome = (outcome: Outcome) => {
    if (outcome.kind === 'rejected') reportLost(outcome.failure)
  }
  const checkPrepared = (prepared: Prepared) => {
    if (prepared.kind === 'failed') reportLost(prepared.failure)
  }
  const prepare = channel.prepare?.bind(channel)
  const rateLimitDelayOf = channel.rateLimitDelayOf?.bind(channel)
  const capabilitiesOf = channel.capabilitiesOf?.bind(channel)
  return {
    name: channel.name,
    capabilities: channel.capabilities,
    ...(capabilitiesOf && { capabilitiesOf }),
    ...(channel.sessions && { sessions: channel.sessions }),
    parseSettings: (given) => channel.parseSettings(given),
    start: (events) => channel.start(events),
    stop: () => channel.stop(),
    reconcile: (open) => channel.reconcile(open),
    send(handover, signal, stillHolds) {
      const sending = channel.send(handover, signal, stillHolds)
      // Beside the call and not around it, so that texts, which are most messages, have no overhead.
      if (handover.media) sending.then(checkOutcome, () => {})
      return sending
    },
    // Left out where the channel leaves them out, because a lane checks for their presence.
    ...(prepare && {
      prepare(handover: Handover, signal: AbortSignal) {
        const preparing = prepare(handover, signal)
        preparing.then(checkPrepared, () => {})
        return preparing
      },
    }),
    ...(rateLimitDelayOf && { rateLimitDelayOf }),
  }
}
