import { Alert, Button, Stack, Title } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Info, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import type { ShownTokenReply, TokenReply } from '../../../src/contract/console/tokens.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { localDateTime } from '../../components/instants.ts'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { numbersOf } from './new-token.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { ReplaceDialog } from './replace-dialog.tsx'
import { ShownToken } from './shown-token.tsx'
import { TokenActivity } from './token-activity.tsx'
import { TokenFacts } from './token-facts.tsx'
import { isIdle, tokenStatusOf } from './token-labels.ts'

export function Token() {
  const { id = '' } = useParams({ strict: false })
  const { id: account } = useAccount()
  const token = useApiQuery('readToken', { params: { account, id } })
  return (
    <Page
      title="API token"
      detail={token.data?.name}
      back={
        <TextLink to="/a/$account/developer/tokens" params={{ account }} size="sm" data-alone>
          API tokens
        </TextLink>
      }
      actions={token.data ? <Actions key={id} token={token.data} /> : null}
    >
      {token.error ? (
        <ProblemNote
          problem={token.error}
          title="This token could not be loaded"
          onRetry={() => void token.refetch()}
        />
      ) : token.data ? (
        <>
          <Notes account={account} token={token.data} />
          <Stack gap="sm" component="section" aria-labelledby="facts">
            <Title order={2} id="facts">
              Facts
            </Title>
            <TokenFacts account={account} token={token.data} />
          </Stack>
          <TokenActivity id={id} />
        </>
      ) : null}
    </Page>
  )
}

const OPENED = ['rename', 'replace', 'delete'] as const
type Opened = (typeof OPENED)[number] | null

/** The dialog that the menu of the list has asked for. */
const search = z.object({ ask: z.enum(OPENED).optional().catch(undefined) })

function Actions({ token }: { readonly token: TokenReply }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const [{ ask }, change] = useSearchState(search)
  const [opened, open] = useState<Opened>(ask ?? null)
  const [shown, setShown] = useState<ShownTokenReply | null>(null)
  const close = () => {
    open(null)
    if (ask !== undefined) change({ ask: undefined })
  }
  const status = tokenStatusOf(token)
  if (!can('developer')) return null
  return (
    <>
      {status === 'deleted' ? null : (
        <>
          <Button variant="default" leftSection={<Pencil size={16} aria-hidden />} onClick={() => open('rename')}>
            Rename
          </Button>
          {status === 'expired' || token.successor ? null : (
            <Button variant="default" leftSection={<RefreshCw size={16} aria-hidden />} onClick={() => open('replace')}>
              Rotate
            </Button>
          )}
          <Button
            variant="default"
            c="red"
            leftSection={<Trash2 size={16} aria-hidden />}
            onClick={() => open('delete')}
          >
            Delete
          </Button>
        </>
      )}
      <RenameDialog token={token} isOpen={opened === 'rename'} onClose={close} />
      <ReplaceDialog
        token={token}
        isOpen={opened === 'replace'}
        onClose={close}
        onReplaced={(made) => {
          close()
          setShown(made)
        }}
      />
      <DeleteDialog token={token} isOpen={opened === 'delete'} onClose={close} />
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

function Notes({ account, token }: { readonly account: string; readonly token: TokenReply }) {
  const { successor, predecessor, expiresAt, deletedAt } = token
  const isOver = deletedAt !== null || expiresAt <= Date.now()
  return (
    <>
      {successor ? (
        <Alert
          color="blue"
          variant="light"
          icon={<Info aria-hidden />}
          title={isOver ? 'It was replaced' : 'It is being replaced'}
        >
          Its successor is{' '}
          <TextLink to="/a/$account/developer/tokens/$id" params={{ account, id: successor.id }} inherit c="inherit">
            {successor.name}
          </TextLink>
          .{' '}
          {isOver
            ? 'Programs that still use this one are refused.'
            : `This one goes on working until ${localDateTime(expiresAt)}: the callers below still use it, and need the new one by then.`}
        </Alert>
      ) : null}
      {predecessor ? (
        <Alert color="blue" variant="light" icon={<Info aria-hidden />} title="It replaces another token">
          See who still uses{' '}
          <TextLink to="/a/$account/developer/tokens/$id" params={{ account, id: predecessor.id }} inherit c="inherit">
            {predecessor.name}
          </TextLink>
          , and give them this one.
        </Alert>
      ) : null}
      {isIdle(token) && !isOver ? (
        <Alert color="yellow" variant="light" icon={<Info aria-hidden />} title="Idle for over 30 days">
          It has not been used for that long. Delete it if it is no longer needed: a token that does not exist cannot
          leak.
        </Alert>
      ) : null}
    </>
  )
}
