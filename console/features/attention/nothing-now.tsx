import { Text } from '@mantine/core'
import { CircleCheck } from 'lucide-react'
import classes from './attention.module.css'

/** In one line, because it is good news. */
export function NothingNow() {
  return (
    <Text size="sm" px="md" py="sm" className={classes['nothing'] ?? ''}>
      <CircleCheck size={16} aria-hidden color="var(--nc-sent-fg)" /> Nothing needs your attention.
    </Text>
  )
}
