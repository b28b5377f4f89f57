import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Delivery } from '../../../src/contract/console/sandbox.ts'
import { bytesText } from '../../../src/format/bytes.ts'
import { addressOf } from '../../api/call.ts'
import { useAccount } from '../../components/account.tsx'
import { iconOfType } from '../../components/message-preview.tsx'
import classes from './sandbox.module.css'
import { typeWord } from './sandbox-labels.ts'

type Media = NonNullable<Delivery['media']>

interface MediaViewProps {
  readonly delivery: Delivery
  readonly media: Media
  readonly connection: string
}

/** Whether the file still exists on the server, and this browser can show it. */
type Copy = 'playable' | 'unplayable' | 'lost'

/** A picture or a player for such files; a card for all others, and when no copy is left. */
export function MediaView({ delivery, media, connection }: MediaViewProps) {
  const { id: account } = useAccount()
  const [copy, setCopy] = useState<Copy>(media.isCopied ? 'playable' : 'lost')
  const source = addressOf('readSandboxMedia', { params: { account, connection, message: delivery.messageId } })
  const kind = kindOf(delivery.type, media.mime)
  if (copy !== 'playable' || kind === null)
    return <FileCard delivery={delivery} media={media} source={source} copy={copy} />
  // The browser only reports a failure, so the server is asked whether the file exists.
  const onError = () =>
    void fetch(source, { headers: { range: 'bytes=0-0' } }).then(
      ({ ok }) => setCopy(ok ? 'unplayable' : 'lost'),
      () => setCopy('unplayable'),
    )
  const shared = { src: source, onError, className: classes[kind] ?? '' }
  // There are no subtitles for received files; the name describes them.
  const player = { ...shared, controls: true, preload: 'metadata', 'aria-label': media.name } as const
  return (
    <>
      {kind === 'picture' ? (
        <img {...shared} alt={media.caption ?? media.name} loading="lazy" />
      ) : kind === 'film' ? (
        <video {...player} />
      ) : (
        // Wide enough for its bar of time, in the narrowest bubble too.
        <audio {...player} style={{ width: 260, maxWidth: '100%' }} />
      )}
      <Text size="sm" c="dimmed" className={classes['words'] ?? ''}>
        {media.name}
      </Text>
    </>
  )
}

/** A document is shown as a document, even if it is a picture, as on the recipient's phone. */
function kindOf(type: string, mime: string | null): 'picture' | 'film' | 'sound' | null {
  if (type === 'image' && mime?.startsWith('image/')) return 'picture'
  if (type === 'video' && mime?.startsWith('video/')) return 'film'
  return type === 'audio' && mime?.startsWith('audio/') ? 'sound' : null
}

function FileCard({
  delivery,
  media,
  source,
  copy,
}: Omit<MediaViewProps, 'connection'> & { readonly source: string; readonly copy: Copy }) {
  const Icon = iconOfType(delivery.type)
  const facts = [
    typeWord(delivery.type),
    media.mime,
    media.sizeBytes === null ? null : bytesText(media.sizeBytes),
  ].filter((fact) => fact !== null)
  return (
    <Group gap="sm" wrap="nowrap" className={classes['card'] ?? ''}>
      <Icon size={28} aria-hidden className={classes['icon'] ?? ''} />
      <Stack gap={0} miw={0}>
        <Text size="sm" fw={600} className={classes['words'] ?? ''}>
          {media.name}
        </Text>
        <Text size="xs" c="dimmed">
          {facts.join(' · ')}
        </Text>
        {copy === 'unplayable' ? (
          <Text size="xs" c="dimmed">
            This browser cannot play it.
          </Text>
        ) : null}
        {copy === 'lost' ? (
          <Text size="xs" c="dimmed">
            No copy of it is left on this machine. Its size and checksum are under Details.
          </Text>
        ) : (
          <Anchor href={source} download={media.name} size="sm" underline="always" data-alone>
            Download
          </Anchor>
        )}
      </Stack>
    </Group>
  )
}
