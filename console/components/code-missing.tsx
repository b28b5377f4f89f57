import { Alert, Button, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { CODE_MISSING } from './load-later.ts'

// Above dialogs, because a dialog may be missing the code.
const ABOVE_ALL = 500

/** Shown when code of an open page can no longer be loaded. */
export function CodeMissing() {
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    const onMissing = () => setMissing(true)
    window.addEventListener(CODE_MISSING, onMissing)
    return () => window.removeEventListener(CODE_MISSING, onMissing)
  }, [])
  if (!isMissing) return null
  return (
    <Alert
      color="yellow"
      variant="filled"
      icon={<TriangleAlert aria-hidden />}
      title="A part of this page could not be loaded"
      role="alert"
      pos="fixed"
      bottom={16}
      left={16}
      maw="calc(100vw - 32px)"
      style={{ zIndex: ABOVE_ALL }}
    >
      <Text size="sm">Nuncio may have been updated since you opened this page. Load it again to go on.</Text>
      <Button mt="xs" size="compact-sm" variant="default" onClick={() => location.reload()}>
        Load again
      </Button>
    </Alert>
  )
}
