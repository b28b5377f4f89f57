// A version, a key, a nonce, what is sealed, and a tag. Other settings begin with a version too, such as `v26.0`.
const SEALED = /^v\d+(\.[\w-]+){4}$/

/** A connection's settings, as JSON, without any that looks sealed, however deep it lies. */
export function withoutSecrets(settings: string): string {
  return JSON.stringify(JSON.parse(settings), (_, value: unknown) => {
    if (Array.isArray(value)) return (value as unknown[]).filter((each) => !isSealed(each))
    return isSealed(value) ? undefined : value
  })
}

function isSealed(value: unknown): boolean {
  return typeof value === 'string' && SEALED.test(value)
}
