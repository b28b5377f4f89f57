// By itself, so that only what it needs comes with it.
export { Tooltip } from '@mantine/core'
