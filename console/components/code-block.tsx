import { Box, Group, Paper, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import classes from './code-block.module.css'
import { CopyButton } from './copy-button.tsx'
import { loadLater } from './load-later.ts'

type CodeLanguage = 'bash' | 'json' | 'javascript' | 'python' | 'php' | 'text'

interface CodeBlockProps {
  readonly code: string
  readonly language?: CodeLanguage
  /** A description for screen readers: "The request as curl". */
  readonly label: string
  readonly maxHeight?: number
  readonly onCopied?: () => void
}

/** Code to read and copy. Colours come a little later, so that no page waits for the highlighter. */
export function CodeBlock({ code, language = 'text', label, maxHeight, onCopied }: CodeBlockProps) {
  const html = useHighlighted(code, language)
  return (
    <Paper withBorder className={classes['block'] ?? ''}>
      <Group justify="space-between" px="sm" py={4} className={classes['head'] ?? ''}>
        <Text size="xs" c="dimmed">
          {label}
        </Text>
        <CopyButton value={code} label={`Copy: ${label}`} {...(onCopied ? { onCopied } : {})} />
      </Group>
      {/* It scrolls, so the keyboard must be able to stand in it. */}
      <Box
        component="pre"
        className={classes['code'] ?? ''}
        tabIndex={0}
        role="group"
        aria-label={label}
        {...(maxHeight === undefined ? {} : { mah: maxHeight })}
      >
        {html === null ? (
          <code>{code}</code>
        ) : (
          // The highlighter escapes all text before it adds its tags.
          // biome-ignore lint/security/noDangerouslySetInnerHtml: see above
          <code dangerouslySetInnerHTML={{ __html: html }} />
        )}
      </Box>
    </Paper>
  )
}

function useHighlighted(code: string, language: CodeLanguage): string | null {
  const [html, setHtml] = useState<string | null>(null)
  useEffect(() => {
    let isWanted = true
    setHtml(null)
    if (language !== 'text') {
      void loadLater(() => import('./highlight.ts')).then(({ highlight }) => {
        if (isWanted) setHtml(highlight(code, language))
      })
    }
    return () => {
      isWanted = false
    }
  }, [code, language])
  return html
}
