import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import {
  type Checkpoint,
  CheckpointFile,
  checkFound,
  isLater,
  type Memory,
  type RememberedServer,
} from './checkpoint.ts'

const SERVER: RememberedServer = { id: '7710', timeline: 2, isSynchronous: false }
const REMEMBERED: Checkpoint = { installation: 'ours', mark: 100, holds: 1, server: SERVER }

type Differences = Partial<Omit<Checkpoint, 'server'>> & { readonly server?: Partial<RememberedServer> | null }

function differing({ server, ...rest }: Differences, from = REMEMBERED): Checkpoint {
  return { ...from, ...rest, server: server === null ? null : { ...SERVER, ...from.server, ...server } }
}

const inFile = (given: Differences) => differing({ ...given, server: null })

describe('what is found of a database, against what is remembered', () => {
  it.each<[string, Checkpoint | null, Checkpoint]>([
    ['nothing is remembered', null, REMEMBERED],
    ['it is the same', REMEMBERED, REMEMBERED],
    ['others have worked on', REMEMBERED, differing({ mark: 101 })],
    [
      'a synchronous standby was promoted',
      differing({ server: { isSynchronous: true } }),
      differing({ server: { timeline: 3 } }),
    ],
    ['the lanes were held since it went back', REMEMBERED, differing({ mark: 50, holds: 2 })],
    ['the lanes were held since a standby was promoted', REMEMBERED, differing({ holds: 2, server: { timeline: 3 } })],
    ['the data were moved to another server, complete', REMEMBERED, differing({ server: { id: '1', timeline: 1 } })],
    ['the data were moved from SQLite', inFile({ installation: 'theirs', mark: 900 }), REMEMBERED],
    ['a file is the same', inFile({}), inFile({})],
  ])('G12: raises no alarm when %s', (_, remembered, found) => {
    assert.deepEqual(checkFound(remembered, found), { is: 'as-remembered' })
  })

  it.each<[string, Memory, Checkpoint]>([
    ['what is remembered cannot be read', 'unreadable', REMEMBERED],
    ['what is remembered of a file cannot be read', 'unreadable', inFile({})],
    ['its mark is lower', REMEMBERED, differing({ mark: 99 })],
    ['a file has a lower mark', inFile({}), inFile({ mark: 99 })],
    ['it knows nothing of the last hold', REMEMBERED, differing({ mark: 200, holds: 0 })],
    ['a standby was promoted that may lack something', REMEMBERED, differing({ server: { timeline: 3 } })],
    [
      'a standby was promoted that does lack something',
      differing({ server: { isSynchronous: true } }),
      differing({ mark: 99, server: { timeline: 3 } }),
    ],
    ['an older copy was put on another server', REMEMBERED, differing({ mark: 99, server: { id: '1', timeline: 1 } })],
  ])('G12: has gone back when %s', (_, remembered, found) => {
    assert.equal(checkFound(remembered, found).is, 'gone-back')
  })

  it.each<[string, Checkpoint]>([
    ['an old primary', differing({ server: { timeline: 1 } })],
    // The number of its own later changes and holds does not matter.
    ['an old primary that went on', differing({ mark: 900, holds: 5, server: { timeline: 1 } })],
    ['that of another installation', differing({ installation: 'theirs' })],
  ])('G12: is not to be used when it is %s', (_, found) => {
    assert.equal(checkFound(REMEMBERED, found).is, 'not-ours')
  })
})

describe('which of two memories is the later one', () => {
  it.each<[string, Checkpoint]>([
    ['a higher mark', differing({ mark: 101 })],
    ['the same mark', REMEMBERED],
    ['a lower mark after a hold', differing({ mark: 50, holds: 2 })],
    ['a lower mark after a promotion', differing({ mark: 99, server: { timeline: 3 } })],
    ['another installation', differing({ installation: 'theirs', mark: 1 })],
    ['another engine', inFile({ mark: 1 })],
  ])('is the one with %s', (_, later) => {
    assert.equal(isLater(later, REMEMBERED), true)
  })

  it.each<[string, Checkpoint]>([
    ['a lower mark', differing({ mark: 99 })],
    ['fewer holds', differing({ mark: 900, holds: 0 })],
    ['an older timeline', differing({ mark: 900, holds: 5, server: { timeline: 1 } })],
  ])('is not the one with %s', (_, earlier) => {
    assert.equal(isLater(earlier, REMEMBERED), false)
  })
})

describe('the file of what is remembered', () => {
  let folder = ''
  let path = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-checkpoint-'))
    path = join(folder, 'data', 'remembered.json')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('keeps it for the next process, and leaves nothing else behind', async () => {
    await new CheckpointFile(path).write(REMEMBERED)

    assert.deepEqual(new CheckpointFile(path).read(), REMEMBERED)
    assert.deepEqual(readdirSync(join(folder, 'data')), ['remembered.json'])
  })

  it('keeps what is remembered of a file', async () => {
    await new CheckpointFile(path).write(inFile({}))

    assert.deepEqual(new CheckpointFile(path).read(), inFile({}))
  })

  it('G12: is not set back by a process that knows less', async () => {
    const file = new CheckpointFile(path)
    await file.write(REMEMBERED)

    await file.write(differing({ mark: 99 }))
    await file.write(differing({ mark: 900, server: { timeline: 1 } }))

    assert.deepEqual(file.read(), REMEMBERED)
  })

  it.each([
    '',
    'null',
    '{',
    '[]',
    '{"installation":"ours","mark":"100","holds":0,"server":null}',
    '{"installation":"ours","mark":1}',
  ])('G12: does not take %j for nothing', async (text) => {
    writeFileSync(join(folder, 'remembered.json'), text)

    const file = new CheckpointFile(join(folder, 'remembered.json'))
    assert.equal(file.read(), 'unreadable')
    await file.write(REMEMBERED)
    assert.deepEqual(file.read(), REMEMBERED)
  })

  it('remembers nothing where it is not there', () => {
    assert.equal(new CheckpointFile(path).read(), null)
    assert.equal(new CheckpointFile(join(folder, 'a', 'b', 'remembered.json')).read(), null)
  })

  it('is written whole by each of two processes that have the same number', async () => {
    // As two containers do that share the folder: the one has its draft there while the other writes.
    const draft = `${path}.${process.pid}`
    mkdirSync(join(folder, 'data'))
    writeFileSync(draft, '{"installation":')

    await new CheckpointFile(path).write(REMEMBERED)

    assert.deepEqual(new CheckpointFile(path).read(), REMEMBERED)
    assert.equal(readFileSync(draft, 'utf8'), '{"installation":')
  })

  it('costs no more than the memory when there can be no folder for it', async () => {
    writeFileSync(join(folder, 'data'), 'a file')

    await new CheckpointFile(path).write(REMEMBERED)

    assert.equal(new CheckpointFile(path).read(), null)
  })

  it('costs no more than the memory when it cannot be written', async () => {
    // A folder in its place: whatever else it is, root may write it.
    mkdirSync(path, { recursive: true })
    const file = new CheckpointFile(path)

    await file.write(REMEMBERED)

    assert.equal(file.read(), 'unreadable')
    assert.deepEqual(readdirSync(join(folder, 'data')), ['remembered.json'])
  })
})
