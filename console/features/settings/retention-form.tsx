import { Button, Group, NumberInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { RetentionReply } from '../../../src/contract/console/overview.ts'
import { useApiMutation } from '../../api/queries.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'

type Days = number | string

/** Shorter retention periods of the account; an empty field means that of the installation. */
export function RetentionForm({ kept, account }: { readonly kept: RetentionReply; readonly account: string }) {
  const [bodies, setBodies] = useState<Days>(kept.own.bodiesDays ?? '')
  const [messages, setMessages] = useState<Days>(kept.own.messagesDays ?? '')
  const change = useApiMutation('changeRetention')
  const save = () =>
    change.mutate(
      { params: { account }, body: { bodiesDays: daysOf(bodies), messagesDays: daysOf(messages) } },
      { onSuccess: () => showToast('Retention changed') },
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
      noValidate
    >
      <Stack gap="sm" maw={600}>
        <Text size="sm">
          This account can keep data for a shorter time than the installation, not for longer. An empty field means: as
          long as the installation.
        </Text>
        <Group grow align="flex-start">
          <NumberInput
            label="Texts and addresses, in days"
            min={1}
            allowDecimal={false}
            clampBehavior="none"
            hideControls
            placeholder={String(kept.installation.bodiesDays || 'for ever')}
            value={bodies}
            onChange={setBodies}
          />
          <NumberInput
            label="Messages and the log, in days"
            min={10}
            allowDecimal={false}
            clampBehavior="none"
            hideControls
            placeholder={String(kept.installation.messagesDays || 'for ever')}
            value={messages}
            onChange={setMessages}
          />
        </Group>
        {change.error ? <ProblemNote problem={change.error} title="Nothing was changed" /> : null}
        <Group>
          <Button type="submit" variant="default" loading={change.isPending}>
            Change
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function daysOf(days: Days): number | null {
  return days === '' ? null : Number(days)
}
