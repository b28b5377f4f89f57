import { Box, Button, Collapse, MultiSelect, Stack, Textarea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import type { TokenConnection } from '../../../src/contract/console/tokens.ts'
import { namedNumber } from '../../components/named-number.ts'

interface Limits {
  readonly connectionIds: readonly string[] | null
  readonly sourceRanges: readonly string[] | null
}

interface LimitsFieldsProps {
  readonly connections: readonly TokenConnection[]
  readonly value: Limits
  readonly onChange: (limits: { connectionIds: string[] | null; sourceRanges: string[] | null }) => void
  readonly errors: { readonly connectionIds?: ReactNode; readonly sourceRanges?: ReactNode }
}

/** Folded, because most tokens have none. An error inside unfolds it. */
export function LimitsFields({ connections, value, onChange, errors }: LimitsFieldsProps) {
  const [isOpened, { toggle }] = useDisclosure(value.connectionIds !== null || value.sourceRanges !== null)
  const [text, setText] = useState((value.sourceRanges ?? []).join('\n'))
  const id = useId()
  const isOpen = isOpened || Boolean(errors.connectionIds ?? errors.sourceRanges)
  const { connectionIds, sourceRanges } = {
    connectionIds: copyOf(value.connectionIds),
    sourceRanges: copyOf(value.sourceRanges),
  }
  const takeText = (typed: string) => {
    setText(typed)
    const ranges = typed.split(/[\s,;]+/).filter((one) => one !== '')
    onChange({ connectionIds, sourceRanges: ranges.length === 0 ? null : ranges })
  }
  return (
    <Box>
      <Button
        variant="default"
        leftSection={isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        onClick={toggle}
        aria-expanded={isOpen}
        aria-controls={id}
      >
        Limits (optional)
      </Button>
      <Collapse expanded={isOpen} id={id} transitionDuration={0}>
        <Stack gap="md" pt="xs">
          <MultiSelect
            label="Connections"
            description="It may send from these numbers only. None chosen: from all, those added later too."
            placeholder={connectionIds === null ? 'All connections' : ''}
            data={connections.map((one) => ({ value: one.id, label: `${namedNumber(one)} (${one.channel})` }))}
            value={connectionIds ?? []}
            onChange={(ids) => onChange({ connectionIds: ids.length === 0 ? null : ids, sourceRanges })}
            error={errors.connectionIds}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Clear the connections' }}
            nothingFoundMessage="No connection with this number or name"
            data-path="connectionIds"
          />
          <Textarea
            label="Source addresses"
            description="It may be used from these only, one on each line, such as 203.0.113.0/24. Empty: from anywhere."
            value={text}
            onChange={(event) => takeText(event.currentTarget.value)}
            error={errors.sourceRanges}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
            data-path="sourceRanges"
          />
        </Stack>
      </Collapse>
    </Box>
  )
}

function copyOf(list: readonly string[] | null): string[] | null {
  return list && [...list]
}
