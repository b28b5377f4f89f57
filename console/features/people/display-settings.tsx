import { Radio, Stack, Switch } from '@mantine/core'
import {
  type TimeDisplay,
  useHiddenNumbers,
  useShortcutSetting,
  useTimeDisplay,
} from '../../components/stored-setting.ts'

const TIMES: readonly { readonly value: TimeDisplay; readonly label: string }[] = [
  { value: 'mixed', label: 'As fits: the clock in the API logs, “3 min ago” elsewhere' },
  { value: 'relative', label: 'How long ago, such as “3 min ago”' },
  { value: 'local', label: 'Date and time where you are' },
  { value: 'utc', label: 'Date and time in UTC' },
]

/** Display settings of this browser. They are stored there, so they take effect at once and need no saving. */
export function DisplaySettings() {
  const [time, setTime] = useTimeDisplay()
  const [isHidden, setHidden] = useHiddenNumbers()
  const [hasShortcuts, setShortcuts] = useShortcutSetting()
  return (
    <Stack gap="md">
      <Radio.Group label="Times" value={time} onChange={(value) => setTime(value)}>
        <Stack gap="xs" mt="xs">
          {TIMES.map(({ value, label }) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </Stack>
      </Radio.Group>
      <Switch
        checked={isHidden}
        onChange={(event) => setHidden(event.currentTarget.checked)}
        label="Hide phone numbers"
        description="For a screen that others see too: numbers show only their beginning and end."
      />
      <Switch
        checked={hasShortcuts}
        onChange={(event) => setShortcuts(event.currentTarget.checked)}
        label="Single-key shortcuts"
        description="Switch them off if your tools type single keys by accident."
      />
    </Stack>
  )
}
