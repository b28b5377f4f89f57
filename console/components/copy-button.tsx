import { ActionIcon, Button, VisuallyHidden } from '@mantine/core'
import { useTimeout } from '@mantine/hooks'
import { Check, Copy, X } from 'lucide-react'
import { useState } from 'react'
import { copyText } from './copy-text.ts'
import { Hint } from './hint.tsx'

interface CopyButtonProps {
  readonly value: string
  /** What is copied: "Copy the message's id". */
  readonly label: string
  /** With its label as a button; otherwise an icon. */
  readonly isWide?: boolean
  readonly onCopied?: () => void
  /** This is the id that the page is about: the key `c` copies it. */
  readonly isPageId?: boolean
}

const TOLD_FOR_MS = 2_000

export function CopyButton({ value, label, isWide = false, onCopied, isPageId = false }: CopyButtonProps) {
  const [told, showToast] = useState<'copied' | 'failed' | null>(null)
  const { start } = useTimeout(() => showToast(null), TOLD_FOR_MS)
  const copy = async () => {
    const done = await copyText(value)
    showToast(done ? 'copied' : 'failed')
    start()
    if (done) onCopied?.()
  }
  const words = told === 'copied' ? 'Copied' : told === 'failed' ? 'Select the text and copy it by hand' : label
  const icon = told === 'copied' ? <Check size={16} /> : told === 'failed' ? <X size={16} /> : <Copy size={16} />
  return (
    <>
      {isWide ? (
        <Button variant="default" leftSection={icon} onClick={() => void copy()}>
          {words}
        </Button>
      ) : (
        <Hint<HTMLButtonElement> label={words}>
          {(spot) => (
            <ActionIcon
              {...spot}
              {...(isPageId ? { 'data-copy-id': '' } : {})}
              variant="subtle"
              color="gray"
              size="md"
              aria-label={label}
              onClick={() => void copy()}
            >
              {icon}
            </ActionIcon>
          )}
        </Hint>
      )}
      <VisuallyHidden component="span" role="status">
        {told ? words : ''}
      </VisuallyHidden>
    </>
  )
}
