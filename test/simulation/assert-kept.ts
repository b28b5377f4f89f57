import assert from 'node:assert/strict'
import type { RunResult } from './simulate.ts'

/** Fails with the events around the moment at which a promise was broken. */
export function assertKept({ seed, violation, around }: RunResult): void {
  if (!violation) return
  assert.fail(`seed ${seed} breaks ${violation.invariant}: ${violation.detail}\n${around.slice(-40).join('\n')}`)
}
