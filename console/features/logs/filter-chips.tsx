import { Button, Group } from '@mantine/core'
import { X } from 'lucide-react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { localDateTime } from '../../components/instants.ts'
import { RESULT_LABELS, STATE_LABELS, TYPE_LABELS } from './log-labels.ts'
import { type LogSearch, quickFilterOf } from './log-search.ts'

interface ChipsProps {
  readonly search: LogSearch
  readonly change: (part: { readonly [Key in keyof LogSearch]?: undefined }, how: { readonly isStep: true }) => void
  readonly onClear: () => void
}

/** The active filters, each with a button to remove it. */
export function FilterChips({ search, change, onClear }: ChipsProps) {
  const tokenName = useTokenName(search.token)
  const chips = chipsOf(search, tokenName)
  if (chips.length === 0) return null
  return (
    <Group gap="xs" role="group" aria-label="Filters in use">
      {chips.map(({ name, words }) => (
        <Button
          key={name}
          variant="light"
          size="compact-sm"
          rightSection={<X size={14} aria-hidden />}
          aria-label={`Remove the filter: ${words}`}
          onClick={() =>
            change(name === 'since' ? { since: undefined, until: undefined } : { [name]: undefined }, { isStep: true })
          }
        >
          {words}
        </Button>
      ))}
      <Button variant="subtle" size="compact-sm" onClick={onClear}>
        Clear filters
      </Button>
    </Group>
  )
}

function useTokenName(id: string | undefined): string | undefined {
  const { id: account } = useAccount()
  const tokens = useApiQuery(
    'listTokens',
    { params: { account }, query: { tab: 'active' } },
    { enabled: id !== undefined },
  )
  return tokens.data?.items.find((token) => token.id === id)?.name ?? id
}

interface Chip {
  readonly name: keyof LogSearch
  readonly words: string
}

function chipsOf(search: LogSearch, tokenName: string | undefined): readonly Chip[] {
  const { view, state, result, open, status, connection, type, to, since, until, reason, text, id } = search
  const words: Readonly<Record<Exclude<keyof LogSearch, 'range'>, string | null | undefined>> = {
    view: view === 'attention' ? 'Not decided yet' : null,
    state: state && `Result: ${STATE_LABELS[state]}`,
    // The bar above shows the others.
    result: result && quickFilterOf(search) === '' ? `Counted as: ${RESULT_LABELS[result]}` : null,
    open: open && 'Not dealt with',
    status: status && `HTTP: ${status}`,
    connection: connection && `Connection: ${connection}`,
    token: tokenName && `Token: ${tokenName}`,
    type: type && `Type: ${TYPE_LABELS[type] ?? type}`,
    to: to && (to.endsWith('*') ? `Recipient begins with ${to.slice(0, -1)}` : `Recipient: ${to}`),
    since:
      since === undefined ? null : `${localDateTime(since)} to ${until === undefined ? 'now' : localDateTime(until)}`,
    until: until === undefined || since !== undefined ? null : `Until ${localDateTime(until)}`,
    reason: reason && `Reason: ${reason}`,
    text: text && `Error says “${text}”`,
    id: id && `Id: ${id}`,
  }
  return Object.entries(words).flatMap(([name, said]) => (said ? [{ name: name as keyof LogSearch, words: said }] : []))
}
