import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../test/support/heap/hold-for-a-while.ts', import.meta.url))

// What 5,000 of them take at least; otherwise only the little that is measured beside them is there.
const OF_ALL = 100_000

function grownBy(how: 'young' | 'by-itself'): number {
  // With a small young generation V8 makes up its mind soon.
  const said = execFileSync(process.execPath, ['--max-semi-space-size=1', SCRIPT, how], { encoding: 'utf8' })
  return Number(said)
}

describe('keeping garbage young', () => {
  it('has what lives for a while made in the young generation', () => {
    assert.ok(grownBy('young') > OF_ALL)
  })

  it('control: V8 by itself makes it in the old one', () => {
    assert.ok(grownBy('by-itself') < OF_ALL / 10)
  })
})
