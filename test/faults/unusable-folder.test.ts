import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { runInOwnMounts, whyNoOwnMounts } from '../support/black-box/own-mounts.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { timeLimitMs } from './run-length.ts'
import type { Tried } from './unusable-folder/try-commands.ts'

const deadlineMs = timeLimitMs(1)
const obstacle = whyNoOwnMounts(['setpriv'])

const NO_ROOM =
  /^nuncio: There is no room left on the disk of \S+\/small\/data\/\S+\. .*make room and try again\. \(database_u/
const NO_RIGHT =
  /^nuncio: This user \(0\) may not write to \S+\/small\/data\S*, which belongs to .*chown or chmod\. \(database_unavailable\)$/
const SENTENCES: Readonly<Record<string, RegExp>> = {
  'full disk': NO_ROOM,
  'full while migrating': NO_ROOM,
  'read-only disk':
    /^nuncio: The disk of \S+\/small\/data\S* is mounted read-only\. Mount it .*, or .* \(database_unavailable\)$/,
  'read-only file': NO_RIGHT,
  'folder of another': NO_RIGHT,
  'hidden folder': NO_RIGHT,
}

describe('an unusable data folder', () => {
  it.skipIf(obstacle !== null)(
    `is refused with one sentence by the service and by every command, and nothing is changed${skipNote(obstacle)}`,
    async () => {
      const script = new URL('unusable-folder/try-commands.ts', import.meta.url)

      const tried = await runInOwnMounts<Tried[]>(script, { deadlineMs })

      assert.deepEqual([...new Set(tried.map(({ what }) => what))], Object.keys(SENTENCES))
      for (const { what, command, answer, isUnchanged } of tried) {
        const [sentence = '', ...more] = answer.stderr.trimEnd().split('\n')
        const context = `${what}, ${command}: ${answer.stderr}`
        assert.deepEqual([answer.code, answer.stdout, more, isUnchanged], [1, '', [], true], context)
        assert.match(sentence, SENTENCES[what] ?? /never/, context)
      }
    },
    deadlineMs,
  )
})
