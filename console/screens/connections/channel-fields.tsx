import { PasswordInput, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ChannelSetting } from '../../../src/contract/console/connections.ts'

interface ChannelFieldsProps {
  readonly settings: readonly (ChannelSetting & { readonly isSet?: boolean })[]
  /** What binds a field of the form: `getInputProps`. */
  readonly bind: (name: string) => { readonly error?: ReactNode }
}

/** A field for each setting that a channel has, as the channel describes them. */
export function ChannelFields({ settings, bind }: ChannelFieldsProps) {
  return settings.map(({ name, label, help, kind, unset, isSet = false }) => {
    const common = { label, ...bind(`settings.${name}`), autoComplete: 'off', spellCheck: false }
    if (kind === 'secret') {
      const left = isSet ? 'It is set and never shown. Leave this empty to keep it.' : help
      return <PasswordInput key={name} {...common} description={left} />
    }
    return <TextInput key={name} {...common} description={help} placeholder={unset} />
  })
}
