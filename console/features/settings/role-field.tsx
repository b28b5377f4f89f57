import { NativeSelect } from '@mantine/core'
import type { Role } from '../../../src/contract/console/route.ts'

const LABELS: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'viewer', label: 'Viewer' },
  { value: 'developer', label: 'Developer' },
  { value: 'owner', label: 'Owner' },
]

interface RoleFieldProps {
  readonly label: string
  readonly isLabelHidden?: boolean
  readonly value: Role
  readonly onChange: (role: Role) => void
}

export function RoleField({ label, isLabelHidden = false, value, onChange }: RoleFieldProps) {
  return (
    <NativeSelect
      {...(isLabelHidden ? { 'aria-label': label, size: 'xs' as const } : { label })}
      value={value}
      data={[...LABELS]}
      onChange={(event) => {
        const role = LABELS.find((known) => known.value === event.currentTarget.value)
        if (role) onChange(role.value)
      }}
    />
  )
}
