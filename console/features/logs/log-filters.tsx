import { Button, Group, Kbd, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Search, SlidersHorizontal } from 'lucide-react'
import { cloneElement, type SubmitEvent, Suspense, useState } from 'react'
import { useAccount } from '../../components/account.tsx'
import { lazily } from '../../components/load-later.ts'
import type { FiltersProps } from './filter-popover.tsx'
import { keyHint, readWords, wordsOf } from './log-search.ts'

// Its fields are a tenth of the page's script, and most people search by the box.
const FilterPopover = lazily(async () => (await import('./filter-popover.tsx')).FilterPopover)

export function LogFilters({ search, change }: FiltersProps) {
  return (
    <Group gap="xs" wrap="nowrap" style={{ flex: '1 1 280px' }}>
      <SearchBox key={wordsOf(search)} search={search} change={change} />
      <MoreFilters search={search} change={change} />
    </Group>
  )
}

/** One field for numbers, ids and texts of errors. */
function SearchBox({ search, change }: FiltersProps) {
  const { can } = useAccount()
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const [words, setText] = useState(wordsOf(search))
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const wanted = readWords(words, can('developer'))
    // The filter by status has a name of its own beside the box.
    if (wanted.status !== undefined) setText('')
    change(wanted, { isStep: true })
  }
  return (
    <form onSubmit={submit} noValidate style={{ flex: '1 1 200px' }} data-filters>
      <TextInput
        aria-label="Search by number, id, error or HTTP status"
        placeholder={isPhone ? 'Search' : 'Number, text, id, error or status'}
        value={words}
        maxLength={200}
        onChange={(event) => setText(event.currentTarget.value)}
        type="search"
        autoComplete="off"
        leftSection={<Search size={16} aria-hidden />}
        rightSectionWidth={56}
        rightSection={<Kbd size="xs">{keyHint(words, search)}</Kbd>}
      />
    </form>
  )
}

function MoreFilters({ search, change }: FiltersProps) {
  const [isWanted, setWanted] = useState(false)
  const button = (
    <Button
      variant="default"
      leftSection={<SlidersHorizontal size={16} aria-hidden />}
      aria-haspopup="dialog"
      data-open-filters
    >
      Filters
    </Button>
  )
  const closed = cloneElement(button, { onClick: () => setWanted(true) })
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <FilterPopover button={button} search={search} change={change} />
    </Suspense>
  )
}
