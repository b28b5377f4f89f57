import { Alert, Code, Fieldset, Stack, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import { ChoiceGroups } from '../../components/choice-groups.tsx'

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

/** A long path breaks at its slashes, where it must. */
function breakable(path: string): ReactNode {
  return path.split(/(?<=\/)/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a fixed text
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ))
}

/** The events of a token, by group. */
export function EventsField({ offered, value, onChange, error }: EventsFieldProps) {
  const choices = offered.map(({ event, group, name, about, endpoint }) => ({
    name: event,
    group,
    label: name,
    description: (
      <>
        {about} <Code style={{ display: 'block', width: 'fit-content' }}>{breakable(endpoint)}</Code>
      </>
    ),
  }))
  return (
    <Fieldset legend="Events" data-path="events" tabIndex={-1} m={0}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          What the token may do.
        </Text>
        <ChoiceGroups offered={choices} value={value} onChange={onChange} />
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
