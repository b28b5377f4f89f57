// A version, a key, a nonce, what is sealed, and a tag. Other settings begin with a version too, such as `v26.0`.
const SEALED = /^v\d+\.[\w-]+\.[\w-]+\.[\w-]*\.[\w-]+$/

/**
 * Whether a text has the form of a sealed one, of any version, for those who cannot open it. Only its key and its place
 * show whether it is one: see `Secrets` in core/ports.
 */
export function hasSealedForm(text: string): boolean {
  return SEALED.test(text)
}
