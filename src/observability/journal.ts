import type { Logger } from 'pino'
import type { Journal, JournalEvent } from '../core/ports/journal.ts'
import type { Metrics } from './metrics.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'

/** What goes well is quiet: the API log is the record of it. */
function levelOf(event: JournalEvent): Level {
  switch (event.event) {
    case 'attempt.finished':
      return event.outcome === 'accepted' ? 'debug' : 'info'
    case 'lane.waiting':
    case 'message.deferred':
    case 'lane.claimed':
    case 'lane.lost':
    case 'media.fetched':
    case 'message.prepared':
    // Anyone can send callbacks, so strangers must not be able to fill the log. All callbacks are counted.
    case 'callback.received':
    case 'callback.applied':
    case 'callback.ignored':
    case 'bridge.called':
    case 'delivery.tried':
      return 'debug'
    case 'message.dropped':
    case 'messages.expired':
    case 'media.failed':
    case 'session.changed':
    case 'network.refused':
    case 'alarm.cleared':
    case 'retention.swept':
      return 'info'
    case 'attempt.recovered':
    case 'claim.expired':
    case 'media.stalled':
    case 'media.lost':
    // Old data will be deleted: an operator who did not expect that can still stop it.
    case 'retention.waiting':
    case 'network.code_unknown':
    case 'bridge.promise_broken':
    case 'channel.thread_ended':
    case 'session.unlink_failed':
    case 'alarm.raised':
    case 'deliveries.dropped':
    case 'webhook.disabled':
    case 'storage.unavailable':
      return 'warn'
    case 'fault':
      return 'error'
  }
}

/** Writes what happens to the log, one line for each event, and counts it. */
export function createJournal(logger: Logger, metrics: Pick<Metrics, 'record'>): Journal {
  const quiet = !logger.isLevelEnabled('debug')
  return {
    record(event) {
      metrics.record(event)
      const level = levelOf(event)
      if (quiet && level === 'debug') return
      const { event: name, ...fields } = event
      const { error, ...ids } = 'error' in fields ? fields : { ...fields, error: undefined }
      logger[level](error === undefined ? ids : { ...ids, err: error }, name)
    },
  }
}
