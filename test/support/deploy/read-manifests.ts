import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../../../scripts/source-tree.ts'

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly command?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly securityContext?: object
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean
  readonly enableServiceLinks?: boolean
  readonly securityContext?: object
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes?: readonly { readonly name: string }[]
}

/** The parts of Kubernetes objects that our own manifests use. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: {
    readonly selector?: { readonly matchLabels?: object }
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[]
    readonly replicas?: number
    readonly template?: { readonly metadata?: { readonly labels: object }; readonly spec: PodSpec }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  }
}

/** All objects in the files of deploy/kubernetes. */
export function readManifests(): readonly { readonly file: string; readonly manifest: Manifest }[] {
  return globSync('deploy/kubernetes/*.yaml', { cwd: ROOT }).flatMap((file) =>
    parseAllDocuments(readFileSync(join(ROOT, file), 'utf8')).map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join(' ')}`)
      return { file, manifest: document.toJS() as Manifest }
    }),
  )
}
