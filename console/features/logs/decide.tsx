import { Button, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { CheckCheck, RotateCw } from 'lucide-react'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { showErrorToast, showToast } from '../../components/toast.ts'

interface DecideProps {
  readonly id: string
  readonly to: string
  readonly canSendAgain: boolean
}

/** What a person says of a message that may or may not have arrived: each choice has the same weight, and its effect beside it. */
export function Decide({ id, to, canSendAgain }: DecideProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const resolve = useApiMutation('resolveMessage')
  const params = { account, id }
  const arrived = () =>
    resolve.mutateAsync({ params, body: { as: 'arrived' } }).then(() => showToast('Noted that it arrived.'))
  const sendAgain = async () => {
    const message = await resolve.mutateAsync({ params, body: { as: 'send-again' } })
    showToast('A new message waits at the end of the lane.')
    await navigate({ to: '/a/$account/developer/logs/$id', params: { account, id: message.id } })
  }
  return (
    <SimpleGrid
      cols={{ base: 1, sm: canSendAgain ? 2 : 1 }}
      spacing="sm"
      role="group"
      aria-label="Your decision"
      mt="xs"
    >
      <Paper withBorder p="sm">
        <Stack gap="xs" align="flex-start" justify="space-between" h="100%">
          <Text size="sm">It becomes Published on your word, with your name in the timeline. Nothing is sent.</Text>
          <Button
            size="compact-md"
            leftSection={<CheckCheck size={16} aria-hidden />}
            disabled={resolve.isPending}
            onClick={() => void arrived().catch(showErrorToast)}
          >
            It arrived
          </Button>
        </Stack>
      </Paper>
      {canSendAgain ? (
        <Paper withBorder p="sm">
          <Stack gap="xs" align="flex-start" justify="space-between" h="100%">
            <Text size="sm">
              The same is sent as a new message. If the first one did arrive, <MaskedNumber number={to} /> gets it
              twice.
            </Text>
            <Button
              size="compact-md"
              leftSection={<RotateCw size={16} aria-hidden />}
              disabled={resolve.isPending}
              onClick={() => void sendAgain().catch(showErrorToast)}
            >
              Send again
            </Button>
          </Stack>
        </Paper>
      ) : null}
    </SimpleGrid>
  )
}
