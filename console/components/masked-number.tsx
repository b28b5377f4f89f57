import { Text } from '@mantine/core'
import { useHiddenNumbers } from './stored-setting.ts'

const SHOWN_AT_START = 4
const SHOWN_AT_END = 4

/** A phone number; as `1415•••0100` if the person chose to hide numbers on this screen. Numbers masked by the server stay masked. */
export function MaskedNumber({ number }: { readonly number: string }) {
  const [isHidden] = useHiddenNumbers()
  return (
    <Text span inherit style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
      {isHidden ? maskNumber(number) : number}
    </Text>
  )
}

export function maskNumber(number: string): string {
  if (number.length <= SHOWN_AT_START + SHOWN_AT_END) return number
  return `${number.slice(0, SHOWN_AT_START)}•••${number.slice(-SHOWN_AT_END)}`
}
