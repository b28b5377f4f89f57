import { Code, Group, Text } from '@mantine/core'
import type { TokenReply } from '../../../src/contract/console/tokens.ts'
import { byActor, nameActor } from '../../../src/format/name-actor.ts'
import { useApiQuery } from '../../api/queries.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { TextLink } from '../../components/links.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { TokenStatusBadge } from './status-badge.tsx'
import { eventLabel, tokenStart } from './token-labels.ts'

interface TokenFactsProps {
  readonly account: string
  readonly token: TokenReply
}

/** The rights and facts of a token. */
export function TokenFacts({ account, token }: TokenFactsProps) {
  const use = useApiQuery('describeTokenUse', { params: { account, id: token.id } }, { isLive: false })
  // The token's own note has only minutes.
  const usedAt = Math.max(token.lastUsedAt ?? 0, ...(use.data?.callers.map(({ lastAt }) => lastAt) ?? []))
  return (
    <Facts isWide>
      <Fact name="State">
        <TokenStatusBadge token={token} />
      </Fact>
      <Fact name="Token">
        <Code>{tokenStart(token.prefix)}</Code>
      </Fact>
      <Fact name="Id">
        <Group gap={4}>
          <Code>{token.id}</Code>
          <CopyButton value={token.id} label="Copy the token's id" />
        </Group>
      </Fact>
      <Fact name="Events">
        {token.events.length > 0
          ? token.events.map(eventLabel).join(', ')
          : 'None: every request made with it is refused with 403'}
      </Fact>
      <Fact name="Connections">
        <Connections account={account} token={token} />
      </Fact>
      <Fact name="Source addresses">{token.sourceRanges?.join(', ') ?? 'Any'}</Fact>
      <Fact name={token.deletedAt === null ? 'Expires' : 'Deleted'}>
        <TimeAgo at={token.deletedAt ?? token.expiresAt} />
        {token.deletedBy === null ? null : ` ${byActor(token.deletedBy)}`}
      </Fact>
      <Fact name="Last used">{usedAt === 0 ? 'Never' : <TimeAgo at={usedAt} />}</Fact>
      <Fact name="Created">
        <TimeAgo at={token.createdAt} /> by{' '}
        {token.createdBy === null ? 'an unknown person' : nameActor(token.createdBy)}
      </Fact>
    </Facts>
  )
}

function Connections({ account, token }: TokenFactsProps) {
  if (token.connections === null) return 'All of this account, those added later too'
  return (
    <Group gap="sm">
      {token.connections.map(({ id, number, state }) =>
        state === 'removed' ? (
          <Text key={id} size="sm" component="span">
            {number} (removed)
          </Text>
        ) : (
          <TextLink key={id} to="/a/$account/connections/$id" params={{ account, id }} size="sm">
            {number}
          </TextLink>
        ),
      )}
    </Group>
  )
}
