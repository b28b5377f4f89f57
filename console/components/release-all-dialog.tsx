import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useApiMutation } from '../api/queries.ts'
import { useAccount } from './account.tsx'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { showToast } from './toast.ts'

/** A button that ends a hold of all numbers, and its dialog. */
export function ReleaseAllDialog() {
  const { id: account } = useAccount()
  const release = useApiMutation('releaseHold')
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)}>
        Release all numbers
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Release all numbers?"
        confirmLabel="Release all numbers"
        needsProof="if-due"
        onConfirm={async () => {
          await release.mutateAsync({ params: { account } })
          showToast('All numbers are released. What waits is sent now.')
        }}
      >
        <Text size="sm">
          Everything that waits is sent. If the database has gone back, such as to a backup, or was copied, that may
          include messages that were sent before or elsewhere. Cancel what must not go out again first.
        </Text>
      </ConfirmDialog>
    </>
  )
}
