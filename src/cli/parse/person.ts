import { findEmailFault } from '../../contract/console/form-rules.ts'
import type { Role } from '../../core/people/role.ts'
import { Refusal } from '../../core/refusals.ts'

const ROLES: readonly Role[] = ['viewer', 'developer', 'owner']

export function parseEmail(text: string): string {
  const email = text.trim()
  const fault = findEmailFault(email)
  if (fault !== null) throw new Refusal('argument_invalid', `“${text}”: ${fault}`)
  return email
}

export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text)
  if (!role) throw new Refusal('argument_invalid', `“${text}” is no role. Roles are: ${ROLES.join(', ')}.`)
  return role
}
