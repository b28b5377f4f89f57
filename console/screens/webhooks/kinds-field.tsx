import { Box, Checkbox, Fieldset, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ReplyFor } from '../../api/call.ts'

type OfferedKind = ReplyFor<'describeNotices'>['kinds'][number]

interface KindsFieldProps {
  readonly offered: readonly OfferedKind[]
  readonly value: readonly string[]
  readonly onChange: (kinds: string[]) => void
  readonly error?: ReactNode
}

/** What a webhook wants to hear of, by group. */
export function KindsField({ offered, value, onChange, error }: KindsFieldProps) {
  const wantable = offered.filter(({ isWantable }) => isWantable)
  const groups = [...new Set(wantable.map(({ group }) => group))]
  return (
    <Fieldset legend="Notices" data-path="kinds" tabIndex={-1}>
      <Stack gap="sm">
        {groups.map((group) => (
          <KindGroup
            key={group}
            group={group}
            offered={wantable.filter((one) => one.group === group)}
            value={value}
            onChange={onChange}
          />
        ))}
        {error ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        ) : null}
      </Stack>
    </Fieldset>
  )
}

function KindGroup({ group, offered, value, onChange }: Omit<KindsFieldProps, 'error'> & { readonly group: string }) {
  const names = offered.map(({ kind }) => kind)
  const chosen = names.filter((name) => value.includes(name))
  const others = value.filter((name) => !names.includes(name))
  const title = group.charAt(0).toUpperCase() + group.slice(1)
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
        {offered.map(({ kind, sentence }) => (
          <Checkbox
            key={kind}
            label={kind}
            description={sentence}
            checked={value.includes(kind)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...value, kind] : value.filter((other) => other !== kind))
            }
          />
        ))}
      </Stack>
    </Box>
  )
}
