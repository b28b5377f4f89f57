import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
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
  it('is made with one key, readable by its owner only', () => {
    const file = madeFile()
    const { keys, sealsWith, since } = file.read()

    assert.deepEqual([keys.length, sealsWith, since], [1, keys[0], NOW])
    assert.equal(statSync(file.place).mode & 0o777, 0o600)
    assert.equal(statSync(join(file.place, '..')).mode & 0o777, 0o700)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is read with a byte order mark before it, as some editors put one', () => {
    const file = madeFile()
    const { sealsWith } = file.read()
    writeFileSync(file.place, `\ufeff${readFileSync(file.place, 'utf8')}`)

    assert.equal(file.read().sealsWith.id, sealsWith.id)
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

  it('keeps its permissions and all keys when one is added', () => {
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

  it('is unchanged after a change that failed', () => {
    const file = madeFile()
    const before = readFileSync(file.place, 'utf8')
    const fail = () => {
      throw new Error('no')
    }

    assert.throws(() => file.change(fail, NOW))
    assert.equal(readFileSync(file.place, 'utf8'), before)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is changed by one process at a time, and a killed one blocks others only briefly', () => {
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

  it('is never replaced by the empty file of a process that considered a slow one dead', () => {
    const file = madeFile()
    const [half, before] = [`${file.place}.new`, readFileSync(file.place, 'utf8')]
    const slow = () =>
      file.change((found) => {
        // This one was suspended for more than a minute, and the other one has just begun.
        rmSync(half)
        writeFileSync(half, '')
        return { ...found, keys: [...found.keys, Key.make(NOW)] }
      }, NOW)

    assert.throws(slow, { code: 'key_ring_unusable', message: /Another process is changing/ })
    assert.equal(readFileSync(file.place, 'utf8'), before)
    assert.deepEqual(readdirSync(join(half, '..')), ['key-ring.json', 'key-ring.json.new'])
  })

  it('keeps the change of another process that considered a slow one dead', () => {
    const file = madeFile()
    const [ofSlow, ofFast] = [Key.make(NOW), Key.make(NOW)]
    const slow = () =>
      file.change((found) => {
        const longAgo = new Date(Date.now() - 61_000)
        utimesSync(`${file.place}.new`, longAgo, longAgo)
        file.change((foundToo) => ({ ...foundToo, keys: [...foundToo.keys, ofFast] }), Date.now())
        return { ...found, keys: [...found.keys, ofSlow] }
      }, Date.now())

    assert.throws(slow, { code: 'key_ring_unusable', message: /Another process is changing/ })
    const ids = file.read().keys.map(({ id }) => id)
    assert.deepEqual([ids.length, ids.includes(ofFast.id)], [2, true])
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is never replaced by an unreadable one', () => {
    const file = madeFile()
    const before = readFileSync(file.place, 'utf8')

    assert.throws(() => file.change((found) => ({ ...found, since: Number.MAX_SAFE_INTEGER, keys: [] }), NOW))
    assert.throws(() => file.change((found) => ({ ...found, keys: [] }), NOW), { code: 'key_ring_unusable' })
    assert.equal(readFileSync(file.place, 'utf8'), before)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })

  it('is changed, and kept whole, when several clear the same leftover at once', async () => {
    const file = madeFile()
    const half = `${file.place}.new`
    writeFileSync(half, 'half')
    const longAgo = new Date(Date.now() - 61_000)
    utimesSync(half, longAgo, longAgo)
    const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
    const script = `const { KeyRingFile } = await import(${url('./key-ring-file.ts')});
      const { Key } = await import(${url('./key.ts')});
      const file = new KeyRingFile(process.argv[1]); while (Date.now() < Number(process.argv[2]));
      try { file.change((found) => ({ ...found, keys: [...found.keys, Key.make(Date.now())] }), Date.now()); process.stdout.write('changed') }
      catch (error) { process.stdout.write(String(error.code)) }`
    const args = ['--input-type=module', '-e', script, file.place, String(Date.now() + 1_500)]
    const said = await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args)))

    const changed = said.filter(({ stdout }) => stdout === 'changed').length
    assert.equal(said.filter(({ stdout }) => stdout === 'key_ring_unusable').length, 4 - changed)
    assert.equal(file.read().keys.length, 1 + changed)
    assert.deepEqual(readdirSync(join(file.place, '..')), ['key-ring.json'])
  })
})
