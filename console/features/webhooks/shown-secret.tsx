import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { CodeBlock } from '../../components/code-block.tsx'

interface ShownSecretProps {
  readonly secret: string
  readonly onClose: () => void
}

/** A webhook's secret, which is shown only once. */
export function ShownSecret({ secret, onClose }: ShownSecretProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="The secret of the webhook"
      size="xl"
      centered
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="It is shown only now">
          Give it to the program that receives. Every program that has it can forge our notices.
        </Alert>
        <CodeBlock code={secret} label="Secret" />
        <Text size="sm">Verify each request before you believe it, for example in Node:</Text>
        <CodeBlock code={SNIPPET} language="javascript" label="Verifying in Node" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have taken it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

const SNIPPET = `// npm install standardwebhooks
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
// The raw body, before it is parsed. Throws when it is not from us.
const notice = webhook.verify(rawBody, request.headers)`
