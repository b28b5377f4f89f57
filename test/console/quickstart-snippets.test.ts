import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, it } from 'vitest'
import { bodyOf, faultsOf, tokenFault } from '../../console/features/quickstart/draft.ts'
import { environmentFile, SNIPPETS } from '../../console/features/quickstart/snippets.ts'
import { ROOT } from '../../scripts/source-tree.ts'
import { createToken } from '../../src/core/token/token-format.ts'

const ENDPOINT = 'http://127.0.0.1:9/chat'
const SEND_PATH = '/chat/api/v1/public/message/send'
const AWKWARD = `it's "quoted" \\ $HOME \`id\` \${x}\nsecond line ü 🙂`
const BODY = { from: '15550001000', to: '15551234567', message: { type: 'message', message: AWKWARD } }

describe('the token of the quickstart', () => {
  it('is called cut off if only its beginning was pasted', () => {
    const token = createToken((count) => new Uint8Array(count))

    assert.equal(tokenFault(token), null)
    assert.match(tokenFault(token.slice(0, -1)) ?? '', /^This is only the beginning/)
    assert.match(tokenFault('') ?? '', /^Paste a token/)
  })
})

describe('the snippets of the quickstart', () => {
  it('pass any body unchanged through a shell', () => {
    const script = SNIPPETS.curl.write(ENDPOINT, BODY).replace(/^curl/, 'printf "%s\\0"')

    const given = execFileSync('sh', ['-c', script], { env: { NUNCIO_TOKEN: 'nco_1' } })
      .toString()
      .split('\0')

    assert.deepEqual(JSON.parse(given[6] ?? ''), BODY)
    assert.equal(given[2], 'x-api-key: nco_1')
  })

  it('pass any body unchanged to Node', () => {
    const body = /body: JSON\.stringify\(([\s\S]*)\),\n\}\)/.exec(SNIPPETS.node.write(ENDPOINT, BODY))?.[1]

    const script = `console.log(JSON.stringify(${body}))`
    const given = execFileSync(process.execPath, ['-e', script]).toString()

    assert.deepEqual(JSON.parse(given), BODY)
  })

  it('write PHP strings in which only the quote and the backslash are special', () => {
    const code = SNIPPETS.php.write(ENDPOINT, { text: `it's \\ $x` })

    assert.match(code, /'text' => 'it\\'s \\\\ \$x',/)
  })

  it('show only a token that they are given', () => {
    for (const { write } of Object.values(SNIPPETS)) {
      assert.match(write(ENDPOINT, BODY), /NUNCIO_TOKEN/)
      assert.doesNotMatch(write(ENDPOINT, BODY, 'nco_1'), /NUNCIO_TOKEN/)
      assert.match(write(ENDPOINT, BODY, 'nco_1'), /nco_1/)
    }
  })
})

describe('the file of the environment of a new token', () => {
  it('contains what the examples of the documents read', () => {
    const example = readFileSync(join(ROOT, 'docs/examples/send.py'), 'utf8')
    const endpoint = `https://chat.example.com/below${SEND_PATH}`

    const values = parseEnv(environmentFile('nco_1', endpoint))

    assert.deepEqual(values, { API_URL: 'https://chat.example.com/below', NUNCIO_TOKEN: 'nco_1' })
    for (const name of Object.keys(values)) assert.match(example, new RegExp(`environ\\["${name}"\\]`))
    assert.ok(example.includes(SEND_PATH))
  })
})

describe('the body of a call', () => {
  const draft = { from: '1', to: '+49 170 1234501', text: 'Hi', url: 'u', name: 'n', caption: '' }

  it('has the fields of its type, and the number in the form that the endpoint accepts', () => {
    assert.deepEqual(bodyOf('message', draft), {
      ...{ from: '1', to: '491701234501' },
      message: { type: 'message', message: 'Hi' },
    })
  })

  it.each([
    ['image', 'c', { name: 'n', url: 'u', caption: 'c' }],
    ['image', '', { name: 'n', url: 'u' }],
    ['audio', 'c', { name: 'n', url: 'u' }],
  ] as const)('of %s has a caption only where there is one: "%s"', (type, caption, media) => {
    assert.deepEqual(bodyOf(type, { ...draft, caption }), {
      ...{ from: '1', to: '491701234501' },
      message: { type, media },
    })
  })

  it('is checked by the rules of the endpoint, all fields at once', () => {
    const fields = (text: string) => faultsOf(bodyOf('message', { ...draft, text })).map(({ field }) => field)

    assert.deepEqual(fields(''), ['from', 'message.message'])
    assert.deepEqual(fields('Hi'), ['from'])
  })
})
