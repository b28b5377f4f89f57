import { Text } from '@mantine/core'
import type { WaitingPlaceView } from '../../../src/contract/console/lane-page.ts'
import type { LogRow } from '../../../src/contract/console/log.ts'
import { StateLabel } from '../../components/state-label.tsx'
import { useNow } from '../../components/use-now.ts'
import { besideState, placeOf, stateOf } from './log-labels.ts'
import classes from './logs.module.css'

interface RowResultProps {
  readonly row: LogRow
  /** Where its message stands in its lane, as it was last asked for. */
  readonly place: WaitingPlaceView | undefined
}

/** The state of a row, and why it is in it. */
export function RowResult({ row, place: asked }: RowResultProps) {
  const place = placeOf(row, asked)
  const cause = besideState(row, place, useNow())
  const state = stateOf(row)
  return (
    <span className={classes['result'] ?? ''}>
      {state === 'GONE' ? (
        <Text span size="sm" c="dimmed">
          No longer kept
        </Text>
      ) : (
        <StateLabel
          state={state}
          code={row.isPaused ? 'paused' : (row.reason?.code ?? place?.code)}
          mayHaveLeft={place?.mayHaveLeft ?? false}
        />
      )}
      {cause === null ? null : (
        <span className={classes['cause'] ?? ''} title={cause}>
          {cause}
        </span>
      )}
    </span>
  )
}
