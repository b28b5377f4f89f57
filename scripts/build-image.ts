import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import packageFile from '../package.json' with { type: 'json' }
import { ROOT } from './source-tree.ts'

/** `npm run build:image -- --out FOLDER`: the container image, as a file that `docker load` and `skopeo` read. */
const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'release') } } })
const image = `nuncio:${packageFile.version}`
const archive = join(resolve(values.out), `nuncio-${packageFile.version}-linux-${process.arch}-image.tar`)

// The other format, OCI, has no health check.
buildah('build', '--format', 'docker', '--file', 'deploy/docker/Dockerfile', '--tag', image, '.')
buildah('push', image, `docker-archive:${archive}:${image}`)
console.log(archive)

function buildah(...args: readonly string[]): void {
  const { status, error } = spawnSync('buildah', args, { cwd: ROOT, stdio: ['ignore', 2, 2] })
  if (error !== undefined)
    console.error(`build:image: buildah is needed (on Debian: apt-get install buildah): ${error.message}`)
  if (status !== 0) process.exit(1)
}
