import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import packageFile from '../../package.json' with { type: 'json' }
import { SETTINGS } from '../../src/config/settings.ts'
import { type PodSpec, readManifests } from '../support/deploy/read-manifests.ts'

const MANIFESTS = readManifests()
const PODS = MANIFESTS.flatMap(({ file, manifest }) => {
  const { template } = manifest.spec
  return template ? [{ name: `${manifest.kind} of ${file}`, manifest, pod: template.spec }] : []
})

function containersOf({ initContainers = [], containers }: PodSpec) {
  return [...initContainers, ...containers]
}

describe.each(PODS)('the $name', ({ manifest, pod }) => {
  it('runs this version as an unprivileged user on a read-only file system', () => {
    const { runAsNonRoot, runAsUser, fsGroup } = pod.securityContext as Record<string, unknown>

    assert.deepEqual([runAsNonRoot, runAsUser, fsGroup, pod.automountServiceAccountToken], [true, 1000, 1000, false])
    for (const { image, securityContext } of containersOf(pod)) {
      assert.equal(image, `nuncio:${packageFile.version}`)
      assert.deepEqual(securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('names existing settings, and gets none from Kubernetes itself', () => {
    const known = Object.values(SETTINGS).flatMap(({ name }) => [name as string, `${name}_FILE`])
    const named = containersOf(pod).flatMap(({ env = [] }) => env.map(({ name }) => name))

    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
    )
    assert.equal(pod.enableServiceLinks, false)
  })

  it('mounts existing volumes, and has all files that its settings name', () => {
    const claims = (manifest.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name)
    const volumes = [...claims, ...(pod.volumes ?? []).map(({ name }) => name)]
    for (const { volumeMounts = [], env = [] } of containersOf(pod)) {
      const places = volumeMounts.map(({ mountPath }) => mountPath)
      const paths = env.map(({ value }) => value).filter((value) => value.startsWith('/'))

      assert.deepEqual(
        volumeMounts.filter(({ name }) => !volumes.includes(name)),
        [],
      )
      assert.ok(places.includes('/tmp') || env.length === 0)
      assert.deepEqual(
        paths.filter((path) => !places.some((place) => path.startsWith(`${place}/`))),
        [],
      )
    }
  })
})

describe.each(PODS.filter(({ manifest }) => manifest.kind === 'StatefulSet'))(
  'the service in the $name',
  ({ manifest, pod }) => {
    const [service] = pod.containers

    it('is asked at the paths and the port at which it answers about its health', () => {
      const [port] = service?.ports ?? []

      assert.equal(String(port?.containerPort), SETTINGS.port.default)
      for (const [probe, path] of [
        [service?.startupProbe, '/health/live'],
        [service?.livenessProbe, '/health/live'],
        [service?.readinessProbe, '/health/ready'],
      ] as const)
        assert.deepEqual(probe?.httpGet, { path, port: port?.name })
    })

    it('is selected by its Service, and by its disruption budget if it has one', () => {
      const labels = manifest.spec.template?.metadata?.labels

      assert.deepEqual(manifest.spec.selector?.matchLabels, labels)
      for (const { manifest: other } of MANIFESTS) {
        if (other.kind === 'Service') assert.deepEqual(other.spec.selector, labels)
        if (other.kind === 'PodDisruptionBudget') assert.deepEqual(other.spec.selector?.matchLabels, labels)
      }
    })

    it('has several processes only on PostgreSQL', () => {
      const hasPostgres = service?.env?.some(({ name }) => name.startsWith('NUNCIO_DATABASE_URL')) ?? false

      assert.equal((manifest.spec.replicas ?? 0) > 1, hasPostgres)
    })
  },
)
