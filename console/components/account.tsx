import { createContext, type ReactNode, useContext } from 'react'
import type { Role } from '../../src/contract/console/route.ts'

export interface Account {
  readonly id: string
  readonly name: string
  readonly role: Role
}

// Importing the contract's list would load its shapes with the first view.
const RANKS: Readonly<Record<Role, number>> = { viewer: 0, developer: 1, owner: 2 }

const AccountContext = createContext<Account | null>(null)

export function AccountProvider({ account, children }: { readonly account: Account; readonly children: ReactNode }) {
  return <AccountContext value={account}>{children}</AccountContext>
}

/** The account of the page. `can('developer')`: whether this person has that role in it, or a higher one. */
export function useAccount(): Account & { readonly can: (role: Role) => boolean } {
  const account = useContext(AccountContext)
  if (!account) throw new Error('This page belongs to no account')
  return { ...account, can: (role) => RANKS[account.role] >= RANKS[role] }
}
