import { Button, Group, Text } from '@mantine/core'
import { Link2, LogIn, Unlink } from 'lucide-react'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import type { PhoneView } from '../../../src/contract/console/phone.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ButtonLink } from '../../components/links.tsx'
import { SectionBox } from '../../components/section-box.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { PhoneProgress } from './phone-progress.tsx'

interface PhoneSectionProps {
  readonly connection: ConnectionView
  readonly phone: PhoneView
}

/** The phone that a number is linked to: its status, and what can be done about it. */
export function PhoneSection({ connection, phone }: PhoneSectionProps) {
  const { id: account, can } = useAccount()
  const { id } = connection
  const { lastLogin } = phone
  // The note about what the lane waits for may have the same sentence.
  const isSaidAbove = connection.wait?.sentence === phone.sentence
  return (
    <SectionBox title="Phone">
      {isSaidAbove ? null : (
        <>
          <Text size="sm" fw={600}>
            {phone.sentence}
          </Text>
          {phone.nextStep === null ? null : <Text size="sm">{phone.nextStep}</Text>}
        </>
      )}
      {lastLogin === null ? null : (
        <Text size="sm" c="dimmed">
          Last login <TimeAgo at={lastLogin.at} />, as device {lastLogin.device} of the phone, with version{' '}
          {lastLogin.version}.
        </Text>
      )}
      {can('developer') ? (
        <Group gap="xs">
          <ButtonLink
            variant={phone.isLinked ? 'default' : 'filled'}
            leftSection={<Link2 size={16} aria-hidden />}
            to="/a/$account/connections/$id/link"
            params={{ account, id }}
          >
            {phone.isLinked ? 'Link again' : 'Link the phone'}
          </ButtonLink>
          <Acts connection={connection} phone={phone} />
        </Group>
      ) : null}
    </SectionBox>
  )
}

function Acts({ connection, phone }: PhoneSectionProps) {
  const { id: account } = useAccount()
  const { id, number } = connection
  const request = useApiMutation('requestPhone')
  const [isAsking, setAsking] = useState(false)
  const [watched, setWatched] = useState<string | null>(null)
  const begin = (kind: 'use-here' | 'unlink') =>
    request.mutateAsync({ params: { account, id }, body: { kind } }).then((view) => setWatched(view.id))
  const complain = (error: Error) => showToast(error.message, 'bad')
  return (
    <>
      {phone.canUseHere ? (
        <Button
          leftSection={<LogIn size={16} aria-hidden />}
          loading={request.isPending || watched !== null}
          onClick={() => void begin('use-here').then(undefined, complain)}
        >
          Use here
        </Button>
      ) : null}
      {phone.isLinked ? (
        <Button
          variant="default"
          leftSection={<Unlink size={16} aria-hidden />}
          loading={watched !== null}
          onClick={() => setAsking(true)}
        >
          Unlink…
        </Button>
      ) : null}
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Unlink ${number} from its phone?`}
        confirmLabel="Unlink"
        needsProof="if-due"
        onConfirm={() => begin('unlink')}
      >
        <Text size="sm">
          The phone no longer lists this device, and what is stored of it here is removed. Messages that are accepted
          wait until a phone is linked again.
        </Text>
      </ConfirmDialog>
      {watched === null ? null : (
        <PhoneProgress key={watched} connection={id} request={watched} onEnd={() => setWatched(null)} />
      )}
    </>
  )
}
