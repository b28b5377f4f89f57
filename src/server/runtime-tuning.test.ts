import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'
import { keepTicksFast } from './runtime-tuning.ts'

const SCRIPT = fileURLToPath(new URL('../../test/support/heap/hold-for-a-while.ts', import.meta.url))

// The least that 5,000 of these objects take. In the old generation only the little that is measured beside them grows.
const OF_ALL = 100_000

function grownBy(how: 'young' | 'by-itself'): number {
  // With a small young generation V8 decides soon.
  const said = execFileSync(process.execPath, ['--max-semi-space-size=1', SCRIPT, how], { encoding: 'utf8' })
  return Number(said)
}

describe('keeping garbage young', () => {
  it('has objects that live for a while made in the young generation', () => {
    assert.ok(grownBy('young') > OF_ALL)
  })

  it('control: V8 by itself makes them in the old one', () => {
    assert.ok(grownBy('by-itself') < OF_ALL / 10)
  })
})

describe('keeping the shape of a tick', () => {
  it('keeps the object in which Node notes a tick', async () => {
    assert.deepEqual(Object.keys(await keepTicksFast()), ['callback', 'args'])
  })

  it('keeps one', async () => {
    assert.equal(await keepTicksFast(), await keepTicksFast())
  })
})
