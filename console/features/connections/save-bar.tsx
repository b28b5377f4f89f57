import { Button, Group, Text } from '@mantine/core'
import classes from './connection.module.css'
import { changesText } from './connection-labels.ts'

interface SaveBarProps {
  readonly label: string
  /** The fields that were changed and not saved. */
  readonly changed: readonly string[]
  readonly isSaving: boolean
  readonly onDiscard: () => void
}

/** At the end of a long form, and in sight while something is not saved. */
export function SaveBar({ label, changed, isSaving, onDiscard }: SaveBarProps) {
  const isDirty = changed.length > 0
  return (
    <Group justify="space-between" className={isDirty ? (classes['save'] ?? '') : ''}>
      <Text size="sm" role="status">
        {isDirty ? changesText(changed) : ''}
      </Text>
      <Group gap="xs">
        {isDirty ? (
          <Button variant="default" onClick={onDiscard}>
            Discard
          </Button>
        ) : null}
        <Button type="submit" loading={isSaving} disabled={!isDirty}>
          {label}
        </Button>
      </Group>
    </Group>
  )
}
