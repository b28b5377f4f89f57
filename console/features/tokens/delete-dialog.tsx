import { List, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { TokenRowReply, TokenUseReply } from '../../../src/contract/console/tokens.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TypedDialog } from '../../components/confirm-dialog.tsx'
import { localDateTime } from '../../components/instants.ts'
import { showToast } from '../../components/toast.ts'
import { isTokenOf, useTokenInHand } from '../../components/token-in-hand.ts'
import { counted } from './token-labels.ts'

const MOST_ADDRESSES = 5

interface DeleteDialogProps {
  readonly token: TokenRowReply
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function DeleteDialog({ token, isOpen, onClose }: DeleteDialogProps) {
  const { id: account } = useAccount()
  const client = useQueryClient()
  const [inHand, keepInHand] = useTokenInHand(account)
  const remove = useApiMutation('deleteToken')
  const use = useApiQuery(
    'countTokenUse',
    { params: { account }, query: { token: token.id } },
    { enabled: isOpen, isLive: false },
  )
  const confirm = async () => {
    await remove.mutateAsync({ params: { account, id: token.id }, body: { name: token.name } })
    // The lists that are not on screen would show it until they are reloaded, for as long as the service does not answer.
    client.removeQueries({ queryKey: ['listTokens'], type: 'inactive' })
    if (isTokenOf(inHand, token.prefix)) keepInHand(null)
    showToast(`Token “${token.name}” deleted. Requests with it are refused from now on.`)
  }
  return (
    <TypedDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete the token “${token.name}”?`}
      confirmLabel="Delete token"
      needsProof="if-due"
      typeToConfirm={token.name}
      onConfirm={confirm}
    >
      <Text size="sm">
        Every request made with it is refused with 401 from now on. Messages that were accepted before are still sent.
        This cannot be undone.
      </Text>
      {use.data ? <WhoUsedIt use={use.data} /> : null}
    </TypedDialog>
  )
}

function WhoUsedIt({ use }: { readonly use: TokenUseReply }) {
  const requests = use.callers.reduce((sum, one) => sum + one.requests, 0)
  const since = use.isComplete ? 'in the last 24 hours' : `since ${localDateTime(use.countedFrom)}`
  if (requests === 0) {
    return (
      <Text size="sm" mt="sm">
        It was not used {since}.
      </Text>
    )
  }
  const addresses = byAddress(use.callers)
  const withoutAddress = requests - addresses.reduce((sum, [, count]) => sum + count, 0)
  return (
    <>
      <Text size="sm" mt="sm" fw={600}>
        It was used {counted(requests, 'time')} {since}
        {addresses.length > 0 ? `, by ${counted(addresses.length, 'address', 'addresses')}` : ''}:
      </Text>
      <List size="sm" mt={4}>
        {addresses.slice(0, MOST_ADDRESSES).map(([address, count]) => (
          <List.Item key={address}>
            {address}: {counted(count, 'request')}
          </List.Item>
        ))}
        {addresses.length > MOST_ADDRESSES ? <List.Item>{addresses.length - MOST_ADDRESSES} more</List.Item> : null}
        {withoutAddress > 0 ? (
          <List.Item>Refused, and not listed one by one: {counted(withoutAddress, 'request')}</List.Item>
        ) : null}
      </List>
    </>
  )
}

function byAddress(callers: TokenUseReply['callers']): (readonly [string, number])[] {
  const sums = new Map<string, number>()
  for (const { address, requests } of callers)
    if (address !== null) sums.set(address, (sums.get(address) ?? 0) + requests)
  return [...sums].sort(([, one], [, other]) => other - one)
}
