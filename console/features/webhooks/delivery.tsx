import { Button, Code, Paper, Stack, Text, Title } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import type { DeliveryReply, TryReply } from '../../../src/contract/console/webhooks.ts'
import { durationText } from '../../../src/format/durations.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { MessageLink } from './message-link.tsx'
import { DeliveryBadge } from './webhook-badges.tsx'
import { lastTryLabel, SENDING_EVERY_MS } from './webhook-labels.ts'

const EVERY_MS = 5_000

export function Delivery() {
  const { id = '', position = '' } = useParams({ strict: false }) as {
    readonly id?: string
    readonly position?: string
  }
  const { id: account, can } = useAccount()
  const delivery = useApiQuery(
    'readDelivery',
    { params: { account, id, position } },
    {
      everyMs: (reply) => (reply?.isBeingSent ? SENDING_EVERY_MS : EVERY_MS),
    },
  )
  const replay = useApiMutation('replayDelivery')
  const click = () =>
    replay
      .mutateAsync({ params: { account, id, position } })
      .then(() => showToast('The delivery is on its way again.'))
      .catch((problem: unknown) => showToast(problem instanceof Error ? problem.message : String(problem), 'bad'))
  return (
    <Page
      title="Delivery"
      detail={delivery.data?.kind}
      back={
        <TextLink to="/a/$account/developer/webhooks/$id" params={{ account, id }} size="sm">
          Webhook
        </TextLink>
      }
      actions={
        delivery.data && can('developer') ? (
          <Button
            leftSection={<RefreshCw size={16} aria-hidden />}
            loading={replay.isPending}
            onClick={() => void click()}
          >
            Replay
          </Button>
        ) : null
      }
    >
      {delivery.error && !delivery.data ? (
        <ProblemNote
          problem={delivery.error}
          title="This delivery could not be loaded"
          onRetry={() => void delivery.refetch()}
        />
      ) : delivery.data ? (
        <Whole account={account} delivery={delivery.data} />
      ) : null}
    </Page>
  )
}

function Whole({ account, delivery }: { readonly account: string; readonly delivery: DeliveryReply }) {
  const { message, notificationId, nextTryAt, payload, tryRows } = delivery
  return (
    <>
      <Stack gap="xs">
        <DeliveryBadge delivery={delivery} />
        {message === null ? null : (
          <Text size="sm">
            Message: <MessageLink account={account} message={message} />
          </Text>
        )}
        <Text size="sm">
          The receiver gets it as <Code>webhook-id: {notificationId}</Code>, the same at each try.
        </Text>
        {nextTryAt === null ? null : (
          <Text size="sm">
            Next try: <TimeAgo at={nextTryAt} />
          </Text>
        )}
      </Stack>
      <Stack gap="sm" component="section" aria-labelledby="tries">
        <Title order={2} id="tries">
          Tries
        </Title>
        {tryRows.length === 0 ? <Text size="sm">{lastTryLabel(delivery)}</Text> : null}
        {tryRows.map((one) => (
          <TryCard key={one.number} one={one} />
        ))}
      </Stack>
      {payload === null ? (
        <Text size="sm">What is posted is hidden from viewers. A developer or an owner sees it.</Text>
      ) : (
        <CodeBlock code={pretty(payload)} language="json" label="What is posted" maxHeight={480} />
      )}
    </>
  )
}

function TryCard({ one }: { readonly one: TryReply }) {
  return (
    <Paper withBorder p="sm">
      <Stack gap={4}>
        <Text size="sm" fw={600}>
          Try {one.number}: {one.status === null ? one.code.replaceAll('_', ' ') : `HTTP ${one.status}`}
        </Text>
        <Text size="sm" c="dimmed">
          <TimeAgo at={one.at} />, took {durationText(one.tookMs)}
        </Text>
        <Text size="sm">{one.sentence}</Text>
        {one.code === 'delivered' ? null : <Text size="sm">What to do: {one.nextStep}</Text>}
        {one.words === null ? null : <Text size="sm">{one.words}</Text>}
        {one.excerpt === null ? null : (
          <CodeBlock code={one.excerpt} label={`The beginning of the answer to try ${one.number}`} maxHeight={160} />
        )}
      </Stack>
    </Paper>
  )
}

/** Indented for reading; the posted body has no white space. */
function pretty(payload: string): string {
  return JSON.stringify(JSON.parse(payload), null, 2)
}
