import { Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { TokenExpiration } from '../../../src/contract/console/tokens.ts'
import { durationText } from '../../../src/format/durations.ts'
import { localDateTime } from '../../components/instants.ts'

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<Exclude<TokenExpiration, 'date'>, number>> = {
  '7d': 7,
  '30d': 30,
  '60d': 60,
  '90d': 90,
  '1y': 365,
}
const CHOICES: readonly { readonly value: TokenExpiration; readonly label: string }[] = [
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '60d', label: '60 days' },
  { value: '90d', label: '90 days' },
  { value: '1y', label: '1 year' },
  { value: 'date', label: 'On a date' },
]

interface Ending {
  readonly expiration: TokenExpiration
  readonly expiresAt: number | null
}

interface ExpirationFieldProps {
  readonly value: Ending
  readonly onChange: (ending: Ending) => void
  readonly errors: { readonly expiration?: ReactNode; readonly expiresAt?: ReactNode }
}

/** The life of a token. Always shows the resulting end. */
export function ExpirationField({ value, onChange, errors }: ExpirationFieldProps) {
  const { expiration, expiresAt } = value
  const end = endOf(value)
  return (
    <Stack gap={4}>
      <Group align="flex-start" gap="sm">
        <NativeSelect
          label="Expiration"
          data={[...CHOICES]}
          value={expiration}
          error={errors.expiration}
          data-path="expiration"
          data-autofocus
          onChange={(event) => onChange({ ...value, expiration: event.currentTarget.value as TokenExpiration })}
        />
        {expiration === 'date' ? (
          <DateField
            label="Last day"
            value={expiresAt}
            error={errors.expiresAt}
            path="expiresAt"
            onChange={(at) => onChange({ ...value, expiresAt: at })}
          />
        ) : null}
      </Group>
      <Text size="sm" c="dimmed" role="status">
        {end === null ? 'Choose the last day on which it works, at most 2 years ahead.' : endLabel(end)}
      </Text>
    </Stack>
  )
}

/** Null: on a date that is not chosen yet. */
export function endOf({ expiration, expiresAt }: Ending): number | null {
  return expiration === 'date' ? expiresAt : Date.now() + DAYS[expiration] * DAY_MS
}

function endLabel(end: number): string {
  const left = end - Date.now()
  return left <= 0 ? `${localDateTime(end)} has passed.` : `Expires on ${localDateTime(end)}, in ${daysLabel(left)}.`
}

function daysLabel(ms: number): string {
  const days = Math.round(ms / DAY_MS)
  if (ms < 2 * DAY_MS) return durationText(ms)
  return `${days} days`
}

interface DateFieldProps {
  readonly label: string
  readonly value: number | null
  readonly onChange: (at: number | null) => void
  readonly error?: ReactNode
  readonly path: string
  /** At most 2 years ahead, or less. */
  readonly latest?: number
}

/** A local day, passed on as the time at which it ends. */
export function DateField({ label, value, onChange, error, path, latest }: DateFieldProps) {
  return (
    <TextInput
      type="date"
      label={label}
      value={value === null ? '' : dayOf(value - 1)}
      min={dayOf(Date.now())}
      max={dayOf(latest ?? twoYearsAhead())}
      error={error}
      data-path={path}
      onChange={(event) => onChange(endOfDay(event.currentTarget.value))}
    />
  )
}

/** `2027-03-31`, local. */
function dayOf(at: number): string {
  const date = new Date(at)
  const two = (number: number) => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function endOfDay(day: string): number | null {
  const [, year, month, date] = /^(\d{4,6})-(\d{2})-(\d{2})$/.exec(day) ?? []
  if (year === undefined) return null
  return new Date(Number(year), Number(month) - 1, Number(date) + 1).getTime()
}

function twoYearsAhead(): number {
  const date = new Date()
  return date.setFullYear(date.getFullYear() + 2)
}
