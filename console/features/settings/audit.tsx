import { Button, Code, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { Download } from 'lucide-react'
import { z } from 'zod'
import { nameActor } from '../../../src/format/name-actor.ts'
import { addressOf, type ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiPages, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { saveFile } from '../../components/save-file.ts'
import { useSearchState } from '../../components/search-state.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showErrorToast } from '../../components/toast.ts'
import { browserName } from '../people/browser-name.ts'
import { AUDIT_CHOICES, actorChoices, auditFacts, auditLabels, pageOfObject } from './audit-labels.ts'

type Entry = ReplyFor<'listAudit'>['items'][number]

const COLUMNS: readonly Column<Entry>[] = [
  { key: 'at', header: 'When', cell: ({ at }) => <TimeAgo at={at} />, width: 150 },
  { key: 'who', header: 'Who', card: 'aside', cell: ({ actor }) => nameActor(actor) },
  { key: 'what', header: 'What', wraps: true, card: 'text', cell: (entry) => <What {...entry} /> },
  {
    key: 'where',
    header: 'From',
    hideBelow: 1200,
    cell: ({ remoteAddress, userAgent }) =>
      remoteAddress === null ? (
        'the machine'
      ) : (
        <>
          {remoteAddress}{' '}
          <Text span size="sm" c="dimmed">
            {browserName(userAgent)}
          </Text>
        </>
      ),
  },
]

const search = z.object({
  actor: z.string().optional().catch(undefined),
  kind: z
    .enum(AUDIT_CHOICES.map(({ value }) => value))
    .optional()
    .catch(undefined),
})

export function Audit() {
  const { id } = useAccount()
  const [filter, change] = useSearchState(search)
  const entries = useApiPages('listAudit', (before) => ({ params: { account: id }, query: { ...filter, before } }))
  const isFiltered = filter.actor !== undefined || filter.kind !== undefined
  return (
    <Page
      title="Audit log"
      about="Every change to this account and every sign-in of its people, newest first. Entries cannot be changed."
      actions={<ExportButton filter={filter} />}
    >
      <Filters filter={filter} change={change} />
      <DataTable
        caption="Audit log"
        columns={COLUMNS}
        source={entries}
        keyOf={({ id: entry }) => entry}
        empty={
          isFiltered ? (
            <EmptyState
              kind="no-match"
              text="No entry of the audit log matches."
              onClear={() => change({ actor: undefined, kind: undefined })}
            />
          ) : (
            <EmptyState kind="nothing-yet" title="Nothing has happened yet" text="What people change shows up here." />
          )
        }
      />
    </Page>
  )
}

type Filter = z.output<typeof search>

interface FiltersProps {
  readonly filter: Filter
  readonly change: (part: Filter, how: { readonly isStep: true }) => void
}

function Filters({ filter, change }: FiltersProps) {
  const { id } = useAccount()
  const members = useApiQuery('listMembers', { params: { account: id } }, { isLive: false })
  return (
    <Group gap="sm" data-filters>
      <NativeSelect
        label="About"
        value={filter.kind ?? ''}
        onChange={({ currentTarget }) =>
          change({ kind: (currentTarget.value || undefined) as Filter['kind'] }, { isStep: true })
        }
        data={[{ value: '', label: 'Everything' }, ...AUDIT_CHOICES]}
      />
      <NativeSelect
        label="By"
        value={filter.actor ?? ''}
        onChange={({ currentTarget }) => change({ actor: currentTarget.value || undefined }, { isStep: true })}
        data={actorChoices(
          (members.data?.members ?? []).map(({ email }) => email),
          filter.actor,
        )}
      />
    </Group>
  )
}

function ExportButton({ filter }: { readonly filter: Filter }) {
  const { id: account } = useAccount()
  const check = useApiMutation('checkAuditExport')
  const take = async () => {
    try {
      await check.mutateAsync({ params: { account } })
    } catch (error) {
      return showErrorToast(error)
    }
    saveFile(addressOf('exportAudit', { params: { account }, query: filter }))
  }
  return (
    <Button variant="default" leftSection={<Download size={16} aria-hidden />} onClick={() => void take()}>
      Export as CSV
    </Button>
  )
}

function What({ action, object, objectName, detail }: Entry) {
  const { id: account } = useAccount()
  const form = useApiQuery('describeTokenForm', { params: { account } }, { isLive: false })
  const numbers = new Map(form.data?.connections.map((one) => [one.id, one.number]))
  return (
    <Stack gap={2}>
      <Text size="sm">{auditLabels(action)}</Text>
      <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
        <ObjectName object={object} name={objectName} />
        {auditFacts(detail, { objectName, numbers }).map((fact) => (
          <span key={fact}> · {fact}</span>
        ))}
      </Text>
    </Stack>
  )
}

function ObjectName({ object, name }: { readonly object: string; readonly name: string | null }) {
  const { id: account } = useAccount()
  const to = pageOfObject(object)
  if (to === null) return <Code>{object}</Code>
  return (
    <TextLink to={to} params={{ account, id: object }} {...(name === null && { ff: 'monospace' })} size="xs">
      {name ?? object}
    </TextLink>
  )
}
