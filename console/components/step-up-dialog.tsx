import { Text } from '@mantine/core'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** Lets a person confirm who they are when the action has no dialog of its own; the action continues afterwards. */
export function StepUpDialog({ onAnswer }: { readonly onAnswer: (proven: boolean) => void }) {
  return (
    <ConfirmDialog
      isOpen
      onClose={() => onAnswer(false)}
      title="Confirm that it is you"
      confirmLabel="Confirm"
      onConfirm={async () => onAnswer(true)}
      needsProof="always"
      isDanger={false}
      zIndex={400}
    >
      <Text size="sm">Confirm your identity to continue. You are then not asked again for some minutes.</Text>
    </ConfirmDialog>
  )
}
