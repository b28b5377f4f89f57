import { ActionIcon, type ActionIconProps } from '@mantine/core'
import { CircleUser } from 'lucide-react'
import { type ComponentPropsWithRef, Suspense, useState } from 'react'
import type { CurrentSession } from '../../src/contract/console/session.ts'
import { lazily } from '../components/load-later.ts'

const PersonDropdown = lazily(async () => (await import('./person-dropdown.tsx')).PersonDropdown)

export interface PersonMenuProps {
  readonly person: CurrentSession['person']
  readonly onHelp: () => void
}

/** The code of the menu is loaded when it is first opened, because most visits do not need it. */
export function PersonMenu(props: PersonMenuProps) {
  const [isWanted, setWanted] = useState(false)
  const closed = <PersonButton name={props.person.name} onClick={() => setWanted(true)} />
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <PersonDropdown {...props} />
    </Suspense>
  )
}

type ButtonProps = { readonly name: string } & ActionIconProps & ComponentPropsWithRef<'button'>

export function PersonButton({ name, ...props }: ButtonProps) {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`You: ${name}`} aria-haspopup="menu" {...props}>
      <CircleUser size={18} aria-hidden />
    </ActionIcon>
  )
}
