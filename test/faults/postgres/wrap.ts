type Method = (this: unknown, ...args: unknown[]) => unknown

/** Wraps a method of a class without changing its source. Fails if there is no such method. */
export function wrap(
  prototype: object,
  name: string,
  around: (call: () => unknown, args: readonly unknown[]) => unknown,
): void {
  const original = Reflect.get(prototype, name) as Method | undefined
  if (typeof original !== 'function') throw new Error(`There is no method ${name} to put anything around`)
  Reflect.set(prototype, name, function (this: unknown, ...args: unknown[]) {
    return around(() => original.apply(this, args), args)
  })
}
