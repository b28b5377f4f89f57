/** What a person may do in an account. Each may do all that those before it may. The console's contract says the same. */
export type Role = 'viewer' | 'developer' | 'owner'

const RISING: readonly Role[] = ['viewer', 'developer', 'owner']

/** Whether `role` may do all that `least` may. */
export function isAtLeast(role: Role, least: Role): boolean {
  return RISING.indexOf(role) >= RISING.indexOf(least)
}
