// A version, a key, a nonce, what is sealed, and a tag. Other settings begin with a version too, such as `v26.0`.
const SEALED = /^v\d+\.[\w-]+\.[\w-]+\.[\w-]*\.[\w-]+$/

/**
 * Whether a text has the form of a sealed one, of any version. For code that has no key: only opening it proves that it is one
 * (`Secrets` in core/ports).
 */
export function hasSealedForm(text: string): boolean {
  return SEALED.test(text)
}
