import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../test/support/journey/start-nuncio.ts'
import { openEnvironment } from './environment.ts'

describe('a file that a command is given', () => {
  it('is read without a byte order mark, and refused by name in another encoding', async () => {
    const { readFile } = openEnvironment('')
    const path = join(temporaryFolder(), 'numbers.csv')

    writeFileSync(path, '\ufeff15551234567\n')
    assert.equal(await readFile(path), '15551234567\n')
    writeFileSync(path, Buffer.from('15551234567\n', 'utf16le'))
    await assert.rejects(readFile(path), { code: 'argument_invalid', message: /^The file \/.*numbers\.csv is UTF-16/ })
  })
})
