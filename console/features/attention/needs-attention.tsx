import { Group, Paper, Title } from '@mantine/core'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import classes from './attention.module.css'
import { AttentionRow } from './attention-row.tsx'
import { unseen } from './attention-text.ts'
import { NothingNow } from './nothing-now.tsx'

const SHOWN = 5
// It has a banner on the overview.
const SHOWN_ABOVE = 'lanes_held'

/** On the overview: what waits for a person and was not seen, the most urgent first. */
export function NeedsAttention({
  isQuiet,
}: {
  /** Show nothing while nothing needs attention. */ readonly isQuiet: boolean
}) {
  const { id: account } = useAccount()
  const { data } = useApiQuery('readAttention', { params: { account } })
  if (!data) return null
  const open = unseen(data.items).filter(({ alarm }) => alarm?.kind !== SHOWN_ABOVE)
  const isMore = open.length > SHOWN
  if (open.length === 0 && isQuiet) return null
  return (
    <Paper withBorder component="section" aria-labelledby="attention">
      <Group justify="space-between" px="md" py={10} className={classes['head'] ?? ''}>
        <Group gap={8}>
          <Title order={2} id="attention">
            Needs attention
          </Title>
          {open.length === 0 ? null : <span className={classes['count']}>{open.length}</span>}
        </Group>
        <TextLink to="/a/$account/attention" params={{ account }} size="sm" data-alone>
          {isMore ? `${open.length - SHOWN} more, and those seen` : 'All, with those seen'}
        </TextLink>
      </Group>
      {open.length === 0 ? <NothingNow /> : null}
      <ul className={classes['list']}>
        {open.slice(0, SHOWN).map((item) => (
          <AttentionRow key={item.key} item={item} />
        ))}
      </ul>
    </Paper>
  )
}
