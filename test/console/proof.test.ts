import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import { CONSOLE_ROUTES } from '../../src/contract/console/routes.ts'

const CONSOLE = join(ROOT, 'console')
const SENSITIVE = Object.entries(CONSOLE_ROUTES).flatMap(([name, { stepUp }]) => (stepUp ? [name] : []))
const DIALOG = /<(?:Confirm|Typed)Dialog|<Modal/

describe('a dialog of a sensitive action', () => {
  it('has the fields to confirm who acts, so that no second dialog asks for them', () => {
    const dialogs = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
      .filter((file) => /^(?:features|components|layout).*\.tsx$/.test(file))
      .map((file) => ({ file, text: readFileSync(join(CONSOLE, file), 'utf8') }))
      .filter(({ text }) => DIALOG.test(text) && SENSITIVE.some((name) => text.includes(`useApiMutation('${name}')`)))

    assert.ok(dialogs.length > 10)
    assert.deepEqual(
      dialogs.filter(({ text }) => !/needsProof=|useProof\(/.test(text)).map(({ file }) => file),
      [],
    )
  })
})
