import { Alert, Box, Checkbox, Code, Fieldset, Stack, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

interface OfferedEvent {
  readonly event: string
  readonly group: string
  readonly name: string
  readonly about: string
  readonly endpoint: string
}

interface EventsFieldProps {
  readonly offered: readonly OfferedEvent[]
  readonly value: readonly string[]
  readonly onChange: (events: string[]) => void
  readonly error?: ReactNode
}

/** What a token may do, by group. */
export function EventsField({ offered, value, onChange, error }: EventsFieldProps) {
  const groups = [...new Set(offered.map(({ group }) => group))]
  return (
    <Fieldset legend="Events" data-path="events" tabIndex={-1}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          What the token may do.
        </Text>
        {groups.map((group) => (
          <EventGroup
            key={group}
            group={group}
            offered={offered.filter((one) => one.group === group)}
            value={value}
            onChange={onChange}
          />
        ))}
        {error ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        ) : null}
        {value.length === 0 ? (
          <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="It can do nothing">
            Without an event every request made with this token is refused with 403. Sending messages needs Messaging
            &gt; Send Message.
          </Alert>
        ) : null}
      </Stack>
    </Fieldset>
  )
}

function EventGroup({ group, offered, value, onChange }: Omit<EventsFieldProps, 'error'> & { readonly group: string }) {
  const names = offered.map(({ event }) => event)
  const chosen = names.filter((name) => value.includes(name))
  const others = value.filter((name) => !names.includes(name))
  return (
    <Box role="group" aria-label={group}>
      <Checkbox
        label={group}
        aria-label={`All of ${group}`}
        fw={600}
        checked={chosen.length === names.length}
        indeterminate={chosen.length > 0 && chosen.length < names.length}
        onChange={(event) => onChange(event.currentTarget.checked ? [...others, ...names] : others)}
      />
      <Stack gap="xs" pl="xl" pt="xs">
        {offered.map(({ event, name, about, endpoint }) => (
          <Checkbox
            key={event}
            label={name}
            description={
              <>
                {about} <Code>{endpoint}</Code>
              </>
            }
            checked={value.includes(event)}
            onChange={(change) =>
              onChange(change.currentTarget.checked ? [...value, event] : value.filter((other) => other !== event))
            }
          />
        ))}
      </Stack>
    </Box>
  )
}
