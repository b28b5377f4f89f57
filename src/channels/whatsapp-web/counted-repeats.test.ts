import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { countedRepeats } from './counted-repeats.ts'
import { SentContents } from './sent-contents.ts'

const CONTENT = { to: '15551234567', fields: { extendedTextMessage: { text: 'hello' } } }
const DEVICE = '15551234567:2@s.whatsapp.net'
const OTHER_DEVICE = '15551234567@s.whatsapp.net'

describe('how often a device is sent a message again', () => {
  it('is twice at most, also when it asks several times at once', async () => {
    const { repeats } = await open()

    const answers = await Promise.all([1, 2, 3, 4].map(() => repeats.mayRepeat('wire', DEVICE)))

    assert.equal(answers.filter(Boolean).length, 2)
    assert.equal(await repeats.findRepeat('wire', DEVICE), null)
  })

  it('counts each device for itself, also when two ask at once', async () => {
    const { repeats } = await open()

    for (let times = 0; times < 2; times += 1)
      assert.deepEqual(await Promise.all([DEVICE, OTHER_DEVICE].map((device) => repeats.mayRepeat('wire', device))), [
        true,
        true,
      ])

    for (const device of [DEVICE, OTHER_DEVICE]) assert.equal(await repeats.findRepeat('wire', device), null)
  })

  it('counts nothing before it leaves, or when the recipient is blocked', async () => {
    const { repeats, state } = await open()

    for (let times = 0; times < 3; times += 1)
      assert.deepEqual((await repeats.findRepeat('wire', DEVICE))?.to, CONTENT.to)
    state.blocked = () => true
    for (let times = 0; times < 3; times += 1) assert.equal(await repeats.mayRepeat('wire', DEVICE), false)
    state.blocked = () => false

    assert.deepEqual([await repeats.mayRepeat('wire', DEVICE), await repeats.mayRepeat('wire', DEVICE)], [true, true])
  })

  it('G13: is not once more when the recipient was blocked while that was being stored', async () => {
    const { repeats, state } = await open()
    const answers = [false, true]
    state.blocked = () => answers.shift() ?? true

    assert.equal(await repeats.mayRepeat('wire', DEVICE), false)
  })

  it('is not once more on a line in whose place another one has begun', async () => {
    const { repeats, state } = await open()
    state.isCurrent = false

    await assert.rejects(repeats.mayRepeat('wire', DEVICE), /this line is not used any more/)
  })
})

async function open() {
  const rows = new Map<string, string>()
  const stored = {
    readKeys: async (kind: string, ids: readonly string[]) =>
      ids.flatMap((id) => (rows.has(`${kind}/${id}`) ? [[id, rows.get(`${kind}/${id}`)]] : [])),
    writeAbout: async (_: string, [kind, id, text]: readonly [string, string, string]) =>
      rows.set(`${kind}/${id}`, text),
    empty: async () => {},
  }
  const contents = new SentContents(stored as never, { now: () => 0 } as never)
  await contents.keep('wire', CONTENT)
  const state = { blocked: () => false, isCurrent: true }
  const isBlocked = () => state.blocked()
  return { state, repeats: countedRepeats({ contents, isBlocked, isCurrent: () => state.isCurrent }) }
}
