import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { SANDBOX_COMMANDS } from './commands.ts'

const MANUAL = new URL('../../../docs/guides/sandbox-commands.md', import.meta.url)

describe('the commands of the sandbox', () => {
  it('stand in the manual in the same words as in the console', () => {
    const rows = readFileSync(MANUAL, 'utf8').match(/^\| 1\d+ \|.*\|$/gm)

    assert.deepEqual(
      rows,
      Object.entries(SANDBOX_COMMANDS).map(
        ([recipient, { happens, ends }]) => `| ${recipient} | ${happens} | ${ends} |`,
      ),
    )
  })
})
