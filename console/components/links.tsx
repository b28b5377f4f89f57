import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

/** What an anchor takes, without what the component takes itself. */
export type Native<Props> = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & {
  ref?: Ref<HTMLAnchorElement>
}

/** Links to pages of the console: `<TextLink to="/a/$account/developer/tokens" params={{ account }}>`. */
export const TextLink = createLink((props: AnchorProps & Native<AnchorProps>) => (
  <Anchor underline="always" {...props} />
))

/** The link of a table row; `j` and `k` move between them. */
export const RowLink = createLink((props: AnchorProps & Native<AnchorProps>) => (
  <Anchor fw={500} c="bright" inherit {...props} data-row-link="" />
))

export const ButtonLink = createLink((props: ButtonProps & Native<ButtonProps>) => <Button component="a" {...props} />)
