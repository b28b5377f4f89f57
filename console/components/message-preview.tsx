import { Group, Text } from '@mantine/core'
import { AudioLines, FileText, Image, type LucideIcon, MessageSquareText, Video } from 'lucide-react'
import { capitalized } from '../../src/format/capitalized.ts'
import classes from './message-preview.module.css'

const ICONS: Readonly<Record<string, LucideIcon>> = {
  message: MessageSquareText,
  image: Image,
  document: FileText,
  video: Video,
  audio: AudioLines,
}

interface MessagePreviewProps {
  readonly type: string
  /** Null: there is no text, or it is not shown to this person. */
  readonly preview: string | null
}

/** What a message says, in one line. */
export function MessagePreview({ type, preview }: MessagePreviewProps) {
  const Icon = iconOfType(type)
  const label = typeText(type)
  return (
    <Group component="span" gap={6} wrap="nowrap" className={classes['preview'] ?? ''}>
      <Icon size={14} role="img" aria-label={label} />
      <span>{preview ?? label}</span>
    </Group>
  )
}

/** The name of a message's file. */
export function FileName({ type, name }: { readonly type: string; readonly name: string }) {
  const Icon = iconOfType(type)
  return (
    <Group gap={6} wrap="nowrap">
      <Icon size={16} aria-hidden style={{ flexShrink: 0 }} />
      <Text fw={600}>{name}</Text>
    </Group>
  )
}

export function iconOfType(type: string): LucideIcon {
  return ICONS[type] ?? FileText
}

/** "Text", "Image". */
export function typeText(type: string): string {
  return type === 'message' ? 'Text' : capitalized(type)
}
