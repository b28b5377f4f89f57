import type { SharedVariable } from './otel-variables.ts'
import type { SettingKind } from './setting-kinds.ts'

export interface Setting<T> {
  readonly name: `NUNCIO_${string}`
  readonly kind: SettingKind<T>
  /** As an operator would write it. */
  readonly default: string
  /** What the value is while no text is given; left out where `default` is a text. */
  readonly whenUnset?: T
  /** Describes the value while it is not set, if that follows from other settings. */
  readonly otherwise?: string
  /** One sentence. */
  readonly purpose: string
  readonly secret: boolean
  /** Read in this order where ours is not set. */
  readonly shared?: readonly SharedVariable<T>[]
  /** Returns a warning for every start, or null. */
  warning?(value: T): string | null
}

export function setting<T>(given: Omit<Setting<T>, 'secret'> & { readonly secret?: true }): Setting<T> {
  return { ...given, secret: given.secret ?? false }
}
