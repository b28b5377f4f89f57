import { Alert, Button, Stack, Title } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { Info, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { TokenReply } from '../../../src/contract/console/tokens.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { localDateTime } from '../../components/instants.ts'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TokenActivity } from './token-activity.tsx'
import { TokenDialogs } from './token-dialogs.tsx'
import { TokenFacts } from './token-facts.tsx'
import { isIdle, type TokenChange, tokenStatusOf } from './token-labels.ts'

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

function Actions({ token }: { readonly token: TokenReply }) {
  const { can } = useAccount()
  const [opened, open] = useState<TokenChange | null>(null)
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
      <TokenDialogs token={token} opened={opened} onClose={() => open(null)} />
    </>
  )
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
