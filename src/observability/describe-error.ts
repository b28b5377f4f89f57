/** What the log keeps of an error. */
interface DescribedError {
  readonly type: string
  readonly message: string
  readonly code?: string
  /** Where it was thrown, one call in a line. */
  readonly stack?: string
  readonly cause?: DescribedError
}

const DEEPEST_CAUSE = 5

// Codes of PostgreSQL for values that do not fit, and for broken constraints. The texts of these errors quote the values.
const QUOTES_VALUES = /^2[23]/

/**
 * An error as the log may hold it: its own words, its code, where it came from and what caused it, and none of its other
 * properties. PostgreSQL puts the row into `detail`, Node the text of a URL into `input`, and both may be a customer's.
 */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'Something was thrown that is no error.' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  const stack = framesOf(error)
  return {
    type: error.name,
    message: messageOf(error, code),
    ...(code === null ? {} : { code }),
    ...(stack === '' ? {} : { stack }),
    ...(error.cause === undefined || depth === DEEPEST_CAUSE ? {} : { cause: describeError(error.cause, depth + 1) }),
  }
}

function messageOf(error: Error, code: string | null): string {
  // "Unexpected token h, "hello"… is not valid JSON": of whatever was to be read.
  if (error instanceof SyntaxError)
    return 'A text could not be read; its words are left out, because they may quote it.'
  const isOfPostgres = 'severity' in error && code !== null
  return isOfPostgres && QUOTES_VALUES.test(code)
    ? 'PostgreSQL refused a value; its words are left out, because they may quote it.'
    : error.message
}

/** Without the first lines, which say the message again. */
function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .join('\n')
}
