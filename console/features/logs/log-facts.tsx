import { Code, Group } from '@mantine/core'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { bytesText } from '../../../src/format/bytes.ts'
import { tookText } from '../../../src/format/durations.ts'
import { useAccount } from '../../components/account.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { HttpStatus } from '../../components/http-status.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { TYPE_LABELS } from './log-labels.ts'

/** The facts of an entry, with links. */
export function LogFacts({ detail }: { readonly detail: LogDetail }) {
  const { id: account } = useAccount()
  const { entry, message } = detail
  const { from, to } = entry
  return (
    <Facts title="Facts">
      {entry.summed ? (
        <Fact name="First one received">
          <TimeAgo at={entry.summed.since} />
        </Fact>
      ) : null}
      <Fact name={entry.summed ? 'All received until' : 'Received'}>
        <TimeAgo at={entry.receivedAt} />
      </Fact>
      {message ? (
        <Fact name="From">
          <TextLink to="/a/$account/connections/$id" params={{ account, id: message.connection.id }} inherit>
            <MaskedNumber number={message.connection.number} />
          </TextLink>{' '}
          {message.connection.name}
        </Fact>
      ) : from === null ? null : (
        <Fact name="From">{from}</Fact>
      )}
      {to === null ? null : <Fact name="To">{message ? <MaskedNumber number={to} /> : <Code>{to}</Code>}</Fact>}
      {entry.type === null ? null : <Fact name="Type">{TYPE_LABELS[entry.type] ?? entry.type}</Fact>}
      <Fact name="Token">
        {entry.token ? (
          <TextLink to="/a/$account/developer/tokens/$id" params={{ account, id: entry.token.id }} inherit>
            {entry.token.name}
          </TextLink>
        ) : (
          '–'
        )}
      </Fact>
      <Fact name="HTTP reply">
        {entry.status === null ? '–' : <HttpStatus status={entry.status} isNamed />}
        {entry.tookMs === null ? '' : ` after ${tookText(entry.tookMs)}`}
      </Fact>
      {entry.attempts === null ? null : <Fact name="Attempts">{entry.attempts}</Fact>}
      <Fact name="Caller">{entry.summed ? 'Not kept' : (detail.request?.remoteAddress ?? '–')}</Fact>
      {entry.messageId === null ? null : <IdFact name="Message id" id={entry.messageId} isMain />}
      {entry.requestId === null ? null : (
        <IdFact name="Request id" id={entry.requestId} isMain={entry.messageId === null} />
      )}
      {message?.resendOf ? <LinkedFact name="Repeats the message" id={message.resendOf} /> : null}
      {message?.resentAs ? <LinkedFact name="Sent again as" id={message.resentAs} /> : null}
      {message?.expiresAt ? (
        <Fact name="Expires">
          <TimeAgo at={message.expiresAt} />
        </Fact>
      ) : null}
    </Facts>
  )
}

export function MediaFacts({ media }: { readonly media: NonNullable<LogDetail['media']> }) {
  return (
    <Facts title="Media">
      <Fact name="Name">{media.name ?? '–'}</Fact>
      <Fact name="State">{MEDIA_LABELS[media.state]}</Fact>
      <Fact name="Size">{media.sizeBytes === null ? '–' : bytesText(media.sizeBytes)}</Fact>
      <Fact name="Content">{media.mime ?? '–'}</Fact>
      <Fact name="Fetching took">{media.tookMs === null ? '–' : tookText(media.tookMs)}</Fact>
      <Fact name={media.state === 'pending' ? 'Tries so far' : 'Tries'}>{media.tries}</Fact>
      <Fact name="URL">
        <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>{media.url || 'deleted with the text'}</Code>
      </Fact>
      {media.sha256 === null ? null : (
        <Fact name="SHA-256">
          <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>{media.sha256}</Code>
        </Fact>
      )}
    </Facts>
  )
}

const MEDIA_LABELS = {
  pending: 'Not fetched yet',
  ready: 'Fetched',
  failed: 'Could not be downloaded',
  forgotten: 'Download deleted: the message is finished',
} as const

/** `c` copies the main id. */
function IdFact({ name, id, isMain }: { readonly name: string; readonly id: string; readonly isMain: boolean }) {
  return (
    <Fact name={name}>
      <Group component="span" gap={4} wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>{id}</Code>
        <CopyButton value={id} label={`Copy the ${name.toLowerCase()}`} isPageId={isMain} />
      </Group>
    </Fact>
  )
}

function LinkedFact({ name, id }: { readonly name: string; readonly id: string }) {
  const { id: account } = useAccount()
  return (
    <Fact name={name}>
      <TextLink to="/a/$account/developer/logs/$id" params={{ account, id }} inherit>
        {id}
      </TextLink>
    </Fact>
  )
}
