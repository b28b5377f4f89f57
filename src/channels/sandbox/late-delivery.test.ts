import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { ANY_RECIPIENT, createWorld, removeFolders } from '../../../test/support/sandbox-world/sandbox-world.ts'

afterEach(removeFolders)

describe('a delivery that is still on its way when it is asked for', () => {
  it('G5: comes to nothing once the sandbox has said that it was not sent', async () => {
    const { send, reconcile, inbox } = createWorld()

    const evidence = await reconcile(ANY_RECIPIENT)
    const late = await send(ANY_RECIPIENT)
    const again = await send(ANY_RECIPIENT, { attemptNumber: 2 })

    assert.deepEqual([evidence.kind, late.kind, again.kind], ['not-sent', 'rejected', 'accepted'])
    assert.equal(inbox().length, 1)
    assert.equal((await reconcile(ANY_RECIPIENT)).kind, 'not-sent')
  })
})
