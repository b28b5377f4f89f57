import { Alert, Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import { newTokenForm, type ShownTokenReply } from '../../../src/contract/console/tokens.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ButtonLink, TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { useTokenInHand } from '../../components/token-in-hand.ts'
import { EventsField } from './events-field.tsx'
import { ExpirationField, endOf } from './expiration-field.tsx'
import { LimitsFields } from './limits-fields.tsx'
import { ShownToken } from './shown-token.tsx'
import { choiceText } from './token-labels.ts'

type Offer = ReplyFor<'describeTokenForm'>

/** `?name=shop&events=messaging.send_message`: a link can fill the form in. Several events: repeated, or with commas. */
const search = z.object({
  name: z.string().optional().catch(undefined),
  events: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .catch(undefined),
})

export function NewToken() {
  const account = useAccount()
  const offer = useApiQuery('describeTokenForm', { params: { account: account.id } }, { isLive: false })
  return (
    <Page
      title="Create API Token"
      back={
        <TextLink to="/a/$account/developer/tokens" params={{ account: account.id }} size="sm" data-alone>
          API tokens
        </TextLink>
      }
    >
      {account.can('developer') ? (
        offer.error ? (
          <ProblemNote problem={offer.error} onRetry={() => void offer.refetch()} />
        ) : offer.data ? (
          <TokenForm offer={offer.data} />
        ) : null
      ) : (
        <Alert color="yellow" variant="light" icon={<TriangleAlert aria-hidden />} title="You may not create tokens">
          Viewers cannot create tokens; developers and owners can. Ask an owner of this account for another role.
        </Alert>
      )}
    </Page>
  )
}

function TokenForm({ offer }: { readonly offer: Offer }) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const [given] = useSearchState(search)
  const create = useApiMutation('createToken')
  const [, keepInHand] = useTokenInHand(account)
  const [shown, setShown] = useState<ShownTokenReply | null>(null)
  const form = useFormOf(newTokenForm, {
    name: given.name ?? '',
    expiration: '90d',
    expiresAt: null,
    events: eventsOf(given.events, offer),
    connectionIds: null,
    sourceRanges: null,
  })
  const { values, errors, setValues } = form
  const submit = form.onSubmit((body) => {
    create.mutateAsync({ params: { account }, body }).then((reply) => {
      keepInHand(reply.token)
      setShown(reply)
    }, form.takeProblem)
  })
  return (
    <Paper withBorder p="lg" maw={720}>
      <form noValidate onSubmit={submit}>
        <Stack gap="lg">
          <TextInput
            label="API key name"
            description="The name of this token: who uses it, such as web-shop. 1 to 60 characters, unique in this account."
            required
            autoFocus
            autoComplete="off"
            {...form.getInputProps('name')}
          />
          <ExpirationField value={values} errors={errors} onChange={(ending) => setValues(ending)} />
          <EventsField
            offered={offer.events}
            value={values.events}
            error={errors['events']}
            onChange={(events) => setValues({ events })}
          />
          <LimitsFields
            connections={offer.connections}
            value={values}
            errors={errors}
            onChange={(limits) => {
              form.clearErrors()
              setValues(limits)
            }}
          />
          <Choice values={values} offer={offer} />
          {form.problem ? <ProblemNote problem={form.problem} title="The token was not created" /> : null}
          <Group justify="flex-end">
            <ButtonLink variant="default" to="/a/$account/developer/tokens" params={{ account }}>
              Cancel
            </ButtonLink>
            <Button type="submit" loading={create.isPending}>
              Create API Token
            </Button>
          </Group>
        </Stack>
      </form>
      {shown ? (
        <ShownToken
          shown={shown}
          endpoint={offer.endpoint}
          numbers={numbersOf(shown, offer)}
          onClose={() =>
            void navigate({
              to: '/a/$account/developer/tokens',
              params: { account },
              search: { made: shown.details.id } as never,
            })
          }
        />
      ) : null}
    </Paper>
  )
}

/** All of the form, in one sentence. */
function Choice({ values, offer }: { readonly values: z.input<typeof newTokenForm>; readonly offer: Offer }) {
  const { connectionIds: ids } = values
  const numbers = ids && offer.connections.filter(({ id }) => ids.includes(id)).map(({ number }) => number)
  return (
    <Text size="sm" c="dimmed">
      {choiceText({ ...values, numbers, end: endOf(values) })}
    </Text>
  )
}

/** All events, unless the link names some; `?events=none` selects none. */
function eventsOf(given: string | string[] | undefined, offer: Offer): string[] {
  const offered = offer.events.map(({ event }) => event)
  if (given === undefined) return offered
  const wanted = [given].flat().flatMap((some) => some.split(','))
  return offered.filter((event) => wanted.includes(event))
}

/** Sandboxes first, so that a first try reaches no real person. */
export function numbersOf(shown: ShownTokenReply, offer: Offer): readonly string[] {
  const mine = shown.details.connections ?? offer.connections
  return mine
    .filter(({ state }) => state !== 'removed')
    .toSorted((one, other) => Number(other.channel === 'sandbox') - Number(one.channel === 'sandbox'))
    .map(({ number }) => number)
}
