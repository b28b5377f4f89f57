import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { readManifests } from '../support/deploy/read-manifests.ts'

// The types of all objects of Kubernetes, generated from its OpenAPI document. Too large for our dependencies.
const TYPES = 'kubernetes-models@5.1.0'
const FOLDER = join(ROOT, 'node_modules/.setup/kubernetes-models')

const obstacle = obstacleToTypes()

describe('the manifests for Kubernetes', () => {
  it.skipIf(obstacle !== null)(
    `have only fields that Kubernetes knows, with the right types${skipNote(obstacle)}`,
    () => {
      const lines = readManifests().map(({ file, manifest }, index) => {
        const type = `import('kubernetes-models/${manifest.apiVersion}/${manifest.kind}').I${manifest.kind}`
        return `// ${file}\nexport const object${index}: ${type} = ${JSON.stringify(manifest, null, 2)}\n`
      })
      writeFileSync(join(FOLDER, 'manifests.ts'), lines.join('\n'))

      const { status, stdout } = compile('manifests.ts')

      assert.equal(status, 0, stdout)
    },
  )

  it.skipIf(obstacle !== null)(`would be refused with a misspelt field${skipNote(obstacle)}`, () => {
    writeFileSync(
      join(FOLDER, 'misspelt.ts'),
      `export const object: import('kubernetes-models/v1/Pod').IPod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'a', imag: 'b' }] } }`,
    )

    const { stdout } = compile('misspelt.ts')

    assert.match(stdout, /'imag' does not exist/)
  })
})

function obstacleToTypes(): string | null {
  if (existsSync(join(FOLDER, 'node_modules/kubernetes-models'))) return null
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{"type":"module"}')
  const flags = ['--prefix', FOLDER, '--no-save', '--no-audit', '--ignore-scripts']
  const { status } = spawnSync('npm', ['install', ...flags, TYPES], { stdio: 'ignore', cwd: FOLDER })
  return status === 0 ? null : `npm could not install ${TYPES}`
}

function compile(file: string) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'esnext',
    '--module',
    'nodenext',
    '--ignoreConfig',
  ]
  return spawnSync(process.execPath, [tsc, ...flags, file], { cwd: FOLDER, encoding: 'utf8' })
}
