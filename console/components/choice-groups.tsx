import { Box, Checkbox, Stack } from '@mantine/core'
import type { ReactNode } from 'react'

interface Choice {
  readonly name: string
  readonly group: string
  readonly label: ReactNode
  readonly description: ReactNode
}

interface ChoiceGroupsProps {
  readonly offered: readonly Choice[]
  /** The chosen names. */
  readonly value: readonly string[]
  readonly onChange: (names: string[]) => void
}

/** Checkboxes by group, with one checkbox for each whole group. */
export function ChoiceGroups({ offered, value, onChange }: ChoiceGroupsProps) {
  const groups = Map.groupBy(offered, ({ group }) => group)
  return [...groups].map(([group, choices]) => (
    <ChoiceGroup key={group} title={group} offered={choices} value={value} onChange={onChange} />
  ))
}

function ChoiceGroup({ title, offered, value, onChange }: ChoiceGroupsProps & { readonly title: string }) {
  const names = offered.map(({ name }) => name)
  const chosen = names.filter((name) => value.includes(name))
  const others = value.filter((name) => !names.includes(name))
  return (
    <Box role="group" aria-label={title}>
      <Checkbox
        label={title}
        aria-label={`All of ${title}`}
        fw={600}
        checked={chosen.length === names.length}
        indeterminate={chosen.length > 0 && chosen.length < names.length}
        onChange={(event) => onChange(event.currentTarget.checked ? [...others, ...names] : others)}
      />
      <Stack gap="xs" pl="xl" pt="xs">
        {offered.map(({ name, label, description }) => (
          <Checkbox
            key={name}
            label={label}
            description={description}
            checked={value.includes(name)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...value, name] : value.filter((other) => other !== name))
            }
          />
        ))}
      </Stack>
    </Box>
  )
}
