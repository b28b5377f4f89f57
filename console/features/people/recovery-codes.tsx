import { Button, Modal, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useApiMutation } from '../../api/queries.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'

/** Codes for when the second factor is lost. */
export function RecoveryCodes({ left }: { readonly left: number }) {
  const replace = useApiMutation('replaceRecoveryCodes')
  const [isAsking, setAsking] = useState(false)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const makeNew = async () => setCodes((await replace.mutateAsync({})).recoveryCodes)
  return (
    <Stack gap="xs" align="flex-start">
      <Title order={3}>Recovery codes</Title>
      <Text size="sm" c="dimmed">
        {left === 0
          ? 'None are left: make new ones now.'
          : `${left} of 10 are left. Each stands in for your second factor once.`}
      </Text>
      <Button variant="default" onClick={() => setAsking(true)}>
        Make new codes
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Make new recovery codes?"
        confirmLabel="Make new codes"
        needsProof="if-due"
        onConfirm={makeNew}
        isDanger={false}
      >
        <Text size="sm">The codes you have now stop working.</Text>
      </ConfirmDialog>
      {codes ? <CodesDialog codes={codes} onClose={() => setCodes(null)} /> : null}
    </Stack>
  )
}

/** Shown only once, so only the button closes the dialog. */
export function CodesDialog({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="Your recovery codes"
      centered
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack gap="sm">
        <Text size="sm">
          Keep them where your phone is not. Each works once, in place of your second factor. They are shown only now.
        </Text>
        <CodeBlock code={codes.join('\n')} label="Recovery codes" />
        <Button onClick={onClose} data-autofocus>
          I have kept them
        </Button>
      </Stack>
    </Modal>
  )
}
