import { Fieldset, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { capitalized } from '../../../src/format/capitalized.ts'
import type { ReplyFor } from '../../api/call.ts'
import { Breakable } from '../../components/breakable.tsx'
import { ChoiceGroups } from '../../components/choice-groups.tsx'

type OfferedKind = ReplyFor<'describeNotices'>['kinds'][number]

interface KindsFieldProps {
  readonly offered: readonly OfferedKind[]
  readonly value: readonly string[]
  readonly onChange: (kinds: string[]) => void
  readonly error?: ReactNode
  readonly note?: string | undefined
}

/** The kinds of notices that a webhook receives, by group. */
export function KindsField({ offered, value, onChange, error, note }: KindsFieldProps) {
  const choices = offered
    .filter(({ isWantable }) => isWantable)
    .map(({ kind, group, sentence }) => ({
      name: kind,
      group: titled(group),
      label: <Breakable text={kind} />,
      description: sentence,
    }))
  return (
    <Fieldset legend="Notices" data-path="kinds" tabIndex={-1}>
      <Stack gap="sm">
        {note ? <Text size="sm">{note}</Text> : null}
        <ChoiceGroups offered={choices} value={value} onChange={onChange} />
        {error ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        ) : null}
      </Stack>
    </Fieldset>
  )
}

function titled(group: string): string {
  return capitalized(group)
}
