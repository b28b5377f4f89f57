import type { ConsoleStore } from './console-store.ts'

export type ConsoleArea = keyof ConsoleStore

// Does not compile while an area is missing.
const AREAS: Readonly<Record<ConsoleArea, true>> = {
  administration: true,
  people: true,
  sessions: true,
  apiLog: true,
  lanes: true,
  deviceSessions: true,
  tokens: true,
  overview: true,
  alarms: true,
  inbox: true,
  blockLists: true,
  audit: true,
  changes: true,
  webhooks: true,
  deliveries: true,
}

/** The names of all areas of the console's store. */
export const CONSOLE_AREAS = Object.keys(AREAS) as readonly ConsoleArea[]
