import type { AlarmReply, alarmRoutes } from '../../../contract/console/alarms.ts'
import type { AlarmView } from '../../../core/ports/console/alarms.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountVisit, Handlers } from '../request-context.ts'

const PAGE = 25

export function alarmHandlers({ store: { alarms } }: Pick<ConsoleDeps, 'store'>): Handlers<typeof alarmRoutes> {
  return {
    readOpenAlarms: async (_, visit) => ({ items: (await alarms.readOpen(whoseOf(visit))).map(toReply) }),
    async listAlarms({ query: { before } }, visit) {
      const wanted = { ...whoseOf(visit), before: before === undefined ? null : Number(before), limit: PAGE }
      const found = await alarms.list(wanted)
      const last = found.at(-1)
      return { items: found.map(toReply), next: last && found.length === PAGE ? String(last.id) : null }
    },
  }
}

function whoseOf({ accountId, role }: Pick<AccountVisit, 'accountId' | 'role'>) {
  return { accountId, seesInstallation: role === 'owner' }
}

function toReply({ id, account, ...alarm }: AlarmView): AlarmReply {
  return { ...alarm, id: String(id) }
}
