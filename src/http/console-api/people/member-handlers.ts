import type { peopleRoutes } from '../../../contract/console/people.ts'
import type { Handlers } from '../request-context.ts'
import { createSecret, type PeopleParts } from './people-parts.ts'

const DONE = { done: true } as const

type MemberHandlers = Pick<
  Handlers<typeof peopleRoutes>,
  | 'readAccount'
  | 'renameAccount'
  | 'requireSecondFactor'
  | 'listMembers'
  | 'invitePerson'
  | 'withdrawInvitation'
  | 'changeRole'
  | 'removeMember'
>

/** An account and its members. */
export function memberHandlers(parts: PeopleParts): MemberHandlers {
  const { people } = parts.store
  return {
    readAccount: (_, { accountId }) => people.readAccount(accountId),
    async renameAccount({ body: { name } }, { accountId, actor }) {
      await people.renameAccount(accountId, name, actor)
      return DONE
    },
    async requireSecondFactor({ body: { isRequired } }, { accountId, actor }) {
      await people.requireSecondFactor(accountId, isRequired, actor)
      return DONE
    },
    async listMembers(_, { accountId }) {
      const [members, invitations] = [await people.listMembers(accountId), await people.listInvitations(accountId)]
      return { members: [...members], invitations: [...invitations] }
    },
    async invitePerson({ body: { email, role } }, { accountId, actor }) {
      const { secret, sha256 } = createSecret(parts)
      const invitation = { accountId, email, role }
      const link = { kind: 'invitation', sha256, personId: null, invitation } as const
      const { expiresAt } = await people.createPersonLink(link, actor)
      return { url: `${parts.publicUrl}/console/invitation/${secret}`, expiresAt }
    },
    async withdrawInvitation({ params: { id } }, { accountId, actor }) {
      await people.withdrawInvitation(accountId, id, actor)
      return DONE
    },
    async changeRole({ params: { id }, body: { role } }, { accountId, actor }) {
      await people.changeRole({ accountId, personId: id, role }, actor)
      return DONE
    },
    async removeMember({ params: { id } }, { accountId, actor }) {
      await people.removeMember(accountId, id, actor)
      return DONE
    },
  }
}
