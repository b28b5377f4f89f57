import { Paper, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './facts.module.css'

interface FactsProps {
  readonly title?: string
  /** True: room for longer names. */
  readonly isWide?: boolean
  readonly children: ReactNode
}

/** Facts of one thing, each with its name: the same card on every page. */
export function Facts({ title, isWide = false, children }: FactsProps) {
  return (
    <Paper withBorder px="md" py={title === undefined ? 4 : 'md'} maw={isWide ? 860 : undefined}>
      {title === undefined ? null : (
        <Title order={2} mb={4}>
          {title}
        </Title>
      )}
      <dl className={classes['facts']} data-wide={isWide}>
        {children}
      </dl>
    </Paper>
  )
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className={classes['fact']} data-fact={name}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** The most important facts of a page, side by side. */
export function FactStrip({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Paper withBorder component="section" aria-label={label} className={classes['strip'] ?? ''}>
      <dl>{children}</dl>
    </Paper>
  )
}

interface StripFactProps {
  readonly name: string
  readonly value: ReactNode
  readonly note?: ReactNode
}

export function StripFact({ name, value, note }: StripFactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <div className={classes['value']}>{value}</div>
        {note === undefined || note === null ? null : <div className={classes['note']}>{note}</div>}
      </dd>
    </div>
  )
}
