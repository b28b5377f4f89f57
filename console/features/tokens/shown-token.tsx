import { Alert, Button, Code, Group, Stack, Tabs, Text } from '@mantine/core'
import { Download, TriangleAlert } from 'lucide-react'
import type { ShownTokenReply } from '../../../src/contract/console/tokens.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { saveFile } from '../../components/save-file.ts'
import { ShownOnce } from '../../components/shown-once.tsx'
import { bodyOf, FIRST_DRAFT } from '../quickstart/draft.ts'
import { environmentFile, LANGUAGES, SNIPPETS } from '../quickstart/snippets.ts'
import { SendTest } from './send-test.tsx'

interface ShownTokenProps {
  readonly shown: ShownTokenReply
  readonly endpoint: string
  /** Numbers it may send from. */
  readonly numbers: readonly string[]
  readonly onClose: () => void
}

/** A token, which is shown only once. */
export function ShownToken({ shown, endpoint, numbers, onClose }: ShownTokenProps) {
  return (
    <ShownOnce
      title={`The token “${shown.details.name}”`}
      what="token"
      without="Without it you will have to delete this token and create another."
      onClose={onClose}
    >
      {({ onTaken, close }) => (
        <Shown shown={shown} endpoint={endpoint} numbers={numbers} onTaken={onTaken} onClose={close} />
      )}
    </ShownOnce>
  )
}

interface ShownProps extends ShownTokenProps {
  readonly onTaken: () => void
}

function Shown({ shown, endpoint, numbers, onTaken, onClose }: ShownProps) {
  const { token, details } = shown
  return (
    <Stack>
      <Text size="sm">
        It is shown only now: copy it and keep it secret. It cannot be shown later, because only a hash of it is kept.
      </Text>
      <Code block role="group" aria-label="The token" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {token}
      </Code>
      <Group gap="sm">
        <CopyButton value={token} label="Copy token" isWide onCopied={onTaken} />
        <Button
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
          onClick={() => {
            saveText('.env', environmentFile(token, endpoint))
            onTaken()
          }}
        >
          Download .env
        </Button>
      </Group>
      {details.events.length === 0 ? (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="It can do nothing">
          This token carries no event, so every request made with it is refused with 403.
        </Alert>
      ) : (
        <>
          <Examples token={token} endpoint={endpoint} numbers={numbers} onTaken={onTaken} />
          <SendTest token={token} numbers={numbers} />
        </>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}

function Examples({ token, endpoint, numbers, onTaken }: Omit<ShownProps, 'shown' | 'onClose'> & { token: string }) {
  const [from] = numbers
  if (from === undefined)
    return <Text size="sm">This account has no connection yet. Add one: messages are sent from its number.</Text>
  const body = bodyOf('message', { ...FIRST_DRAFT, from })
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List aria-label="A first message in">
        {LANGUAGES.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {SNIPPETS[language].name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {LANGUAGES.map((language) => {
        const { name, highlight, write } = SNIPPETS[language]
        return (
          <Tabs.Panel key={language} value={language} pt="sm">
            <CodeBlock
              code={write(endpoint, body, token)}
              language={highlight}
              label={`A first message with ${name}`}
              onCopied={onTaken}
            />
          </Tabs.Panel>
        )
      })}
    </Tabs>
  )
}

function saveText(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  saveFile(address, name)
  // By then the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
