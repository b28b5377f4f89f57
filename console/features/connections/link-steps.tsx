import { Alert, Group, List, Loader, Stack, Text, Title } from '@mantine/core'
import { Check, Circle, Info } from 'lucide-react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import type { PhoneRequestView } from '../../../src/contract/console/phone.ts'
import { messages } from './connection-labels.ts'

interface LinkStepsProps {
  readonly connection: ConnectionView
  readonly kind: 'qr' | 'code'
  readonly request: PhoneRequestView | null
}

const REACHED: Readonly<Record<PhoneRequestView['state'], number>> = {
  waiting: 0,
  connecting: 0,
  showing: 1,
  confirmed: 2,
  'logging-in': 3,
  ended: 4,
}

/** What to do on the phone, and what happens here meanwhile. */
export function LinkSteps({ connection, kind, request }: LinkStepsProps) {
  const { number, waiting } = connection
  const reached = REACHED[request?.state ?? 'waiting']
  const states = [
    'Connected to WhatsApp',
    kind === 'qr' ? 'Waiting for the scan' : 'Waiting for the code to be typed',
    'Linking, a few seconds',
    waiting.count === 0 ? 'Ready to send' : `Ready to send ${messages(waiting)}`,
  ]
  return (
    <Stack gap="md">
      <Title order={2}>On the phone</Title>
      <List type="ordered" spacing="xs" size="sm">
        <List.Item>
          Open <b>WhatsApp</b> on the phone with the number {number}.
        </List.Item>
        <List.Item>
          iPhone: <b>Settings</b>, then <b>Linked devices</b>.
          <br />
          Android: <b>⋮</b> at the top right, then <b>Linked devices</b>.
        </List.Item>
        {kind === 'qr' ? (
          <List.Item>
            Tap <b>Link a device</b> and point the camera at the code.
          </List.Item>
        ) : (
          <List.Item>
            Tap <b>Link a device</b>, then <b>Link with phone number instead</b>, and type the code.
          </List.Item>
        )}
      </List>
      <Title order={2}>Here</Title>
      <Stack gap={4} aria-live="polite">
        {states.map((text, index) => (
          <Group key={text} gap="xs" wrap="nowrap">
            {index < reached ? (
              <Check size={16} aria-label="done" />
            ) : index === reached ? (
              <Loader size={16} role="img" aria-label="now" />
            ) : (
              <Circle size={16} aria-label="later" />
            )}
            <Text size="sm" fw={index <= reached ? 600 : 400} c={index > reached ? 'dimmed' : ''}>
              {text}
            </Text>
          </Group>
        ))}
        {request && !request.hasWorker ? (
          <Text size="sm">No worker runs that could do this. Ask the person who runs Nuncio to start one.</Text>
        ) : null}
      </Stack>
      <Alert variant="light" color="gray" icon={<Info aria-hidden />}>
        The phone must come online now and then, or WhatsApp unlinks this device.
      </Alert>
    </Stack>
  )
}
