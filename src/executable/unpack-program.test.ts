import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { type PackedProgram, unpackProgram } from './unpack-program.ts'

let cache: string
let reads: number

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'nuncio-unpack-'))
  reads = 0
})

afterEach(() => rmSync(cache, { recursive: true }))

function programThat(whileReading = () => {}): PackedProgram {
  return {
    name: '1.0.0-abc',
    files: [
      ['src/a.js', 5],
      ['package.json', 2],
      ['empty', 0],
    ],
    read: () => {
      reads += 1
      whileReading()
      return Buffer.from('run()' + '{}')
    },
  }
}

function assertWhole(folder: string): void {
  assert.equal(readFileSync(join(folder, 'src/a.js'), 'utf8'), 'run()')
  assert.equal(readFileSync(join(folder, 'package.json'), 'utf8'), '{}')
  assert.equal(readFileSync(join(folder, 'empty'), 'utf8'), '')
  assert.deepEqual(readdirSync(cache), ['1.0.0-abc'])
}

describe('the program inside of the executable', () => {
  it('is unpacked once, for this user alone', () => {
    const folder = unpackProgram(programThat(), cache)

    assert.equal(unpackProgram(programThat(), cache), folder)
    assert.equal(reads, 1)
    assert.equal(statSync(join(folder, 'src')).mode & 0o777, 0o700)
    assert.equal(statSync(join(folder, 'src/a.js')).mode & 0o777, 0o600)
    assertWhole(folder)
  })

  it.each([
    ['is missing', (file: string) => rmSync(file)],
    ['was cut short', (file: string) => truncateSync(file, 3)],
  ])('is unpacked again when a file %s', (_, damage) => {
    damage(join(unpackProgram(programThat(), cache), 'src/a.js'))

    assertWhole(unpackProgram(programThat(), cache))
    assert.equal(reads, 2)
  })

  it('is never run from what a process has left that was killed while it unpacked', () => {
    mkdirSync(join(cache, '1.0.0-abc.new-x'))

    const folder = unpackProgram(programThat(), cache)

    assert.equal(folder, join(cache, '1.0.0-abc'))
    assert.equal(readFileSync(join(folder, 'src/a.js'), 'utf8'), 'run()')
  })

  it.each([
    ['unpacks', () => {}],
    ['finds it unpacked', () => unpackProgram(programThat(), cache)],
  ])('is rid of what starts left that were killed an hour ago, when a start %s', (_, before) => {
    before()
    const anHourAgo = Date.now() / 1000 - 3_601
    for (const name of ['1.0.0-abc.new-x', '0.9.0-def.new-y', '1.0.0-abc.new-z-damaged']) {
      mkdirSync(join(cache, name, 'src'), { recursive: true })
      writeFileSync(join(cache, name, 'src/a.js'), 'ru')
      utimesSync(join(cache, name), anHourAgo, anHourAgo)
    }
    // Perhaps still being unpacked; and a version that may run.
    mkdirSync(join(cache, '1.0.0-abc.new-w'))
    mkdirSync(join(cache, '0.9.0-def'))
    utimesSync(join(cache, '0.9.0-def'), anHourAgo, anHourAgo)

    unpackProgram(programThat(), cache)

    assert.deepEqual(readdirSync(cache).toSorted(), ['0.9.0-def', '1.0.0-abc', '1.0.0-abc.new-w'])
  })

  it('is the one that another process has unpacked meanwhile', () => {
    let other = ''
    const slow = programThat(() => {
      if (other === '') {
        other = unpackProgram(programThat(), cache)
        writeFileSync(join(other, 'first'), '')
      }
    })

    const folder = unpackProgram(slow, cache)

    assert.equal(folder, other)
    assert.ok(existsSync(join(folder, 'first')))
    assertWhole(folder)
  })

  it('leaves nothing behind when it cannot be unpacked', () => {
    const broken = programThat(() => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    })

    assert.throws(() => unpackProgram(broken, cache), /cannot write there \(ENOSPC\)\. Free 20 MB there/)
    assert.deepEqual(readdirSync(cache), [])
  })
})
