import { Button, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useFormOf } from '../../components/form.ts'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { CodeApp } from './code-app.tsx'
import { DisplaySettings } from './display-settings.tsx'
import { NewPassword } from './new-password.tsx'
import { OwnSessions } from './own-sessions.tsx'
import { Passkeys } from './passkeys.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

/** A person's own name, password, second factors, sessions and display settings. */
export function Me() {
  const me = useApiQuery('currentSession', {})
  const factors = useApiQuery('readFactors', {})
  const problem = me.error ?? factors.error
  if (problem)
    return (
      <Page title="Your profile">
        <ProblemNote problem={problem} onRetry={() => void Promise.all([me.refetch(), factors.refetch()])} />
      </Page>
    )
  if (!me.data || !factors.data) return <Page title="Your profile">{null}</Page>
  const { person, hasSecondFactor, accounts } = me.data
  const closed = accounts.filter(({ isOpen }) => !isOpen).map(({ name }) => name)
  return (
    <Page title="Your profile" about={`You are signed in as ${person.email}.`}>
      <Section title="Name">
        <NameForm name={person.name} />
      </Section>
      <Section title="Password" about="Changing it ends all your other sessions.">
        <PasswordForm email={person.email} hasSecondFactor={hasSecondFactor} />
      </Section>
      <Section
        title="Second factor"
        about={
          closed.length > 0 && !hasSecondFactor
            ? `Required: ${closed.join(', ')} stays closed to you until you set one up.`
            : 'Something you have besides what you know: with it, a stolen password opens nothing.'
        }
      >
        <CodeApp since={factors.data.totpSince} />
        <Passkeys passkeys={factors.data.passkeys} />
        {hasSecondFactor ? <RecoveryCodes left={factors.data.recoveryCodesLeft} /> : null}
      </Section>
      <Section
        title="Sessions"
        about="Where you are signed in. End what you do not recognise, then change your password."
      >
        <OwnSessions />
      </Section>
      <Section title="Display" about="How this browser shows things; other browsers of yours keep their own.">
        <DisplaySettings />
      </Section>
    </Page>
  )
}

interface SectionProps {
  readonly title: string
  readonly about?: string
  readonly children: ReactNode
}

function Section({ title, about, children }: SectionProps) {
  return (
    <Paper withBorder p="lg" component="section" aria-label={title}>
      <Stack gap="md">
        <div>
          <Title order={2}>{title}</Title>
          {about ? (
            <Text c="dimmed" size="sm" mt={4}>
              {about}
            </Text>
          ) : null}
        </div>
        {children}
      </Stack>
    </Paper>
  )
}

function NameForm({ name }: { readonly name: string }) {
  const form = useFormOf(peopleRoutes.changeOwnName.body, { name })
  const change = useApiMutation('changeOwnName')
  const submit = form.onSubmit((body) =>
    change.mutate({ body }, { onSuccess: () => showToast('Name changed'), onError: form.takeProblem }),
  )
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={420} align="flex-start">
        <TextInput w="100%" label="What others see" autoComplete="name" {...form.getInputProps('name')} />
        {form.problem ? <ProblemNote problem={form.problem} title="The name was not changed" /> : null}
        <Button type="submit" variant="default" loading={change.isPending}>
          Change name
        </Button>
      </Stack>
    </form>
  )
}

interface PasswordFormProps {
  readonly email: string
  readonly hasSecondFactor: boolean
}

function PasswordForm({ email, hasSecondFactor }: PasswordFormProps) {
  const form = useFormOf(peopleRoutes.changePassword.body, { password: '' })
  const change = useApiMutation('changePassword')
  const done = () => {
    form.reset()
    showToast('Password changed; your other sessions have ended')
  }
  const submit = form.onSubmit((body) => change.mutate({ body }, { onSuccess: done, onError: form.takeProblem }))
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={420} align="flex-start">
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <NewPassword
          w="100%"
          label="New password"
          hasSecondFactor={hasSecondFactor}
          {...form.getInputProps('password')}
        />
        {form.problem ? <ProblemNote problem={form.problem} title="The password was not changed" /> : null}
        <Button type="submit" variant="default" loading={change.isPending}>
          Change password
        </Button>
      </Stack>
    </form>
  )
}
