import { Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { z } from 'zod'
import { newTokenForm, type ShownTokenReply, type TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { localDateTime } from '../../components/instants.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useProof } from '../../components/proof.tsx'
import { DateField, ExpirationField } from './expiration-field.tsx'

const DAY_MS = 86_400_000

const shape = newTokenForm.pick({ expiration: true, expiresAt: true }).extend({ oldEndsAt: z.int().nullable() })

interface ReplaceDialogProps {
  readonly token: TokenRowReply
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onReplaced: (shown: ShownTokenReply) => void
}

export function ReplaceDialog({ isOpen, ...props }: ReplaceDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={props.onClose}
      title={`Rotate the token “${props.token.name}”`}
      centered
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <ReplaceForm {...props} />
    </Modal>
  )
}

function ReplaceForm({ token, onClose, onReplaced }: Omit<ReplaceDialogProps, 'isOpen'>) {
  const { id: account } = useAccount()
  const rotate = useApiMutation('rotateToken')
  const form = useFormOf(shape, { expiration: '90d', expiresAt: null, oldEndsAt: null })
  const { values, errors } = form
  const proof = useProof({ need: 'if-due', form })
  const submit = form.onSubmit(async (body) => {
    await proof.prove()
    onReplaced(await rotate.mutateAsync({ params: { account, id: token.id }, body }))
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <Text size="sm">
          A new token takes over the name “{token.name}”, the events and the limits. This one is renamed to “
          {token.name} (old)” and goes on working for a while, so that no program is cut off while you hand out the new
          one.
        </Text>
        <ExpirationField value={values} errors={errors} onChange={(ending) => form.setValues(ending)} />
        <OldEnd
          token={token}
          value={values.oldEndsAt}
          error={errors['oldEndsAt']}
          onChange={(oldEndsAt) => form.setValues({ oldEndsAt })}
        />
        {proof.fields}
        {form.problem ? <ProblemNote problem={form.problem} title="The token was not rotated" /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={form.submitting} disabled={!proof.isReady}>
            Rotate token
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

// While no day is chosen. This time is in the past, so the server would refuse it.
const NO_DAY = 0

const OVERLAPS = [
  { value: '1', label: 'For 1 day' },
  { value: '7', label: 'For 7 days' },
  { value: '30', label: 'For 30 days' },
] as const

interface OldEndProps {
  readonly token: TokenRowReply
  readonly value: number | null
  readonly onChange: (at: number | null) => void
  readonly error: React.ReactNode
}

/** The old token can end earlier than planned, never later. */
function OldEnd({ token, value, onChange, error }: OldEndProps) {
  const left = token.expiresAt - Date.now()
  const overlaps = OVERLAPS.filter(({ value: days }) => Number(days) * DAY_MS < left)
  const [choice, setChoice] = useState(left > 7 * DAY_MS ? '7' : 'life')
  const choose = (next: string) => {
    setChoice(next)
    if (next === 'life') onChange(token.expiresAt)
    else if (next === 'date') onChange(NO_DAY)
    else onChange(Date.now() + Number(next) * DAY_MS)
  }
  // Null: the server's default, which is selected first.
  const end = value ?? Math.min(Date.now() + 7 * DAY_MS, token.expiresAt)
  return (
    <Stack gap={4}>
      <Group align="flex-start" gap="sm">
        <NativeSelect
          label="The old token goes on working"
          value={choice}
          onChange={(event) => choose(event.currentTarget.value)}
          data={[
            ...overlaps,
            { value: 'life', label: 'Until it expires anyway' },
            { value: 'date', label: 'Until a date' },
          ]}
          data-path={choice === 'date' ? undefined : 'oldEndsAt'}
          error={choice === 'date' ? undefined : error}
        />
        {choice === 'date' ? (
          <DateField
            label="Its last day"
            value={value === NO_DAY ? null : value}
            latest={token.expiresAt}
            error={error}
            path="oldEndsAt"
            onChange={(at) => onChange(at === null ? NO_DAY : Math.min(at, token.expiresAt))}
          />
        ) : null}
      </Group>
      <Text size="sm" c="dimmed" role="status">
        {end === NO_DAY ? 'Choose its last day.' : `The old token ends on ${localDateTime(end)}.`}
      </Text>
    </Stack>
  )
}
