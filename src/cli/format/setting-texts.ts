import type { ConnectionView } from '../../core/ports/administration.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'

type Channels = readonly ChannelDescription[]
type Of = Pick<ConnectionView, 'channel' | 'channelSettings'>

/** The channel's settings of a connection as a person would write them, by name, without the secrets. */
export function settingTexts(channels: Channels, { channel, channelSettings }: Of): Readonly<Record<string, string>> {
  const description = channels.find(({ name }) => name === channel)
  if (!description) return {}
  const texts = description.writeSettings(channelSettings)
  const plain = description.settings.filter(({ name, kind }) => kind !== 'secret' && texts[name] !== undefined)
  return Object.fromEntries(plain.map(({ name }) => [name, texts[name] ?? '']))
}

/** The same in one line. A secret that is set is named but not shown. */
export function settingLine(channels: Channels, view: Of): string {
  const description = channels.find(({ name }) => name === view.channel)
  const texts = description?.writeSettings(view.channelSettings) ?? {}
  const given = description?.settings.filter(({ name }) => texts[name] !== undefined) ?? []
  return given
    .map(({ name, kind }) => (kind === 'secret' ? `${name} (secret)` : `${name}=${texts[name] ?? ''}`))
    .join(', ')
}
