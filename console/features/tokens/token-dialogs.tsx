import { useMounted } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ShownTokenReply, TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { numbersOf } from './new-token.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { ReplaceDialog } from './replace-dialog.tsx'
import { ShownToken } from './shown-token.tsx'
import type { TokenChange } from './token-labels.ts'

interface TokenDialogsProps {
  readonly token: TokenRowReply
  /** The one that is open. */
  readonly opened: TokenChange | null
  readonly onClose: () => void
}

/** Ask what must be asked before a token is changed. */
export function TokenDialogs({ token, opened: wanted, onClose }: TokenDialogsProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  // A dialog that is open from the start does not know to what it gives the focus back.
  const opened = useMounted() ? wanted : null
  const [shown, setShown] = useState<ShownTokenReply | null>(null)
  return (
    <>
      <RenameDialog token={token} isOpen={opened === 'rename'} onClose={onClose} />
      <ReplaceDialog
        token={token}
        isOpen={opened === 'replace'}
        onClose={onClose}
        onReplaced={(made) => {
          onClose()
          setShown(made)
        }}
      />
      <DeleteDialog token={token} isOpen={opened === 'delete'} onClose={onClose} />
      {shown ? (
        <Successor
          shown={shown}
          onClose={() =>
            void navigate({ to: '/a/$account/developer/tokens/$id', params: { account, id: shown.details.id } })
          }
        />
      ) : null}
    </>
  )
}

function Successor({ shown, onClose }: { readonly shown: ShownTokenReply; readonly onClose: () => void }) {
  const { id: account } = useAccount()
  const offer = useApiQuery('describeTokenForm', { params: { account } }, { isLive: false })
  if (!offer.data) return null
  const { endpoint } = offer.data
  return <ShownToken shown={shown} endpoint={endpoint} numbers={numbersOf(shown, offer.data)} onClose={onClose} />
}
