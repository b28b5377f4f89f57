import type { Role } from '../../../src/contract/console/route.ts'
import type { AccountId } from '../../../src/core/ids.ts'
import type { AccountRequest } from '../../../src/http/console-api/request-context.ts'
import { NOON } from './open-administration-world.ts'

interface Taken {
  headers: Record<string, string>
  text: () => Promise<string>
}

/** A request of a person with this role. `taken` holds the reply. */
export function requestAs(accountId: AccountId, role: Role): AccountRequest & { taken: Taken } {
  let stream: AsyncIterable<string | Buffer> | null = null
  const taken: Taken = {
    headers: {},
    async text() {
      let text = ''
      for await (const part of stream ?? []) text += String(part)
      return text
    },
  }
  const reply = {
    header(name: string, value: string) {
      taken.headers[name] = value
      return reply
    },
    send(what: AsyncIterable<string>) {
      stream = what
      return reply
    },
  }
  const isStillAuthorized = async () => true
  return {
    personId: 'per_1',
    accountId,
    role,
    now: NOON,
    actor: 'anna@example.org',
    reply,
    isStillAuthorized,
    taken,
  } as never
}
