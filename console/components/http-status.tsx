import { Text } from '@mantine/core'
import { Hint } from './hint.tsx'

interface HttpStatusProps {
  readonly status: number
  /** With its name beside it, where a person waits for the answer. */
  readonly isNamed?: boolean
}

/** An HTTP status, its name as a hint. It has no colour: whether a message was sent is shown by its state. */
export function HttpStatus({ status, isNamed = false }: HttpStatusProps) {
  const name = `${status} ${HTTP_NAMES[status] ?? ''}`.trim()
  return (
    <Hint<HTMLParagraphElement> label={`HTTP ${name}`}>
      {(spot) => (
        <Text
          span
          size="sm"
          {...spot}
          {...(status < 400 ? { c: 'dimmed' } : { fw: 600 })}
          style={{ fontVariantNumeric: 'tabular-nums' }}
        >
          {isNamed ? name : status}
        </Text>
      )}
    </Hint>
  )
}

const HTTP_NAMES: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Access denied',
  404: 'Not found',
  408: 'Too slow',
  413: 'Too large',
  429: 'Too many',
  431: 'Header too large',
  500: 'Internal error',
  503: 'Unavailable',
}
