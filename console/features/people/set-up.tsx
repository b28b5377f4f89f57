import { Button, Stack, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { call } from '../../api/call.ts'
import { useCommandLine } from '../../api/use-command-line.ts'
import { useFormOf } from '../../components/form.ts'
import { LinkGate } from './link-gate.tsx'
import { NewPassword } from './new-password.tsx'
import { SignInNote } from './sign-in-note.tsx'
import { useEntry } from './use-entry.ts'

/** The first person, who owns the installation's first account. */
export function SetUp() {
  const commandLine = useCommandLine()
  const { link = '' } = useParams({ strict: false })
  return (
    <LinkGate
      kind="set-up"
      link={link}
      title="Set up Nuncio"
      about={() => 'You are the first here. You become the owner; others you invite later.'}
      otherwise={
        <>
          Run <code>{commandLine`user setup-link`}</code> on the machine for a new link.
        </>
      }
    >
      {() => <SetUpForm link={link} />}
    </LinkGate>
  )
}

function SetUpForm({ link }: { readonly link: string }) {
  const form = useFormOf(peopleRoutes.setUp.body, { link, name: '', email: '', password: '' })
  const enter = useEntry()
  const setUp = form.onSubmit(async (body) => {
    await call('setUp', { body })
    enter()
  })
  return (
    <form onSubmit={setUp} noValidate>
      <Stack gap="sm">
        <TextInput label="Your name" autoComplete="name" autoFocus {...form.getInputProps('name')} />
        <TextInput
          label="E-mail"
          description="What you sign in with. Nothing is sent to it."
          type="email"
          autoComplete="username"
          {...form.getInputProps('email')}
        />
        <NewPassword hasSecondFactor={false} {...form.getInputProps('password')} />
        <SignInNote problem={form.problem} />
        <Button type="submit" loading={form.submitting}>
          Create owner account
        </Button>
      </Stack>
    </form>
  )
}
