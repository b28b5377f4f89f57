import { Button, type ButtonProps, Text } from '@mantine/core'
import { ChevronsUpDown } from 'lucide-react'
import { type ComponentPropsWithRef, Suspense, useState } from 'react'
import { lazily } from '../components/load-later.ts'
import type { AccountChoice } from './account-dropdown.tsx'

const AccountDropdown = lazily(async () => (await import('./account-dropdown.tsx')).AccountDropdown)

/** The current account; a menu if the person belongs to several. */
export function AccountSwitcher(props: AccountChoice) {
  const [isWanted, setWanted] = useState(false)
  const { accounts, current } = props
  if (accounts.length === 0) return null
  if (accounts.length === 1 && current) {
    return (
      <Text size="sm" truncate title="Account">
        {current.name}
      </Text>
    )
  }
  const closed = <AccountButton name={current?.name} onClick={() => setWanted(true)} />
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <AccountDropdown {...props} button={<AccountButton name={current?.name} />} />
    </Suspense>
  )
}

type AccountButtonProps = { readonly name: string | undefined } & ButtonProps & ComponentPropsWithRef<'button'>

function AccountButton({ name, ...props }: AccountButtonProps) {
  return (
    <Button
      variant="default"
      size="compact-md"
      maw={180}
      rightSection={<ChevronsUpDown size={14} aria-hidden />}
      aria-haspopup="menu"
      {...(name === undefined ? {} : { 'aria-label': `Account: ${name}. Change` })}
      {...props}
    >
      {name ?? 'Choose an account'}
    </Button>
  )
}
