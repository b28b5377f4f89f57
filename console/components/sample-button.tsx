import { Anchor } from '@mantine/core'
import type { SAMPLES } from '../../src/contract/samples.ts'
import { sampleOf } from './file-name.ts'

interface SampleButtonProps {
  readonly type: keyof typeof SAMPLES
  /** Undefined: not known yet. */
  readonly endpoint: string | undefined
  readonly onSample: (sample: ReturnType<typeof sampleOf>) => void
}

/** For people without a file on a public server. */
export function SampleButton({ type, endpoint, onSample }: SampleButtonProps) {
  if (endpoint === undefined) return null
  return (
    <Anchor
      component="button"
      type="button"
      size="xs"
      underline="always"
      onClick={() => onSample(sampleOf(type, endpoint))}
    >
      Use a sample
    </Anchor>
  )
}
