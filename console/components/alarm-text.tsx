import { Stack, Text } from '@mantine/core'
import type { AlarmReply } from '../../src/contract/console/alarms.ts'
import { useAccount } from './account.tsx'
import { TextLink } from './links.tsx'
import { Sentence } from './sentence.tsx'
import { TimeAgo } from './time-ago.tsx'

/** What is wrong, what to do, and a link to the object of the alarm. */
export function AlarmText({ alarm }: { readonly alarm: AlarmReply }) {
  return (
    <Stack gap={2}>
      <Text size="sm">
        <Sentence text={alarm.cause} />
      </Text>
      <Text size="sm" c="dimmed" component="div">
        {alarm.clearedAt === null ? `${alarm.nextStep} ` : ''}
        <Subject alarm={alarm} /> Raised <TimeAgo at={alarm.raisedAt} />
        {alarm.clearedAt === null ? null : (
          <>
            , over <TimeAgo at={alarm.clearedAt} />
          </>
        )}
        .
      </Text>
    </Stack>
  )
}

function Subject({ alarm: { of, object, name, kind } }: { readonly alarm: AlarmReply }) {
  const { id: account } = useAccount()
  if (of === 'connection')
    return (
      <TextLink to="/a/$account/connections/$id" params={{ account, id: object }} size="sm">
        {`Connection ${name}.`}
      </TextLink>
    )
  if (of === 'token')
    return (
      <TextLink to="/a/$account/developer/tokens/$id" params={{ account, id: object }} size="sm">
        {`Token ${name}.`}
      </TextLink>
    )
  if (kind === 'unconfirmed')
    return (
      <TextLink to="/a/$account/developer/logs" params={{ account }} search={{ view: 'attention' } as never} size="sm">
        Show these messages.
      </TextLink>
    )
  return null
}
