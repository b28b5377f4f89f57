import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ReplyFor } from '../../api/call.ts'
import { CallProblem } from '../../api/call-problem.ts'
import { useApiQuery } from '../../api/queries.ts'
import { TextLink } from '../../components/links.tsx'
import { Gate } from './gate.tsx'
import { SignInNote } from './sign-in-note.tsx'

interface LinkGateProps {
  readonly kind: 'set-up' | 'invitation' | 'reset-password'
  readonly link: string
  readonly title: string
  /** What to do when the link no longer works. */
  readonly otherwise: ReactNode
  readonly about: (found: ReplyFor<'readLink'>) => ReactNode
  readonly children: (found: ReplyFor<'readLink'>) => ReactNode
}

/** A page for a one-time link: checks the link before the person types anything. */
export function LinkGate({ kind, link, title, otherwise, about, children }: LinkGateProps) {
  const found = useApiQuery('readLink', { body: { kind, link } }, { isLive: false })
  if (found.error)
    return (
      <Gate title={title}>
        <SignInNote problem={found.error} />
        {found.error instanceof CallProblem && found.error.code === 'people_exist' ? null : (
          <Text size="sm" component="div">
            {otherwise}
          </Text>
        )}
        <TextLink to="/sign-in">Go to sign-in</TextLink>
      </Gate>
    )
  return (
    <Gate title={title} about={found.data ? about(found.data) : 'One moment…'}>
      {found.data ? children(found.data) : null}
    </Gate>
  )
}
