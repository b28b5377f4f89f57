import { Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core'
import { RefreshCw, TriangleAlert } from 'lucide-react'
import type {
  ConnectionCallbackView,
  ConnectionFactView,
  ConnectionView,
} from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { SectionBox } from '../../components/section-box.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { TemplateList } from './template-list.tsx'

/** What the network reports about the number, without what Nuncio counts itself. */
export function reportedFacts({ facts }: ConnectionView): readonly ConnectionFactView[] {
  return facts.filter(({ isOwn }) => !isOwn)
}

/** The network's facts about the number, its callback address, and its templates. */
export function NetworkSection({ connection }: { readonly connection: ConnectionView }) {
  const { callback, hasTemplates } = connection
  const { can } = useAccount()
  return (
    <Stack gap="md">
      <Said connection={connection} />
      {callback ? <CallbackAddress callback={callback} /> : null}
      {hasTemplates && can('developer') ? <TemplateList connection={connection} /> : null}
    </Stack>
  )
}

function Said({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const check = useApiMutation('checkConnection')
  const { phone, checkedAt } = connection
  return (
    <SectionBox title="What the network says">
      {check.error ? (
        <ProblemNote problem={check.error} title="The network does not take this connection as it is" />
      ) : (
        <>
          <FactList facts={reportedFacts(connection)} />
          {phone ? null : (
            <Text size="sm" c="dimmed">
              {checkedAt === null ? 'Not checked yet.' : 'Checked '}
              {checkedAt === null ? null : <TimeAgo at={checkedAt} />}
            </Text>
          )}
        </>
      )}
      {can('developer') && !phone ? (
        <Group>
          <Button
            variant="default"
            leftSection={<RefreshCw size={16} aria-hidden />}
            loading={check.isPending}
            onClick={() => check.mutate({ params: { account, id: connection.id } })}
          >
            Check now
          </Button>
        </Group>
      ) : null}
    </SectionBox>
  )
}

export function FactList({ facts }: { readonly facts: readonly ConnectionFactView[] }) {
  return (
    <Group component="dl" gap="xl" m={0}>
      {facts.map((fact) => (
        <Fact key={fact.label} {...fact} />
      ))}
    </Group>
  )
}

const GROUPS = { plain: null, good: 'sent', warning: 'attend', bad: 'notsent' } as const

function Fact({ label, value, tone }: ConnectionFactView) {
  const shown = GROUPS[tone]
  return (
    <div>
      <Text component="dt" size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="dd" size="sm" m={0}>
        {shown === null ? (
          value
        ) : (
          <GroupLabel group={shown} isPlain>
            {value}
          </GroupLabel>
        )}
      </Text>
    </div>
  )
}

function CallbackAddress({ callback }: { readonly callback: ConnectionCallbackView }) {
  return (
    <SectionBox title="Callback address">
      <Text size="sm">
        The network reports here what becomes of messages. Without it, nothing is ever delivered or read in the log, and
        what may or may not have left stays unconfirmed.
      </Text>
      <Group gap="xs" wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere' }}>{callback.url}</Code>
        <CopyButton value={callback.url} label="Copy the callback address" />
      </Group>
      <Text size="sm">
        {callback.lastReportAt === null ? 'No report yet.' : 'Last report '}
        {callback.lastReportAt === null ? null : <TimeAgo at={callback.lastReportAt} />}
      </Text>
      {callback.problem === null ? null : (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="It cannot be reached yet">
          {callback.problem}
        </Alert>
      )}
      <List type="ordered" size="sm">
        <List.Item>In the app dashboard of Meta, open WhatsApp, then Configuration, and edit the webhook.</List.Item>
        <List.Item>Enter this address, and the verify token that you gave this connection.</List.Item>
        <List.Item>
          Subscribe to the fields <Code>messages</Code>, <Code>phone_number_quality_update</Code> and{' '}
          <Code>account_update</Code>.
        </List.Item>
      </List>
    </SectionBox>
  )
}
