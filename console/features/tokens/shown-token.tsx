import { Alert, Button, Group, Modal, Stack, Tabs, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { Download, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { ShownTokenReply } from '../../../src/contract/console/tokens.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { saveFile } from '../../components/save-file.ts'
import { sendExamples } from './send-examples.ts'
import { SendTest } from './send-test.tsx'

interface ShownTokenProps {
  readonly shown: ShownTokenReply
  readonly endpoint: string
  /** Numbers it may send from. */
  readonly numbers: readonly string[]
  readonly onClose: () => void
}

/** A token, which is shown only once. Leaving without having copied it needs a confirmation. */
export function ShownToken({ shown, endpoint, numbers, onClose }: ShownTokenProps) {
  const [isTaken, setTaken] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [isLeaving, setLeaving] = useState(false)
  const mayGo = isTaken || isLeaving
  useBlocker({
    shouldBlockFn: () => {
      if (!mayGo) setAsking(true)
      return !mayGo
    },
    enableBeforeUnload: () => !mayGo,
  })
  const close = () => (isTaken ? onClose() : setAsking(true))
  const leave = () => {
    setLeaving(true)
    // In the next turn, when navigation is no longer blocked.
    setTimeout(onClose)
  }
  return (
    <Modal
      opened
      onClose={close}
      title={`The token “${shown.details.name}”`}
      size="xl"
      centered
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {isAsking && !isTaken ? (
        <AskAgain onBack={() => setAsking(false)} onLeave={leave} />
      ) : (
        <Shown shown={shown} endpoint={endpoint} numbers={numbers} onTaken={() => setTaken(true)} onClose={close} />
      )}
    </Modal>
  )
}

function AskAgain({ onBack, onLeave }: { readonly onBack: () => void; readonly onLeave: () => void }) {
  return (
    <Stack>
      <Alert
        color="yellow"
        variant="light"
        icon={<TriangleAlert aria-hidden />}
        title="You have not copied the token"
        role="alert"
      >
        It cannot be shown again. Without it you will have to delete this token and create another.
      </Alert>
      <Group justify="flex-end">
        <Button variant="default" onClick={onLeave}>
          Close without the token
        </Button>
        <Button onClick={onBack} data-autofocus>
          Back to the token
        </Button>
      </Group>
    </Stack>
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
      <CodeBlock code={token} label="The token" onCopied={onTaken} />
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
  const examples = sendExamples({ endpoint, token, from })
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List aria-label="A first message in">
        {examples.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {examples.map(({ name, language, code }) => (
        <Tabs.Panel key={name} value={name} pt="sm">
          <CodeBlock code={code} language={language} label={`A first message with ${name}`} onCopied={onTaken} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function environmentFile(token: string, endpoint: string): string {
  return `# Keep this file secret, and out of version control.\nNUNCIO_API_TOKEN=${token}\nNUNCIO_SEND_URL=${endpoint}\n`
}

function saveText(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  saveFile(address, name)
  // By then the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
