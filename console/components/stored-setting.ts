import { useLocalStorage } from '@mantine/hooks'

/** A choice of this person in this browser. Nothing secret: every user of the browser can read it. */
export function useStoredSetting<Value>(name: string, initial: Value): [Value, (value: Value) => void] {
  const [value, keep] = useLocalStorage<Value>({
    key: `nuncio.${name}`,
    defaultValue: initial,
    getInitialValueInEffect: false,
  })
  return [value, (next) => keep(next)]
}

/** Single keys as shortcuts; some people's tools type single keys by accident. */
export function useShortcutSetting() {
  return useStoredSetting('shortcuts', true)
}

/** Phone numbers shown as `1415•••0100`, for a screen that other people see too. */
export function useHiddenNumbers() {
  return useStoredSetting('hide-numbers', false)
}

/** `mixed`: how long ago, but the clock in the API log. */
export type TimeDisplay = 'mixed' | 'relative' | 'local' | 'utc'

export function useTimeDisplay() {
  return useStoredSetting<TimeDisplay>('time', 'mixed')
}
