import { PasswordInput, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ChannelSetting } from '../../../src/contract/console/connections.ts'

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

function ChannelField({ name, label, help, kind, unset, isRequired, isSet = false, bind }: ChannelFieldProps) {
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
    return <PasswordInput {...common} description={left} required={isRequired && !isSet} />
  }
  return <TextInput {...common} description={help} placeholder={unset} required={isRequired} />
}

/** A form's `onChange` accepts an input event or a value. */
function forNode({ onChange, ...rest }: BoundField) {
  return { ...rest, onChange: (event: { currentTarget: { value: string } }) => onChange?.(event.currentTarget.value) }
}
