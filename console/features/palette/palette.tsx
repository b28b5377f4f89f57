import { Kbd, Modal, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { soughtOf } from '../connections/connection-labels.ts'
import { stateOf } from '../logs/log-labels.ts'
import { readWords } from '../logs/log-search.ts'
import classes from './palette.module.css'
import { findPages, type PaletteEntry, step } from './palette-entries.ts'

const SEARCH_AFTER_MS = 200
const MOST_MESSAGES = 4
const MOST_CONNECTIONS = 3
const LEAST_SOUGHT = 2

/** Pages, connections, and messages by number, id or error, from anywhere by Ctrl+K. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries(typed)
  const navigate = useNavigate()
  const { id: account } = useAccount()
  const listId = useId()
  const active = Math.min(at, entries.length - 1)
  const open = ({ to, params, search }: PaletteEntry) => {
    onClose()
    void navigate({ to, params: { account, ...params }, search } as never)
  }
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : null
    const entry = entries[active]
    if (by !== null) setAt(step(active, by, entries.length))
    else if (event.key === 'Enter' && entry) open(entry)
    else return
    event.preventDefault()
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title="Search or go to"
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="8vh"
      classNames={{ header: classes['header'] ?? '' }}
    >
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className={classes['input'] ?? ''}
        leftSection={<Search size={18} aria-hidden />}
        rightSection={<Kbd size="xs">Esc</Kbd>}
        rightSectionWidth={56}
        placeholder="Page, number, text or id"
        aria-label="Search or go to"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${active}` : undefined}
        autoComplete="off"
        maxLength={200}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <Entries id={listId} entries={entries} active={active} onOpen={open} />
    </Modal>
  )
}

interface EntriesProps {
  readonly id: string
  readonly entries: readonly PaletteEntry[]
  readonly active: number
  readonly onOpen: (entry: PaletteEntry) => void
}

function Entries({ id, entries, active, onOpen }: EntriesProps) {
  const list = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another entry is active
  useEffect(() => {
    // Its result is no clean-up: newer browsers return a promise.
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <div ref={list} id={id} role="listbox" aria-label="Results" className={classes['list']}>
      {entries.map((entry, at) => (
        <div key={entry.key} role="presentation">
          {entry.group === entries[at - 1]?.group ? null : (
            <Text size="xs" c="dimmed" px="md" pt={8} pb={2} role="presentation">
              {entry.group}
            </Text>
          )}
          {/* The keyboard stays in the field, which names the active option. */}
          <div
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === active}
            className={classes['entry']}
            {...{ onClick: () => onOpen(entry) }}
          >
            <span>{entry.label}</span>
            <Text span size="sm" c="dimmed" truncate>
              {entry.note}
            </Text>
          </div>
        </div>
      ))}
    </div>
  )
}

function useEntries(typed: string): readonly PaletteEntry[] {
  const { role } = useAccount()
  const [sought] = useDebouncedValue(typed.trim(), SEARCH_AFTER_MS)
  const messages = useMessages(sought)
  const connections = useConnections(sought)
  return [...findPages(typed, role), ...connections, ...messages]
}

function useMessages(sought: string): readonly PaletteEntry[] {
  const { id: account, can } = useAccount()
  const words = readWords(sought, can('developer'))
  const query = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined))
  const { data } = useApiQuery(
    'listLog',
    { params: { account }, query: { ...query, limit: MOST_MESSAGES } },
    { enabled: sought.length > 2, isLive: false },
  )
  if (sought.length <= 2) return []
  const found = data?.items ?? []
  return [
    ...found.map(
      (row): PaletteEntry => ({
        key: row.id,
        group: 'Messages',
        label: `${row.to ?? 'A request'}: ${stateOf(row).toLowerCase()}`,
        note: row.preview ?? row.reason?.meaning ?? '',
        to: '/a/$account/developer/logs/$id',
        params: { id: row.id },
      }),
    ),
    {
      key: 'search',
      group: 'Messages',
      label: `Search the API logs for “${sought}”`,
      note: '',
      to: '/a/$account/developer/logs',
      search: query,
    },
  ]
}

function useConnections(sought: string): readonly PaletteEntry[] {
  const { id: account } = useAccount()
  const find = soughtOf(sought) ?? ''
  const isLongEnough = find.length >= LEAST_SOUGHT
  const { data } = useApiQuery(
    'listConnections',
    { params: { account }, query: { find } },
    { enabled: isLongEnough, isLive: false },
  )
  if (!isLongEnough) return []
  return (data?.items ?? []).slice(0, MOST_CONNECTIONS).map(({ id, number, name, channel }) => ({
    key: id,
    group: 'Connections',
    label: number,
    note: name ?? channel,
    to: '/a/$account/connections/$id',
    params: { id },
  }))
}
