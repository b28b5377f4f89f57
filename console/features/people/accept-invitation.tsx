import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import { call, type ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { CONSOLE_PATH } from '../../app/service-path.ts'
import { useFormOf } from '../../components/form.ts'
import { ButtonLink } from '../../components/links.tsx'
import { LinkGate } from './link-gate.tsx'
import { NewPassword } from './new-password.tsx'
import { SignInNote } from './sign-in-note.tsx'
import { useEntry } from './use-entry.ts'

export function AcceptInvitation() {
  const { link = '' } = useParams({ strict: false })
  return (
    <LinkGate
      kind="invitation"
      link={link}
      title="You are invited"
      about={({ email, account, role }) => (
        <>
          To the account <b>{account}</b>, as {role}, with the e-mail <b>{email}</b>.
        </>
      )}
      otherwise="Ask the person who invited you for a new link. If you have used it already, just sign in."
    >
      {(found) => (
        <>
          <Join link={link} />
          <Text size="sm">New here? Choose a name and a password.</Text>
          <AcceptForm link={link} email={found.email ?? ''} />
        </>
      )}
    </LinkGate>
  )
}

function AcceptForm({ link, email }: { readonly link: string; readonly email: string }) {
  const form = useFormOf(peopleRoutes.acceptInvitation.body, { link, name: '', password: '' })
  const enter = useEntry()
  const accept = form.onSubmit(async (body) => {
    await call('acceptInvitation', { body })
    enter()
  })
  return (
    <form onSubmit={accept} noValidate>
      <Stack gap="sm">
        <TextInput label="E-mail" type="email" autoComplete="username" readOnly value={email} />
        <TextInput label="Your name" autoComplete="name" autoFocus {...form.getInputProps('name')} />
        <NewPassword hasSecondFactor={false} {...form.getInputProps('password')} />
        <SignInNote problem={form.problem} />
        <Button type="submit" loading={form.submitting}>
          Join
        </Button>
      </Stack>
    </form>
  )
}

/** People with a sign-in join with it. The page does not reveal whether one exists, because it may belong to other accounts. */
function Join({ link }: { readonly link: string }) {
  const me = useApiQuery('sessionState', {}, { isLive: false })
  const join = useApiMutation('joinAccount')
  const navigate = useNavigate()
  if (!me.data) return null
  if (!me.data.isSignedIn)
    return (
      <>
        <Text size="sm">If you have a sign-in here, use it: you come back to this page and join.</Text>
        <ButtonLink to="/sign-in" search={{ to: `${CONSOLE_PATH}/invitation/${link}` } as never}>
          Sign in
        </ButtonLink>
      </>
    )
  const accept = () =>
    join.mutate(
      { body: { link } },
      {
        onSuccess: ({ account }: ReplyFor<'joinAccount'>) => void navigate({ to: '/a/$account', params: { account } }),
      },
    )
  return (
    <>
      <SignInNote problem={join.error} />
      <Button loading={join.isPending} onClick={accept}>
        Join as you are signed in
      </Button>
    </>
  )
}
