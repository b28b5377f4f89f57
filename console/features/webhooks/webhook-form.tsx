import { Button, Group, Stack, TextInput } from '@mantine/core'
import { type WebhookForm as Form, webhookForm } from '../../../src/contract/console/webhooks.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { type ProofNeed, useProof } from '../../components/proof.tsx'
import { KindsField } from './kinds-field.tsx'

interface WebhookFormProps {
  readonly initial: Form
  readonly submitLabel: string
  /** About the notices that are chosen at first. */
  readonly note?: string
  /** For a dialog. A page leaves it to the dialog that its action opens. */
  readonly needsProof?: ProofNeed
  readonly onSubmit: (body: Form) => Promise<unknown>
  readonly onCancel: () => void
}

/** The form for new and for existing webhooks. */
export function WebhookForm({
  initial,
  submitLabel,
  note,
  needsProof = 'never',
  onSubmit,
  onCancel,
}: WebhookFormProps) {
  const { id: account } = useAccount()
  const offer = useApiQuery('describeNotices', { params: { account } }, { isLive: false })
  const form = useFormOf(webhookForm, initial)
  const proof = useProof({ need: needsProof, form })
  const submit = form.onSubmit(async (body) => {
    await proof.prove()
    await onSubmit(body)
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="lg">
        <TextInput
          label="Address"
          description="The URL that receives the notices, such as https://shop.example.com/hooks/nuncio"
          required
          type="url"
          autoFocus
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('url')}
        />
        <TextInput
          label="Description"
          description="What it is for. Optional."
          autoComplete="off"
          {...form.getInputProps('description')}
        />
        <KindsField
          offered={offer.data?.kinds ?? []}
          value={form.values.kinds}
          error={form.errors['kinds']}
          note={note}
          onChange={(kinds) => form.setFieldValue('kinds', kinds)}
        />
        {proof.fields}
        {form.problem ? <ProblemNote problem={form.problem} title="This was not saved" /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={form.submitting} disabled={!proof.isReady}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
