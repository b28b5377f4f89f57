import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, describe, it } from 'vitest'
import clientPackage from '../../client/package.json' with { type: 'json' }
import servicePackage from '../../package.json' with { type: 'json' }
import { ROOT } from '../../scripts/source-tree.ts'
import { compileIn, installClient } from '../support/client/install-client.ts'
import { SENDER, startNuncio } from '../support/journey/start-nuncio.ts'

const MOST_BYTES = 4096

const run = promisify(execFile)

/** A project with the client installed. */
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-client-'))
  installClient(folder)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The minified bundle of a program with these lines. */
async function bundle(lines: string) {
  writeFileSync(join(folder, 'program.js'), lines)
  const built = await build({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      rolldownOptions: { input: join(folder, 'program.js'), preserveEntrySignatures: 'strict' },
    },
  })
  assert.ok('output' in built)
  const [{ code, imports, dynamicImports }] = built.output
  return { code, imports: [...imports, ...dynamicImports] }
}

describe('the package of the client', () => {
  it('has at most 4 KB, and imports nothing', async () => {
    const { code, imports } = await bundle(`export * from '@nuncio/client'`)

    assert.match(code, /chat\/api\/v1\/public\/message\/send/)
    assert.match(code, /createClient/)
    assert.ok(Buffer.byteLength(code) <= MOST_BYTES, `it has ${Buffer.byteLength(code)} bytes`)
    assert.deepEqual(imports, [])
  })

  it('tree-shakes unused exports', async () => {
    const nothing = await bundle(`import '@nuncio/client'\nimport { createClient } from '@nuncio/client'`)
    const refusal = await bundle(`export { NuncioRefusal } from '@nuncio/client'`)

    assert.equal(nothing.code.trim(), '')
    assert.match(refusal.code, /isRetryable/)
    assert.doesNotMatch(refusal.code, /fetch|NuncioUnreachable/)
  })

  it('depends on nothing, and has the version of the service', () => {
    assert.deepEqual(
      Object.keys(clientPackage).filter((key) => /dependencies/i.test(key)),
      [],
    )
    assert.equal(clientPackage.version, servicePackage.version)
    assert.equal(clientPackage.license, servicePackage.license)
  })

  it('contains its code, types, README and licence, and valid links', () => {
    const home = join(folder, 'node_modules/@nuncio/client')
    const files = readdirSync(home, { recursive: true, encoding: 'utf8' })
    const readme = readFileSync(join(home, 'README.md'), 'utf8')

    assert.deepEqual(files.filter((file) => !file.startsWith('dist')).toSorted(), [
      'LICENSE',
      'README.md',
      'package.json',
    ])
    for (const file of Object.values(clientPackage.exports['.'])) assert.ok(files.includes(join(file)), file)
    assert.equal(readFileSync(join(home, 'LICENSE'), 'utf8'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
    assert.deepEqual(
      [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link),
      [],
    )
  })

  it('can be imported from JavaScript, and sends', async () => {
    const nuncio = await startNuncio()
    writeFileSync(
      join(folder, 'send.js'),
      `import { createClient } from '@nuncio/client'
const client = createClient({ url: process.env.API_URL, token: process.env.NUNCIO_TOKEN })
const { messageId } = await client.send({ from: '${SENDER}', to: '15551234567', text: 'Hello' })
console.log(messageId)`,
    )

    const env = { ...process.env, API_URL: nuncio.url, NUNCIO_TOKEN: nuncio.token }
    const { stdout } = await run(process.execPath, [join(folder, 'send.js')], { env })

    await nuncio.reaches(stdout.trim(), 'PUBLISHED', 'DELIVERED', 'READ')
  })

  it('does what its README shows', async () => {
    const nuncio = await startNuncio()
    const readme = readFileSync(join(ROOT, 'client/README.md'), 'utf8')
    const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
    const files = examples.map((code, index) => {
      writeFileSync(join(folder, `example-${index}.ts`), code)
      return join(folder, `example-${index}.ts`)
    })

    compileIn(folder)
    const env = { ...process.env, API_URL: nuncio.url, NUNCIO_TOKEN: nuncio.token }
    const results = []
    for (const file of files) results.push(await run(process.execPath, [file], { env }))

    assert.equal(results.length, 2)
    assert.match(results[0]?.stdout ?? '', /^[0-9a-f-]{36} QUEUED\n$/)
    assert.deepEqual(
      results.map(({ stderr }) => stderr),
      ['', ''],
    )
  })
})
