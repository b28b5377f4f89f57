/** Replaces a method or a getter of a class until the returned function is called. */
export function replace<Of extends object>(prototype: Of, name: keyof Of & string, by: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(prototype, name) ?? {}
  Object.defineProperty(prototype, name, { ...by, configurable: true })
  return () => Object.defineProperty(prototype, name, before)
}
