import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../test/support/journey/start-nuncio.ts'
import { Key } from './key.ts'
import { KeyRingFile } from './key-ring-file.ts'

const NOW = Date.UTC(2026, 0, 15, 12)

function madeFile(): KeyRingFile {
  const file = new KeyRingFile(join(temporaryFolder(), 'keys', 'key-ring.json'))
  file.make(NOW)
  return file
}

describe('the file of the key ring', () => {
  it('is made with one key, for nobody but us', () => {
    const file = madeFile()
    const { keys, sealsWith, since } = file.read()

    assert.deepEqual([keys.length, sealsWith, since], [1, keys[0], NOW])
    assert.equal(statSync(file.place).mode & 0o777, 0o600)
    assert.equal(statSync(join(file.place, '..')).mode & 0o777, 0o700)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is not made where there is one', () => {
    const file = madeFile()
    const before = readFileSync(file.place, 'utf8')
    file.make(NOW + 1)

    assert.equal(readFileSync(file.place, 'utf8'), before)
  })

  it('is one and the same for processes that make it together', async () => {
    const path = join(temporaryFolder(), 'keys', 'key-ring.json')
    const script = `const { KeyRingFile } = await import(${JSON.stringify(new URL('./key-ring-file.ts', import.meta.url).href)});
      const file = new KeyRingFile(process.argv[1]); while (Date.now() < Number(process.argv[2]));
      file.make(Date.now()); process.stdout.write(file.read().sealsWith.id)`
    const together = String(Date.now() + 1_500)
    const args = ['--input-type=module', '-e', script, path, together]
    const said = await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args)))

    assert.equal(new Set(said.map(({ stdout }) => stdout)).size, 1)
    assert.deepEqual(readdirSync(join(path, '..')), ['key-ring.json'])
  })

  it.each([0o640, 0o604, 0o660, 0o644])('is refused when others may read or write it: %o', (mode) => {
    const file = madeFile()
    chmodSync(file.place, mode)

    assert.throws(() => file.read(), { code: 'key_ring_unusable', message: /: chmod 600 \/.*key-ring\.json$/ })
  })

  it.each([
    ['empty', () => ''],
    ['cut short', (text: string) => text.slice(0, -20)],
    ['of something else', () => '{"some":"thing"}'],
    ['no object', () => 'null'],
    ['without keys', (text: string) => JSON.stringify({ ...JSON.parse(text), keys: [] })],
    ['with a broken key', (text: string) => text.replace(/"key": "..../, '"key": "AAAA')],
    ['with a short key', (text: string) => text.replace(/"key": "......../, '"key": "')],
    ['with a key under another id', (text: string) => text.replaceAll(/k[0-9a-f]{8}/g, 'k00000000')],
    [
      'that seals with none of its keys',
      (text: string) => text.replace(/"sealsWith": "k........"/, '"sealsWith": "k0"'),
    ],
  ])('is refused when it is %s', (_, spoil) => {
    const file = madeFile()
    const [, key = ''] = /"key": "(.*)"/.exec(readFileSync(file.place, 'utf8')) ?? []
    writeFileSync(file.place, spoil(readFileSync(file.place, 'utf8')))

    assert.throws(
      () => file.read(),
      (error: Error & { code: string }) =>
        error.code === 'key_ring_unusable' && /is damaged.*backup/.test(error.message) && !error.message.includes(key),
    )
  })

  it('is refused when it is gone', () => {
    assert.throws(() => new KeyRingFile(join(temporaryFolder(), 'none')).read(), { code: 'key_ring_unusable' })
  })

  it('keeps its rights and all keys when one is added', () => {
    const file = madeFile()
    const [key, before] = [Key.make(NOW), file.read()]
    file.change((found) => ({ ...found, keys: [...found.keys, key] }), NOW)
    const after = file.read()

    assert.deepEqual(
      after.keys.map(({ id }) => id),
      [before.sealsWith.id, key.id],
    )
    assert.equal(after.sealsWith.id, before.sealsWith.id)
    assert.equal(statSync(file.place).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is as it was after a change that failed', () => {
    const file = madeFile()
    const before = readFileSync(file.place, 'utf8')
    const fail = () => {
      throw new Error('no')
    }

    assert.throws(() => file.change(fail, NOW))
    assert.equal(readFileSync(file.place, 'utf8'), before)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is changed by one at a time, and by nobody for long who was killed in between', () => {
    const file = madeFile()
    const half = `${file.place}.new`
    writeFileSync(half, 'half')
    const add = () => file.change((found) => ({ ...found, keys: [...found.keys, Key.make(NOW)] }), Date.now())

    assert.throws(add, { code: 'key_ring_unusable', message: /Another process is changing/ })
    const longAgo = new Date(Date.now() - 61_000)
    utimesSync(half, longAgo, longAgo)
    add()
    assert.equal(file.read().keys.length, 2)
    assert.ok(!existsSync(half))
  })
})
