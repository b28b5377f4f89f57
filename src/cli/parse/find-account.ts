import { commandLine } from '../../core/command-line.ts'
import type { AccountView, Administration } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'

/** The account that `--account` names by name or id; without it the only one there is. */
export async function findAccount(administration: Administration, wanted: string | undefined): Promise<AccountView> {
  const accounts = await administration.listAccounts()
  const names = accounts.map(({ name }) => name).join(', ')
  if (wanted !== undefined) {
    const named = accounts.filter(({ name }) => name === wanted)
    const found = accounts.find(({ id }) => id === wanted) ?? named[0]
    if (named.length > 1 && found?.id !== wanted)
      throw new Refusal(
        'account_ambiguous',
        `Several accounts are named “${wanted}”: name one by its id (${named.map(({ id }) => id).join(', ')}).`,
        '--account',
      )
    if (found) return found
    const others = accounts.length > 0 ? `There are: ${names}.` : 'There is none yet.'
    throw new Refusal('account_unknown', `There is no account “${wanted}”. ${others}`, '--account')
  }
  const [only, ...others] = accounts
  if (!only)
    throw new Refusal('account_unknown', `There is no account yet. Make one: ${commandLine`account create NAME`}`)
  if (others.length > 0)
    throw new Refusal('account_ambiguous', `There are several accounts: say which one with --account (${names}).`)
  return only
}

/** As `findAccount`, but null, meaning all accounts, when none is named. */
export async function findAccountOrAll(
  administration: Administration,
  wanted: string | undefined,
): Promise<AccountView | null> {
  return wanted === undefined ? null : findAccount(administration, wanted)
}
