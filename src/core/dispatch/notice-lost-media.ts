import type { Channel, Outcome } from '../ports/channel.ts'

/**
 * The same channel, but whoever keeps the spool hears of it when the channel finds an attachment gone. Such a failure is
 * transient, so the lane tries again by itself, and by then the file is being fetched once more.
 */
export function noticeLostMedia(channel: Channel, onLost: () => void): Channel {
  const look = (outcome: Outcome) => {
    if (outcome.kind === 'rejected' && outcome.failure.code === 'media_lost') onLost()
  }
  return {
    name: channel.name,
    capabilities: channel.capabilities,
    parseSettings: (given) => channel.parseSettings(given),
    start: (events) => channel.start(events),
    stop: () => channel.stop(),
    reconcile: (open) => channel.reconcile(open),
    send(handover, signal, stillHolds) {
      const sending = channel.send(handover, signal, stillHolds)
      // Beside the call and not around it: texts, which are most messages, pay nothing for it.
      if (handover.media) sending.then(look, () => {})
      return sending
    },
  }
}
