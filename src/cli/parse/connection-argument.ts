import type { ConnectionView } from '../../core/ports/administration.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import type { Cli } from '../cli.ts'
import type { CommonOptions } from '../nuncio-command.ts'
import { parseNumber } from './argument.ts'
import { findAccountOrAll } from './find-account.ts'

export const ACCOUNT_OPTION = 'the account it belongs to; needed when several have this number'

/** Opens the data and finds the connection that a command names by its number. */
export async function withConnection(
  cli: Cli,
  { number, options }: { readonly number: string; readonly options: CommonOptions },
  work: (session: AdministrationSession, connection: ConnectionView) => Promise<void>,
): Promise<void> {
  parseNumber(number)
  await cli.withAdministration(async (session) => {
    const account = await findAccountOrAll(session.administration, options.account)
    await work(session, await session.administration.findConnection(number, account?.id ?? null))
  })
}
