import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { temporaryFolder } from '../../test/support/journey/start-nuncio.ts'
import { loadSettings } from './load-settings.ts'

const URL = 'postgres://u:p@db/nuncio'
const before = process.cwd()

function load(bytes: string | Buffer): ReturnType<typeof loadSettings> {
  writeFileSync('.env', bytes)
  return loadSettings()
}

describe('the file .env', () => {
  beforeEach(() => process.chdir(temporaryFolder()))
  afterEach(() => process.chdir(before))

  it.each([
    ['with a byte order mark', `\ufeffNUNCIO_DATABASE_URL=${URL}\n`],
    ['with line ends of Windows', `# a comment\r\n\r\nNUNCIO_DATABASE_URL=${URL}\r\n`],
    ['with line ends of old editors', `# a comment\rNUNCIO_DATABASE_URL=${URL}`],
    ['in quotes, with a comment behind it', `NUNCIO_DATABASE_URL = "${URL}" # where it is`],
    ['as shells export it', `  export NUNCIO_DATABASE_URL='${URL}'`],
  ])('gives a setting %s', (_, text) => {
    const { settings, problems } = load(text)

    assert.deepEqual(problems, [])
    assert.equal(settings?.database.engine, 'postgres')
  })

  it.each([
    [
      'UTF-16',
      Buffer.from(`\ufeffNUNCIO_DATABASE_URL=${URL}`, 'utf16le'),
      /The file \.env is UTF-16 .* Save it as UTF-8\./,
    ],
    ['UTF-16 without a mark', Buffer.from('NUNCIO_PORT=9000', 'utf16le'), /The file \.env is UTF-16/],
    ['Latin-1', Buffer.from('NUNCIO_PORT=1\n# größer\n', 'latin1'), /The file \.env is not UTF-8 in line 2\. Save it/],
    [
      'a line without a value',
      `NUNCIO_PORT=1\n\nNUNCIO_DATABASE_URL ${URL}\n`,
      /Line 3 of the file \.env is no setting/,
    ],
    ['a line of words', 'set the port below', /Line 1 of the file \.env is no setting: write NAME=value/],
    [
      'an open quote',
      `NUNCIO_TOKEN="secret\nNUNCIO_DATABASE_URL="${URL}"`,
      /Line 1 of the file \.env has a quote that is not/,
    ],
    ['text behind a quote', 'NUNCIO_TOKEN="sec"ret', /Line 1 of the file \.env has a quote/],
  ])('is refused with its name and line when it holds %s', (_, bytes, sentence) => {
    const { settings, problems } = load(bytes)

    assert.equal(settings, null)
    assert.equal(problems.length, 1)
    assert.match(problems[0]?.sentence ?? '', sentence)
    assert.doesNotMatch(problems[0]?.sentence ?? '', /u:p|sec/)
  })
})
