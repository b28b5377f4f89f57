import { looksSealed } from '../../../core/sealed-form.ts'

/** A connection's settings, as JSON, without any that looks sealed, however deep it lies. */
export function withoutSecrets(settings: string): string {
  return JSON.stringify(JSON.parse(settings), (_, value: unknown) => {
    if (Array.isArray(value)) return (value as unknown[]).filter((each) => !isSealed(each))
    return isSealed(value) ? undefined : value
  })
}

function isSealed(value: unknown): boolean {
  return typeof value === 'string' && looksSealed(value)
}
