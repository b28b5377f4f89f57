import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { LoginTurns } from './login-turns.ts'

const MOST = 10

describe('logins of one process', () => {
  it('are ten at once, and each that ends lets one more begin, however often it says so', async () => {
    const turns = new LoginTurns(10)
    const begun: (() => void)[] = []
    for (let index = 0; index < MOST + 2; index += 1) void turns.take().then((end) => begun.push(end))
    await settled()
    const atFirst = begun.length

    begun[0]?.()
    begun[0]?.()
    await settled()

    assert.deepEqual([atFirst, begun.length], [MOST, MOST + 1])
  })
})

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
