import { Alert, Checkbox, Stack, Text } from '@mantine/core'
import { PackageOpen, TriangleAlert } from 'lucide-react'
import type { ChannelView } from '../../../src/contract/console/connections.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { startCommand } from './start-first.ts'

interface ChannelNotesProps {
  readonly channel: ChannelView
  /** What was typed as its setting `url`. */
  readonly url: string
  readonly hasConsented: boolean
  readonly onConsent: (hasConsented: boolean) => void
}

/** What must be done or accepted before a number of this channel can be added. */
export function ChannelNotes({ channel, url, hasConsented, onConsent }: ChannelNotesProps) {
  const { label, startFirst, warning } = channel
  return (
    <>
      {startFirst ? (
        <Stack gap="xs">
          <Text size="sm">{startFirst.about}</Text>
          <CodeBlock label="Start the adapter" language="bash" code={startCommand(startFirst.command, url)} />
        </Stack>
      ) : null}
      {warning ? (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title={`Before you use ${label}`}>
          <Stack gap="xs">
            {warning.sentences.map((sentence) => (
              <Text key={sentence} size="sm">
                {sentence}
              </Text>
            ))}
            <Checkbox
              label={warning.consent}
              checked={hasConsented}
              onChange={(event) => onConsent(event.currentTarget.checked)}
            />
          </Stack>
        </Alert>
      ) : null}
    </>
  )
}

/** Shown first, so that no form is filled in for nothing. */
export function MissingNote({ label, missing }: Pick<ChannelView, 'label' | 'missing'>) {
  if (!missing) return null
  return (
    <Alert color="red" variant="light" icon={<PackageOpen aria-hidden />} title={`${label} is not installed`}>
      <Stack gap="xs">
        <Text size="sm">{missing.sentence} Install them there, then load this page again:</Text>
        <CodeBlock label="Install the channel" language="bash" code={missing.command} />
      </Stack>
    </Alert>
  )
}
