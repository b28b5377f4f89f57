import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'
import { SERVICE_PATH } from '../app/service-path.ts'

type Native<Props> = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & { ref?: Ref<HTMLAnchorElement> }

/** Links to pages of the console: `<TextLink to="/a/$account/developer/tokens" params={{ account }}>`. */
export const TextLink = createLink((props: AnchorProps & Native<AnchorProps>) => (
  <Anchor underline="always" {...props} />
))

/** The link of a table row; `j` and `k` move between them. */
export const RowLink = createLink((props: AnchorProps & Native<AnchorProps>) => (
  <Anchor fw={500} {...props} data-row-link="" />
))

export const ButtonLink = createLink((props: ButtonProps & Native<ButtonProps>) => <Button component="a" {...props} />)

export const NavItem = createLink((props: NavLinkProps & Native<NavLinkProps>) => (
  <NavLink component="a" style={{ borderRadius: 'var(--mantine-radius-md)' }} {...props} />
))

/** A link to a page of the service outside the console, such as `/docs/`. */
export function ServiceItem({ href, ...props }: NavLinkProps & { readonly href: string }) {
  return (
    <NavLink
      component="a"
      style={{ borderRadius: 'var(--mantine-radius-md)' }}
      href={`${SERVICE_PATH}${href}`}
      {...props}
    />
  )
}
