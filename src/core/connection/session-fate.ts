import type { SessionFate } from '../ports/lanes.ts'

export function sessionFate(state: 'active' | 'paused' | 'removed', allHeld: boolean): SessionFate {
  if (allHeld) return 'end'
  return state === 'removed' ? 'remove' : 'keep'
}
