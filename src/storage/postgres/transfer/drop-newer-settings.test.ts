import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { dropNewerSettings } from './restore-dump.ts'

const HEAD = `--
-- PostgreSQL database dump
--

\\restrict 3Qx

SET statement_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);

`
// Table data may contain any line.
const BODY = `CREATE TABLE a (b text);
COPY a (b) FROM stdin;
SET transaction_timeout = 0;
Grüße
\\.
`
const WITHOUT = HEAD.replace('SET transaction_timeout = 0;\n', '') + BODY

async function passed(text: string, { server, pieceBytes }: { server: number; pieceBytes: number }): Promise<string> {
  const bytes = Buffer.from(text)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const out: Buffer[] = []
  for await (const piece of dropNewerSettings(pieces(), server)) out.push(piece)
  return Buffer.concat(out).toString()
}

describe('the output of pg_restore for an older server', () => {
  it('loses the settings that the server does not know, however it is cut into pieces', async () => {
    for (let pieceBytes = 1; pieceBytes <= HEAD.length + BODY.length; pieceBytes += 1)
      assert.equal(await passed(HEAD + BODY, { server: 16, pieceBytes }), WITHOUT)
  })

  it('is unchanged for a server that knows them', async () => {
    assert.equal(await passed(HEAD + BODY, { server: 17, pieceBytes: 7 }), HEAD + BODY)
  })

  it.each(['', HEAD.trimEnd(), 'SET a', BODY, 'x'.repeat(200_000)])(
    'is passed on completely when it ends early',
    async (text) => {
      const expected = text.replace(/^SET transaction_timeout = 0;\n(?=SET client)/m, '')
      assert.equal(await passed(text, { server: 15, pieceBytes: 4_096 }), expected)
    },
  )
})
