import type { Administration } from '../administration.ts'
import type { Deliveries } from '../deliveries.ts'
import type { BlockLists } from '../recipients.ts'
import type { Webhooks } from '../webhooks.ts'
import type { Alarms } from './alarms.ts'
import type { ApiLog } from './api-log.ts'
import type { AuditLog } from './audit.ts'
import type { Changes } from './changes.ts'
import type { DeviceSessions } from './device-sessions.ts'
import type { InboxViews } from './inbox.ts'
import type { LaneViews } from './lanes.ts'
import type { Overview } from './overview.ts'
import type { People } from './people.ts'
import type { Sessions } from './sessions.ts'
import type { TokenViews } from './tokens.ts'

/**
 * All that the console reads and changes, by area.
 *
 * On SQLite it runs in a thread of its own, so that reading does not slow down accepting. Therefore every
 * verb returns a promise, and takes and gives only what can be cloned from one thread to another: plain objects,
 * arrays, texts, numbers, bytes; no functions and no streams.
 */
export interface ConsoleStore {
  readonly administration: Omit<Administration, 'listMessages' | 'listRequests'>
  readonly people: People
  readonly sessions: Sessions
  readonly apiLog: ApiLog
  readonly lanes: LaneViews
  readonly deviceSessions: DeviceSessions
  readonly tokens: TokenViews
  readonly overview: Overview
  readonly alarms: Alarms
  readonly inbox: InboxViews
  readonly blockLists: BlockLists
  readonly audit: AuditLog
  readonly changes: Changes
  readonly webhooks: Webhooks
  readonly deliveries: Deliveries
}
