import { email } from '../../contract/console/session.ts'
import type { Role } from '../../core/people/role.ts'
import { Refusal } from '../../core/refusals.ts'

const ROLES: readonly Role[] = ['viewer', 'developer', 'owner']

export function parseEmail(text: string): string {
  const parsed = email.safeParse(text)
  if (parsed.success) return parsed.data
  throw new Refusal('argument_invalid', `“${text}”: ${parsed.error.issues[0]?.message ?? ''}`)
}

export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text)
  if (!role) throw new Refusal('argument_invalid', `“${text}” is no role. Roles are: ${ROLES.join(', ')}.`)
  return role
}
