import { Button, Group, Popover, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { cloneElement, type ReactElement, type SubmitEvent, useState } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { namedNumber } from '../../components/named-number.ts'
import { STATE_LABELS, STATUS_LABELS, TYPE_LABELS } from './log-labels.ts'
import { type LogSearch, QUICK_FILTERS } from './log-search.ts'

type Change = (part: { readonly [Key in keyof LogSearch]?: unknown }, how?: { readonly isStep?: boolean }) => void

export interface FiltersProps {
  readonly search: LogSearch
  readonly change: Change
}

type Target = ReactElement<{ onClick?: () => void; 'aria-expanded'?: boolean }>

/** All filters. Open from the start: its button was pressed before this was loaded. */
export function FilterPopover({ button, search, change }: FiltersProps & { readonly button: Target }) {
  const [isOpen, { toggle, close }] = useDisclosure(true)
  return (
    <Popover opened={isOpen} onChange={close} position="bottom-end" withArrow trapFocus returnFocus width={460}>
      <Popover.Target>{cloneElement(button, { onClick: toggle, 'aria-expanded': isOpen })}</Popover.Target>
      <Popover.Dropdown aria-label="Filters" maw="calc(100vw - 32px)">
        <FilterForm search={search} change={change} onDone={close} />
      </Popover.Dropdown>
    </Popover>
  )
}

interface Choice {
  readonly value: string
  readonly label: string
}

type Choices = (Choice | { group: string; items: Choice[] })[]

function optionsOf(words: Readonly<Record<string, string>>): Choice[] {
  return Object.entries(words).map(([value, label]) => ({ value, label }))
}

const choiceOf = (value: keyof typeof STATE_LABELS): Choice => ({ value, label: STATE_LABELS[value] })

/** The states, below the names of the groups that can be chosen beside the search. */
const RESULT_CHOICES: Choices = [
  ...QUICK_FILTERS.flatMap(({ label, states }): Choices => {
    return states.length > 1 ? [{ group: label, items: states.map(choiceOf) }] : states.map(choiceOf)
  }),
  choiceOf('CANCELLED'),
]

function FilterForm({ search, change, onDone }: FiltersProps & { readonly onDone: () => void }) {
  const { id: account } = useAccount()
  const connections = useApiQuery('listConnections', { params: { account } })
  const tokens = useApiQuery('listTokens', { params: { account }, query: { tab: 'active' } })
  const select = (name: keyof LogSearch, label: string, data: Choices) => (
    <Select
      label={label}
      placeholder="Any"
      data={data}
      value={search[name] === undefined ? null : String(search[name])}
      onChange={(value) => change({ [name]: value ?? undefined }, { isStep: true })}
      comboboxProps={{ withinPortal: false }}
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${label}` }}
    />
  )
  const numbers = connections.data?.items ?? []
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {select('state', 'Result', RESULT_CHOICES)}
        {select('status', 'HTTP status', optionsOf(STATUS_LABELS))}
        {select(
          'connection',
          'Connection',
          withChosen(
            numbers.map((one) => ({ value: one.number, label: namedNumber(one) })),
            search.connection,
          ),
        )}
        {select(
          'token',
          'Token',
          withChosen(
            (tokens.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name })),
            search.token,
          ),
        )}
        {select('type', 'Type', optionsOf(TYPE_LABELS))}
      </SimpleGrid>
      <TimeAndRecipient search={search} change={change} onDone={onDone} />
    </Stack>
  )
}

/** A value in the address may be missing from the lists, such as a removed connection. */
function withChosen(data: Choice[], value: string | undefined): Choice[] {
  return value === undefined || data.some((one) => one.value === value) ? data : [...data, { value, label: value }]
}

function TimeAndRecipient({ search, change, onDone }: FiltersProps & { readonly onDone: () => void }) {
  const { can } = useAccount()
  const [to, setTo] = useState(search.to ?? '')
  const [since, setSince] = useState(toLocal(search.since))
  const [until, setUntil] = useState(toLocal(search.until))
  const digits = to.replace(/[^0-9*]/g, '')
  const problem = to !== '' && !/^[0-9]{1,15}\*?$/.test(digits) ? 'Digits, with a * at the end for a beginning.' : null
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (problem) return
    const times = { since: toInstant(since), until: toInstant(until) }
    const isTimed = times.since !== undefined || times.until !== undefined
    change(
      { to: digits === '' ? undefined : digits, ...times, ...(isTimed ? { range: undefined } : {}) },
      { isStep: true },
    )
    onDone()
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {can('developer') ? (
          <TextInput
            label="Recipient"
            description="The whole number, or its beginning with a * behind it."
            placeholder="4917* or 15551234567"
            inputMode="tel"
            autoComplete="off"
            value={to}
            error={problem}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
        ) : null}
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            label="Since"
            type="datetime-local"
            value={since}
            onChange={(event) => setSince(event.currentTarget.value)}
          />
          <TextInput
            label="Until"
            type="datetime-local"
            value={until}
            onChange={(event) => setUntil(event.currentTarget.value)}
          />
        </SimpleGrid>
        <Group justify="flex-end">
          <Button type="submit">Apply filters</Button>
        </Group>
      </Stack>
    </form>
  )
}

function toLocal(at: number | undefined): string {
  if (at === undefined) return ''
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function toInstant(local: string): number | undefined {
  const at = local === '' ? Number.NaN : new Date(local).getTime()
  return Number.isNaN(at) || at < 0 ? undefined : at
}
