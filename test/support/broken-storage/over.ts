import type { StorageWorld } from '../../conformance/storage-world.ts'

/** The ports that a broken engine replaces. */
export type Break = (world: StorageWorld) => Partial<StorageWorld>

/** The port with some of its functions replaced. */
export function over<Port extends object>(port: Port, changed: Partial<Port>): Port {
  return new Proxy(port, {
    get(target, key) {
      const value: unknown = Reflect.get(changed, key) ?? Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(Reflect.has(changed, key) ? changed : target) as unknown) : value
    },
  })
}
