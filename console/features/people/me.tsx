import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { CodeApp } from './code-app.tsx'
import { DisplaySettings } from './display-settings.tsx'
import { NameForm } from './name-form.tsx'
import { OwnSessions } from './own-sessions.tsx'
import { Passkeys } from './passkeys.tsx'
import { PasswordForm } from './password-form.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

/** Everything about oneself: name, password, second factors, sessions, and how things are shown. */
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
        <PasswordForm email={person.email} />
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
          <Title order={2} size="h4">
            {title}
          </Title>
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
