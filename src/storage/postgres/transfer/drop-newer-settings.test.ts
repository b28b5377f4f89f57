import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { dropNewerSettings } from './drop-newer-settings.ts'

const HEAD = `--
-- PostgreSQL database dump
--

\\restrict 3Qx

SET statement_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);

`
// What is in a table may look like anything.
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

describe('what pg_restore writes for a server that is older than itself', () => {
  it('loses the settings that server does not know, wherever its pieces end', async () => {
    for (let pieceBytes = 1; pieceBytes <= HEAD.length + BODY.length; pieceBytes += 1)
      assert.equal(await passed(HEAD + BODY, { server: 16, pieceBytes }), WITHOUT)
  })

  it('is left as it is for a server that knows them', async () => {
    assert.equal(await passed(HEAD + BODY, { server: 17, pieceBytes: 7 }), HEAD + BODY)
  })

  it.each(['', HEAD.trimEnd(), 'SET a', BODY, 'x'.repeat(200_000)])('is whole when it is cut off', async (text) => {
    const expected = text.replace(/^SET transaction_timeout = 0;\n(?=SET client)/m, '')
    assert.equal(await passed(text, { server: 15, pieceBytes: 4_096 }), expected)
  })
})
