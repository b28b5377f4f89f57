import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'vitest'
import { SNIPPETS } from '../../console/features/quickstart/snippets.ts'

const ENDPOINT = 'http://127.0.0.1:9/chat'
const AWKWARD = `it's "quoted" \\ $HOME \`id\` \${x}\nsecond line ü 🙂`
const BODY = { from: '15550001000', to: '15551234567', message: { type: 'message', message: AWKWARD } }

describe('the snippets of the quickstart', () => {
  it('give a shell the body as it is, whatever stands in it', () => {
    const script = SNIPPETS.curl.write(ENDPOINT, BODY).replace(/^curl/, 'printf "%s\\0"')

    const given = execFileSync('sh', ['-c', script], { env: { NUNCIO_TOKEN: 'nco_1' } })
      .toString()
      .split('\0')

    assert.deepEqual(JSON.parse(given[6] ?? ''), BODY)
    assert.equal(given[2], 'x-api-key: nco_1')
  })

  it('give Node the body as it is', () => {
    const body = /body: JSON\.stringify\(([\s\S]*)\),\n\}\)/.exec(SNIPPETS.node.write(ENDPOINT, BODY))?.[1]

    const script = `console.log(JSON.stringify(${body}))`
    const given = execFileSync(process.execPath, ['-e', script]).toString()

    assert.deepEqual(JSON.parse(given), BODY)
  })

  it('write PHP in which nothing but the quote and the backslash means anything', () => {
    const code = SNIPPETS.php.write(ENDPOINT, { text: `it's \\ $x` })

    assert.match(code, /'text' => 'it\\'s \\\\ \$x',/)
  })

  it('never show a token', () => {
    for (const { write } of Object.values(SNIPPETS)) assert.match(write(ENDPOINT, BODY), /NUNCIO_TOKEN/)
  })
})
