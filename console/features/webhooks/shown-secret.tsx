import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { CodeBlock } from '../../components/code-block.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'

interface ShownSecretProps {
  readonly secret: string
  readonly onClose: () => void
}

/** A webhook's secret, which is shown only once. */
export function ShownSecret({ secret, onClose }: ShownSecretProps) {
  return (
    <ShownOnce
      title="The secret of the webhook"
      what="secret"
      without="Without it you will have to make a new secret."
      onClose={onClose}
    >
      {({ onTaken, close }) => (
        <Stack>
          <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="It is shown only now">
            Give it to the program that receives. Every program that has it can forge our notices.
          </Alert>
          <CodeBlock code={secret} label="Secret" onCopied={onTaken} />
          <Text size="sm">Verify each request before you believe it, for example in Node:</Text>
          <CodeBlock code={SNIPPET} language="javascript" label="Verifying in Node" />
          <Group justify="flex-end">
            <Button onClick={close}>Done</Button>
          </Group>
        </Stack>
      )}
    </ShownOnce>
  )
}

const SNIPPET = `// npm install standardwebhooks
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
// The raw body, before it is parsed. Throws when it is not from us.
const notice = webhook.verify(rawBody, request.headers)`
