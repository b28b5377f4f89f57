import { type LogDetail, logDetail } from '../../../src/contract/console/log.ts'
import type { AdministrationSession } from '../../../src/server/wiring/open-administration.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { signInOwner } from './sign-in.ts'

/** Opens pages of the API log, as an owner who signs in to the running service. */
export async function openLog(
  url: string,
  operator: AdministrationSession,
): Promise<(id: string) => Promise<LogDetail>> {
  const { account, headers } = await signInOwner(url, operator)
  return async (id) => {
    let page: unknown
    // Refused requests are logged shortly after their reply.
    await waitUntil(
      'the request is in the log',
      async () => {
        const reply = await fetch(`${url}/console/api/accounts/${account}/log/${id}`, { headers })
        page = await reply.json()
        return reply.status === 200
      },
      { deadlineMs: 10_000 },
    )
    return logDetail.parse(page)
  }
}

/** The lines of a message page: was it sent, why or why not, and what to do. */
export function linesOf({ sentence, message }: LogDetail): readonly (string | null)[] {
  return [sentence, message?.cause ?? null, message?.nextStep ?? null]
}
