import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'
import { describe, it } from 'vitest'
import clientPackage from '../../client/package.json' with { type: 'json' }
import servicePackage from '../../package.json' with { type: 'json' }
import { ROOT } from '../../scripts/source-tree.ts'
import { compileIn, installClient } from '../support/client/install-client.ts'
import { startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'

const MOST_BYTES = 4096

const run = promisify(execFile)

function folderWithClient(): string {
  const folder = temporaryFolder()
  installClient(folder)
  return folder
}

/** The code that a program of these lines becomes, as small as bundlers make it. */
async function bundle(folder: string, lines: string) {
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
    const { code, imports } = await bundle(folderWithClient(), `export * from '@nuncio/client'`)

    assert.match(code, /chat\/api\/v1\/public\/message\/send/)
    assert.match(code, /createClient/)
    assert.ok(Buffer.byteLength(code) <= MOST_BYTES, `it has ${Buffer.byteLength(code)} bytes`)
    assert.deepEqual(imports, [])
  })

  it('leaves out what nobody uses', async () => {
    const folder = folderWithClient()

    const nothing = await bundle(folder, `import '@nuncio/client'\nimport { createClient } from '@nuncio/client'`)
    const refusal = await bundle(folder, `export { NuncioRefusal } from '@nuncio/client'`)

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

  it('does what its README shows', async () => {
    const folder = folderWithClient()
    const nuncio = await startNuncio()
    const readme = readFileSync(join(ROOT, 'client/README.md'), 'utf8')
    const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
    const files = examples.map((code, index) => {
      writeFileSync(join(folder, `example-${index}.ts`), code)
      return join(folder, `example-${index}.ts`)
    })

    compileIn(folder)
    const env = { ...process.env, API_URL: nuncio.url, API_TOKEN: nuncio.token }
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
