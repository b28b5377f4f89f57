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
  /** A button with its label; otherwise an icon. */
  readonly isWide?: boolean
  readonly onCopied?: () => void
  /** The main id of the page: the key `c` copies it. */
  readonly isPageId?: boolean
}

const SHOWN_FOR_MS = 2_000

export function CopyButton({ value, label, isWide = false, onCopied, isPageId = false }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'failed' | null>(null)
  const { start } = useTimeout(() => setResult(null), SHOWN_FOR_MS)
  const copy = async () => {
    const done = await copyText(value)
    setResult(done ? 'copied' : 'failed')
    start()
    if (done) onCopied?.()
  }
  const words = result === 'copied' ? 'Copied' : result === 'failed' ? 'Select the text and copy it by hand' : label
  const icon = result === 'copied' ? <Check size={16} /> : result === 'failed' ? <X size={16} /> : <Copy size={16} />
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
        {result ? words : ''}
      </VisuallyHidden>
    </>
  )
}
