import { Button, Group, Text } from '@mantine/core'
import { CircleAlert, CircleHelp, CircleX, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AttentionItem } from '../../../src/contract/console/attention.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ButtonLink } from '../../components/links.tsx'
import { ReleaseAll } from '../../components/release-all.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showErrorToast } from '../../components/toast.ts'
import classes from './attention.module.css'
import { timeLabelOf } from './attention-text.ts'

/** One thing that waits for a person: what it is, how many, since when, and what to do about it. */
export function AttentionRow({ item }: { readonly item: AttentionItem }) {
  const { alarm, messages, seen } = item
  const isBad = alarm?.severity === 'critical' || messages !== null
  const timeLabel = timeLabelOf(item)
  const Icon: LucideIcon = alarm?.kind === 'unconfirmed' ? CircleHelp : messages === null ? CircleAlert : CircleX
  return (
    <li className={classes['row']} data-attention={item.key}>
      <Icon size={18} aria-hidden color={`var(--nc-${isBad ? 'notsent' : 'attend'}-fg)`} className={classes['icon']} />
      <div className={classes['text']}>
        <Text fw={600}>
          <Sentence text={item.title} />
        </Text>
        <Text size="sm" c="dimmed" component="div">
          {detailOf(item)}{' '}
          {timeLabel === null ? null : (
            <>
              {timeLabel} <TimeAgo at={item.latestAt} />.
            </>
          )}
          {seen === null ? null : (
            <>
              {' '}
              Seen by {seen.by} <TimeAgo at={seen.at} isQuiet />.
            </>
          )}
        </Text>
      </div>
      <Group gap="xs" wrap="nowrap" className={classes['acts'] ?? ''}>
        <MainAction item={item} />
        {seen === null ? <SeenButton item={item} /> : null}
      </Group>
    </li>
  )
}

function detailOf({ alarm, nextStep }: AttentionItem): ReactNode {
  // The button does what the step says.
  return alarm?.of === 'connection' || alarm?.of === 'token' || alarm?.kind === 'unconfirmed' ? null : nextStep
}

function MainAction({ item: { alarm, messages, connection, webhook } }: { readonly item: AttentionItem }) {
  const { id: account } = useAccount()
  const toLog = (label: string, search: object) => (
    <ButtonLink
      to="/a/$account/developer/logs"
      params={{ account }}
      search={search as never}
      variant="default"
      size="compact-sm"
    >
      {label}
    </ButtonLink>
  )
  if (messages !== null) {
    const { state, reason, since, count } = messages
    const search = { result: state.toLowerCase(), open: 'yes', reason: reason ?? undefined, since }
    return toLog(`Show ${count.toLocaleString('en')}`, search)
  }
  // Only the owner of the one account sees this alarm.
  if (alarm?.kind === 'lanes_held') return <ReleaseAll />
  if (alarm?.kind === 'unconfirmed') return toLog('Decide', { view: 'attention' })
  if (webhook !== null)
    return (
      <ButtonLink
        to="/a/$account/developer/webhooks/$id"
        params={{ account, id: webhook.id }}
        variant="default"
        size="compact-sm"
      >
        Open the webhook
      </ButtonLink>
    )
  if (connection !== null)
    return (
      <ButtonLink
        to="/a/$account/connections/$id"
        params={{ account, id: connection.id }}
        variant="default"
        size="compact-sm"
      >
        {`Open ${connection.number}`}
      </ButtonLink>
    )
  if (alarm?.of === 'connection' || alarm?.of === 'token')
    return (
      <ButtonLink
        to={alarm.of === 'connection' ? '/a/$account/connections/$id' : '/a/$account/developer/tokens/$id'}
        params={{ account, id: alarm.object }}
        variant="default"
        size="compact-sm"
      >
        {`Open ${alarm.name}`}
      </ButtonLink>
    )
  return null
}

function SeenButton({ item: { key, latestAt, maySee } }: { readonly item: AttentionItem }) {
  const { id: account, can } = useAccount()
  const note = useApiMutation('noteAttentionSeen')
  if (!maySee || !can('developer')) return null
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      loading={note.isPending}
      title="Hides it until there is something newer"
      onClick={() =>
        void note.mutateAsync({ params: { account }, body: { key, until: latestAt } }).catch(showErrorToast)
      }
    >
      Seen
    </Button>
  )
}
