import { ActionIcon, type ActionIconProps } from '@mantine/core'
import { CircleUser } from 'lucide-react'
import { type ComponentPropsWithRef, Suspense, useState } from 'react'
import { lazily } from '../components/load-later.ts'
import type { PersonMenuProps } from './person-dropdown.tsx'

const PersonDropdown = lazily(async () => (await import('./person-dropdown.tsx')).PersonDropdown)

/** The code of the menu is loaded when it is first opened, because most visits do not need it. */
export function PersonMenu(props: PersonMenuProps) {
  const [isWanted, setWanted] = useState(false)
  const closed = <PersonButton name={props.person.name} onClick={() => setWanted(true)} />
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <PersonDropdown {...props} button={<PersonButton name={props.person.name} />} />
    </Suspense>
  )
}

type ButtonProps = { readonly name: string } & ActionIconProps & ComponentPropsWithRef<'button'>

function PersonButton({ name, ...props }: ButtonProps) {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`You: ${name}`} aria-haspopup="menu" {...props}>
      <CircleUser size={18} aria-hidden />
    </ActionIcon>
  )
}
