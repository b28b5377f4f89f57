import { Button, Group, PasswordInput, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ChannelSetting } from '../../../src/contract/console/connections.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { randomValue } from './start-first.ts'

interface BoundField {
  readonly error?: ReactNode
  readonly value?: string
  readonly onChange?: (value: string) => void
}

interface ChannelFieldsProps {
  readonly settings: readonly (ChannelSetting & { readonly isSet?: boolean })[]
  /** The form's `getInputProps`. */
  readonly bind: (name: string) => BoundField
}

/** A field for each setting of a channel, from the channel's description. */
export function ChannelFields({ settings, bind }: ChannelFieldsProps) {
  return settings.map((setting) => <ChannelField key={setting.name} {...setting} bind={bind} />)
}

type ChannelFieldProps = ChannelFieldsProps['settings'][number] & Pick<ChannelFieldsProps, 'bind'>

function ChannelField(setting: ChannelFieldProps) {
  const { name, label, help, kind, unset, isRequired, isSet = false, random, bind } = setting
  const bound = bind(`settings.${name}`)
  if (kind === 'switch') {
    const { value, onChange, ...rest } = bound
    return (
      <Switch
        {...rest}
        label={label}
        description={help}
        checked={(value || unset) === 'on'}
        onChange={(event) => onChange?.(event.currentTarget.checked ? 'on' : 'off')}
      />
    )
  }
  const common = { label, ...forNode(bound), autoComplete: 'off', spellCheck: false }
  if (kind === 'secret') {
    const left = isSet ? 'It is set and never shown. Leave this empty to keep it.' : help
    const field = <PasswordInput {...common} description={left} required={isRequired && !isSet} flex={1} />
    if (!random) return field
    return (
      <Group align="flex-end" gap="xs">
        {field}
        <Button variant="default" onClick={() => bound.onChange?.(randomValue(random))}>
          Generate
        </Button>
        {bound.value ? <CopyButton value={bound.value} label={`Copy: ${label}`} isWide /> : null}
      </Group>
    )
  }
  return <TextInput {...common} description={help} placeholder={unset} required={isRequired} />
}

/** A form's `onChange` accepts an input event or a value. */
function forNode({ onChange, ...rest }: BoundField) {
  return { ...rest, onChange: (event: { currentTarget: { value: string } }) => onChange?.(event.currentTarget.value) }
}
