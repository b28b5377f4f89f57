import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, chownSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import packageFile from '../../package.json' with { type: 'json' }
import { findFreePort } from '../support/black-box/free-port.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { fetchText, proveProgram, proveSeveralProcesses } from '../support/deploy/prove-program.ts'
import { type Container, type PodSpec, readManifests } from '../support/deploy/read-manifests.ts'
import { ContainerStore, whyNoContainers } from '../support/packages/container-store.ts'
import { withClient } from '../support/postgres/postgres-server.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

const IMAGE = `localhost/nuncio:${packageFile.version}`
const MOST_BYTES = 165_000_000
const DEADLINE = { deadlineMs: 60_000 }
// The options with which compose.yaml and the manifests for Kubernetes run it.
const HARDENED = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

const obstacle = whyNoContainers()
let store: ContainerStore
let folder = ''
let archive = ''
/** Runs the image like the program itself, in the current folder. */
let program: readonly string[]

describe.skipIf(obstacle !== null)(`the container image${skipNote(obstacle)}`, () => {
  beforeAll(() => {
    store = new ContainerStore()
    folder = mkdtempSync(join(tmpdir(), 'nuncio-image-'))
    archive = store.buildImage(folder)
    const settings = Object.entries(store.environment).map(([name, value]) => `${name}=${value}`)
    const run = `podman run --rm ${HARDENED.join(' ')} --env 'NUNCIO_*' --volume "$PWD:$PWD"`
    program = ['env', ...settings, 'sh', '-c', `chown 1000 . && exec ${run} ${IMAGE} "$@"`, 'nuncio']
  })

  afterAll(() => {
    store?.removeContainers()
    rmSync(folder, { recursive: true, force: true })
  })

  it('contains Node, its libraries and the service, and no tools to build or break in with', () => {
    const size = Number(store.podman('image', 'inspect', '--format', '{{.Size}}', IMAGE))
    const files = listFiles()

    assert.ok(size <= MOST_BYTES, `it has ${size} bytes`)
    assert.match(store.podman('load', '--quiet', '--input', archive), /nuncio:/)
    assert.deepEqual(
      files.filter((file) => /^(usr\/)?s?bin\/|^usr\/local\/bin\//.test(file)),
      ['usr/bin/env', 'usr/local/bin/node', 'usr/local/bin/nuncio'],
    )
    assert.deepEqual(
      files.filter((file) => /(^|\/)(node_modules|npm)\/|\.test\.|\.ts$/.test(file)),
      [],
    )
  })

  it('serves, delivers, backs up, restores, and keeps its data over an upgrade, on a read-only file system', async () => {
    await proveProgram(program, async () => {})
  })

  it('serves with several processes on PostgreSQL', async () => {
    await proveSeveralProcesses(program)
  })

  it('runs as an unprivileged user, accepts commands by docker exec, and keeps its data in a private volume', async () => {
    const container = await startContainer('--volume', 'kept:/data')
    const token = ['token', 'create', '--name', 'shop', '--event', 'messaging.send_message', '--expires', '7d']

    assert.equal(container.exec('node', '-p', 'process.getuid() + " " + process.getgid()'), '1000 1000')
    assert.equal(container.exec('node', '-p', 'fs.statSync("/data").mode.toString(8)'), '40700')
    container.exec('nuncio', ...token)
    assert.doesNotMatch(container.log(), /nk_|npm run|setup-link\//)
    store.podman('stop', container.id)
    assert.equal(store.podman('inspect', '--format', '{{.State.ExitCode}}', container.id), '0')
    store.podman('rm', container.id)

    const next = await startContainer('--volume', 'kept:/data')

    assert.match(next.exec('nuncio', 'token', 'list'), /shop/)
    assert.match(next.exec('nuncio', 'doctor', '--offline'), /\nok +data folder/)
  })

  it('migrates as the owner, reads the key ring from a Secret, and serves with fewer rights', async () => {
    const { url, ownerUrl } = await openOwnedDatabase()
    const volumes = makeVolumes({ url, 'owner-url': ownerUrl })
    const [migrate] = podOf('migrate.yaml').containers
    const { initContainers: [keyRing] = [], containers } = podOf('postgresql.yaml')
    const [service] = containers
    assert.ok(migrate && keyRing && service)

    runToEnd(migrate, volumes)
    runToEnd(keyRing, volumes)
    const { exec } = await startContainer(...optionsOf(service, volumes))

    assert.match(exec('nuncio', 'doctor', '--offline'), /\nok +key ring/)
  })

  it('is healthy while it can accept messages, and unhealthy when it cannot', async () => {
    const database = await openTestDatabase()
    onTestFinished(() => database.drop())
    const { id } = await startContainer('--env', `NUNCIO_DATABASE_URL=${database.url}`)
    const isHealthy = () => store.tryPodman('healthcheck', 'run', id).code === 0

    assert.equal(isHealthy(), true)
    await database.drop()

    await waitUntil('it is unhealthy', async () => !isHealthy(), DEADLINE)
  })

  it('says in one sentence that its data folder cannot be written to', () => {
    const foreign = join(folder, 'foreign')
    mkdirSync(foreign)

    assert.match(refusal('--volume', `${foreign}:/data`), /^nuncio: .*\/data.*belongs to/)
  })

  it('says in one sentence that it has no volume, if its file system is read-only', () => {
    assert.match(refusal('--read-only', '--image-volume', 'ignore'), /^nuncio: .*\/data.*mounted read-only/)
  })

  it('says in one sentence that another program listens on the port', async () => {
    const other = createServer().listen(0, '0.0.0.0')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as { readonly port: number }

    assert.match(refusal('--env', `NUNCIO_PORT=${port}`), new RegExp(`^nuncio: .*:${port} already`))
  })
})

function listFiles(): readonly string[] {
  const folder = store.podman('image', 'mount', IMAGE)
  const entries = globSync('**', { cwd: folder, withFileTypes: true }).filter((entry) => !entry.isDirectory())
  const files = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted()
  store.podman('image', 'unmount', IMAGE)
  return files
}

async function startContainer(...options: readonly string[]) {
  const port = await findFreePort()
  const id = store.podman(
    ...['run', '--detach', ...HARDENED, '--env', `NUNCIO_PORT=${port}`, '--env', 'NUNCIO_HOST=127.0.0.1'],
    ...options,
    IMAGE,
  )
  onTestFinished(() => void store.tryPodman('rm', '--force', '--time', '0', id))
  const container = {
    id,
    exec: (...command: readonly string[]) => store.podman('exec', id, ...command),
    log: () => store.podman('logs', id),
  }
  await waitUntil(
    'the service is ready',
    () => fetchText(`http://127.0.0.1:${port}/health/ready`).catch(() => null),
    DEADLINE,
  )
  return container
}

/** The only sentence of a container that does not start. */
function refusal(...options: readonly string[]): string {
  const { code, stdout, stderr } = store.tryPodman('run', '--rm', ...options, IMAGE)
  const [sentence = '', ...more] = stderr.trimEnd().split('\n')
  assert.deepEqual([code, stdout, more], [1, '', []], stderr)
  return sentence
}

/** A database with an owner and another role that uses it, as the documents advise. */
async function openOwnedDatabase(): Promise<{ readonly url: string; readonly ownerUrl: string }> {
  const database = await openTestDatabase()
  const role = `${database.name}_service`
  await withClient(database.url, (client) => client.query(`create role ${role} login password 'service'`))
  onTestFinished(async () => {
    const server = await openTestDatabase()
    await database.drop()
    await withClient(server.url, (client) => client.query(`drop role ${role}`))
    await server.drop()
  })
  const url = new URL(database.url)
  url.username = role
  url.password = 'service'
  return { url: url.href, ownerUrl: database.url }
}

/** The pod of the only StatefulSet or Job in a file of deploy/kubernetes. */
function podOf(name: string): PodSpec {
  const pods = readManifests().flatMap(({ file, manifest }) =>
    file.endsWith(`/${name}`) && manifest.spec.template ? [manifest.spec.template.spec] : [],
  )
  assert.equal(pods.length, 1)
  return pods[0] as PodSpec
}

/** Folders for the volumes of the manifests, with the owners that Kubernetes sets. Returns the folder around them. */
function makeVolumes(database: Readonly<Record<string, string>>): string {
  const volumes = mkdtempSync(join(folder, 'volumes-'))
  for (const name of ['data', 'database', 'key-ring']) mkdirSync(join(volumes, name))
  chownSync(join(volumes, 'data'), 0, 1000)
  chmodSync(join(volumes, 'data'), 0o2770)
  for (const [name, url] of Object.entries(database)) writeFileSync(join(volumes, 'database', name), url)
  const ring = join(volumes, 'ring')
  mkdirSync(ring)
  chownSync(ring, 1000, 1000)
  for (const command of ['migrate', 'secrets list'])
    store.podman('run', '--rm', '--volume', `${ring}:/data`, IMAGE, ...command.split(' '))
  writeFileSync(join(volumes, 'key-ring/key-ring.json'), readFileSync(join(ring, 'keys/key-ring.json')))
  return volumes
}

function optionsOf({ env = [], volumeMounts = [] }: Container, volumes: string): readonly string[] {
  const mounts = volumeMounts.filter(({ mountPath }) => mountPath !== '/tmp')
  return [
    ...env.flatMap(({ name, value }) => ['--env', `${name}=${value}`]),
    ...mounts.flatMap(({ name, mountPath }) => ['--volume', `${join(volumes, name)}:${mountPath}`]),
  ]
}

/** Runs a container of a manifest that does one thing and ends. */
function runToEnd(container: Container, volumes: string): void {
  const [entrypoint, ...command] = container.command ?? []
  const options = [...HARDENED, ...optionsOf(container, volumes), ...(entrypoint ? ['--entrypoint', entrypoint] : [])]
  store.podman('run', '--rm', ...options, IMAGE, ...command, ...(container.args ?? []))
}
