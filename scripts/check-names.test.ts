import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findNames, findUnnumberedTodos } from './check-names.ts'

describe('the check of names', () => {
  it.each([
    'src/core/utils.ts',
    'src/core/helpers',
    'src/core/string-utils.ts',
    'src/storage/common',
    'src/core/lane-manager.test.ts',
    'src/core/types.ts',
    'src/core/acceptMessage.ts',
    'src/core/Lane.ts',
    'src/core/accept_message.ts',
    'src/core/index.ts',
  ])('refuses %s', (path) => {
    assert.equal(findNames(path).length, 1)
  })

  it.each([
    'src/core/message/accept-message.ts',
    'src/core/message/accept-message.test.ts',
    'src/channels/sandbox/index.ts',
    'src/channels/sandbox/README.md',
    'src/media/media-types.ts',
    'src/storage/sqlite/connection/service-lock.ts',
    'src/storage/sqlite/migrations/0007-hold-messages-of-paused-connections.sql',
    'test/fixtures/Grüße aus Köln.JPG',
  ])('accepts %s', (path) => {
    assert.deepEqual(findNames(path), [])
  })
})

describe('the check of TODOs', () => {
  it('finds one without an issue, and its line', () => {
    const found = findUnnumberedTodos(new Map([['src/core/lane.ts', `\n/**\n * TODO: rest longer\n */`]]))

    assert.deepEqual(
      found.map(({ file, line }) => `${file}:${line}`),
      ['src/core/lane.ts:3'],
    )
  })

  it('finds one in SQL', () => {
    assert.equal(findUnnumberedTodos(new Map([['src/a.sql', '-- TODO index']])).length, 1)
  })

  it.each(['// TODO #12: rest longer', '// TODO(#12): rest longer', `const word = 'TODO'`])('accepts %s', (text) => {
    assert.deepEqual(findUnnumberedTodos(new Map([['src/core/lane.ts', text]])), [])
  })
})
