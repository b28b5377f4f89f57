import { Button, Group, NativeSelect, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { Send } from 'lucide-react'
import { CAPTION_MAX_CHARACTERS, TEXT_MAX_CHARACTERS } from '../../../src/contract/field-rules.ts'
import { SAMPLES } from '../../../src/contract/samples.ts'
import { withAddress } from '../../components/file-name.ts'
import { namedNumber } from '../../components/named-number.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { SampleButton } from '../../components/sample-button.tsx'
import { TokenField } from '../../components/token-field.tsx'
import { type Draft, type MessageKind, TYPES } from './draft.ts'
import type { Composing } from './use-composing.ts'

export interface Sender {
  readonly number: string
  readonly name: string | null
  readonly channel: string
}

interface ComposeFormProps {
  readonly composing: Composing
  readonly senders: readonly Sender[]
  readonly endpoint: string
  readonly onType: (type: MessageKind) => void
  readonly onSender: (number: string) => void
}

/** The form for a message, with the rules of the endpoint. */
export function ComposeForm({ composing, senders, endpoint, onType, onSender }: ComposeFormProps) {
  const { draft, type, write, problemAt, isSending, problem, submit } = composing
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Stack gap="sm">
        <TokenField token={composing.token} error={problemAt('token')} onToken={composing.setToken} data-path="token" />
        <NativeSelect
          label="From"
          value={draft.from}
          error={problemAt('from')}
          data-path="from"
          onChange={({ currentTarget }) => {
            write({})
            onSender(currentTarget.value)
          }}
          data={senders.map((one) => ({ value: one.number, label: `${namedNumber(one)} (${one.channel})` }))}
        />
        <TextInput
          label="To"
          description="With the country code."
          inputMode="tel"
          value={draft.to}
          error={problemAt('to')}
          data-path="to"
          onChange={({ currentTarget }) => write({ to: currentTarget.value })}
        />
        <div>
          <Text size="sm" fw={500} id="type-label" mb={4}>
            Type
          </Text>
          <SegmentedControl
            aria-labelledby="type-label"
            fullWidth
            size="xs"
            value={type}
            onChange={onType}
            data={[...TYPES]}
          />
        </div>
        {type === 'message' ? (
          <TextField composing={composing} />
        ) : (
          <MediaFields composing={composing} type={type} endpoint={endpoint} />
        )}
        {problem === null ? null : <ProblemNote problem={problem} title="It was not sent" />}
        <Group>
          <Button type="submit" loading={isSending} leftSection={<Send size={16} aria-hidden />}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function TextField({ composing: { draft, write, problemAt } }: { readonly composing: Composing }) {
  return (
    <Textarea
      label="Text"
      description={`At most ${TEXT_MAX_CHARACTERS.toLocaleString('en')} characters.`}
      autosize
      minRows={3}
      maxRows={10}
      value={draft.text}
      error={problemAt('message.message')}
      data-path="message.message"
      onChange={({ currentTarget }) => write({ text: currentTarget.value })}
    />
  )
}

interface MediaFieldsProps {
  readonly composing: Composing
  readonly type: Exclude<MessageKind, 'message'>
  readonly endpoint: string
}

function MediaFields({ composing: { draft, write, problemAt }, type, endpoint }: MediaFieldsProps) {
  const example = SAMPLES[type]
  const field = (key: keyof Draft, path: string) => ({
    value: draft[key],
    error: problemAt(path),
    'data-path': path,
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      write({ [key]: currentTarget.value }),
  })
  return (
    <>
      <TextInput
        label="Address of the file"
        description={
          <>
            A public http or https address. The file is fetched from there before it is sent. None at hand?{' '}
            <SampleButton type={type} endpoint={endpoint} onSample={write} />
          </>
        }
        placeholder={`https://files.example.com/${example}`}
        inputMode="url"
        {...field('url', 'message.media.url')}
        onChange={({ currentTarget }) => write(withAddress(draft, currentTarget.value))}
      />
      <TextInput
        label="File name"
        description="As the recipient sees it, with its extension."
        placeholder={example}
        {...field('name', 'message.media.name')}
      />
      {type === 'audio' ? null : (
        <TextInput
          label="Caption"
          description={`May be left out. At most ${CAPTION_MAX_CHARACTERS.toLocaleString('en')} characters.`}
          {...field('caption', 'message.media.caption')}
        />
      )}
    </>
  )
}
