import type { AlarmReply, alarmRoutes } from '../../../contract/console/alarms.ts'
import type { AlarmView } from '../../../core/ports/console/alarms.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'

const PAGE = 25

export function alarmHandlers({ store: { alarms } }: Pick<ConsoleDeps, 'store'>): Handlers<typeof alarmRoutes> {
  return {
    readOpenAlarms: async (_, context) => ({ items: (await alarms.readOpen(ownerOf(context))).map(toReply) }),
    async listAlarms({ query: { before } }, context) {
      const wanted = { ...ownerOf(context), before: before === undefined ? null : Number(before), limit: PAGE }
      const found = await alarms.list(wanted)
      const last = found.at(-1)
      return { items: found.map(toReply), next: last && found.length === PAGE ? String(last.id) : null }
    },
  }
}

export function ownerOf({ accountId, role }: Pick<AccountRequest, 'accountId' | 'role'>) {
  return { accountId, seesInstallation: role === 'owner' }
}

/** Without the command: the console has buttons. */
export function toReply({ id, account, command, ...alarm }: AlarmView): AlarmReply {
  return { ...alarm, id: String(id) }
}
