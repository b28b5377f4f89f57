import type { SessionAction } from '../ports/lanes.ts'

export function sessionAction(state: 'active' | 'paused' | 'removed', allHeld: boolean): SessionAction {
  if (allHeld) return 'end'
  return state === 'removed' ? 'remove' : 'keep'
}
