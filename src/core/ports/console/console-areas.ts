import type { ConsoleStore } from './console-store.ts'

/** The areas of the console's store, for whoever must go through all of them. */
export const CONSOLE_AREAS = [
  'administration',
  'people',
  'sessions',
  'apiLog',
  'lanes',
  'tokens',
  'overview',
  'alarms',
  'inbox',
  'blockLists',
  'audit',
  'changes',
  'webhooks',
  'deliveries',
] as const satisfies readonly (keyof ConsoleStore)[]

export type ConsoleArea = (typeof CONSOLE_AREAS)[number]

/** Does not compile while an area is missing above. */
export const HAS_ALL_AREAS: Exclude<keyof ConsoleStore, ConsoleArea> extends never ? true : never = true
