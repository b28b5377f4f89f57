import { Grid, Paper, Stack, Tabs, Text, Title } from '@mantine/core'
import { z } from 'zod'
import { MESSAGE_TYPE_NAMES } from '../../../src/contract/send-message.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ButtonLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { useStoredSetting } from '../../components/stored-setting.ts'
import { TokenVariable } from '../../components/token-variable.tsx'
import { SentNote } from '../sandbox/sent-note.tsx'
import { ComposeForm, type Sender } from './compose-form.tsx'
import { type MessageKind, senderOf } from './draft.ts'
import { LANGUAGES, type Language, SNIPPETS } from './snippets.ts'
import { useComposing } from './use-composing.ts'

const quickstartSearch = z.object({
  /** The sender that a link names. */
  from: z.string().optional().catch(undefined),
  type: z.enum(MESSAGE_TYPE_NAMES).catch('message'),
  language: z.enum(LANGUAGES).catch('curl'),
})

/** Shows the call for the values of a form, and makes it. */
export function Quickstart() {
  const { id: account, can } = useAccount()
  const form = useApiQuery('describeTokenForm', { params: { account } })
  const senders = form.data?.connections.filter(({ state }) => state !== 'removed') ?? []
  return (
    <Page
      title="Quickstart"
      about={
        <>
          Fill in the form. <b>The call</b> shows the request that your program would make; <b>Send</b> makes it.
        </>
      }
    >
      {form.error ? (
        <ProblemNote problem={form.error} onRetry={() => void form.refetch()} />
      ) : form.data && senders.length === 0 ? (
        <EmptyState
          kind="nothing-yet"
          title="No connection yet"
          text="A message goes out from a number. Add one first; a sandbox number needs nothing."
          action={
            can('developer') ? (
              <ButtonLink to="/a/$account/connections/new" params={{ account }}>
                Add a connection
              </ButtonLink>
            ) : undefined
          }
        />
      ) : form.data ? (
        <Workbench senders={senders} endpoint={form.data.endpoint} />
      ) : null}
    </Page>
  )
}

function Workbench({ senders, endpoint }: { readonly senders: readonly Sender[]; readonly endpoint: string }) {
  const { id: account } = useAccount()
  const [search, change] = useSearchState(quickstartSearch)
  const [chosen, choose] = useStoredSetting<string | null>(`sender.${account}`, null)
  const composing = useComposing(search.type, senderOf(senders, [search.from, chosen]))
  const { sent } = composing
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Stack gap="md">
          <Paper withBorder p="md" component="section" aria-labelledby="compose">
            <Title order={2} id="compose" mb="sm">
              The message
            </Title>
            <ComposeForm
              composing={composing}
              senders={senders}
              endpoint={endpoint}
              onType={(type: MessageKind) => change({ type: type === 'message' ? undefined : type })}
              onSender={(number) => {
                choose(number)
                change({ from: undefined })
              }}
            />
          </Paper>
          <div role="status">{sent ? <SentNote key={sent.number} sent={sent} /> : null}</div>
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Stack gap="sm" component="section" aria-labelledby="call">
          <Title order={2} id="call">
            The call
          </Title>
          <Tabs
            value={search.language}
            onChange={(language) => change({ language: language === 'curl' ? undefined : language })}
            keepMounted={false}
          >
            <Tabs.List mb="sm" aria-label="Language">
              {LANGUAGES.map((language) => (
                <Tabs.Tab key={language} value={language}>
                  {SNIPPETS[language].name}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            {LANGUAGES.map((language) => (
              <Tabs.Panel key={language} value={language}>
                <Snippet language={language} endpoint={endpoint} composing={composing} />
              </Tabs.Panel>
            ))}
          </Tabs>
          <TokenVariable />
          <Text size="sm">
            All fields and replies of the endpoint: <DocsLink page="api">API reference</DocsLink>. How Nuncio works:{' '}
            <DocsLink page="">documents</DocsLink>.
          </Text>
        </Stack>
      </Grid.Col>
    </Grid>
  )
}

interface SnippetProps {
  readonly language: Language
  readonly endpoint: string
  readonly composing: ReturnType<typeof useComposing>
}

function Snippet({ language, endpoint, composing: { body } }: SnippetProps) {
  const { name, highlight, write } = SNIPPETS[language]
  return <CodeBlock code={write(endpoint, body)} language={highlight} label={`The call in ${name}`} />
}
