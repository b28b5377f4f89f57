import { CONNECTION_NAME } from './form-rules.ts'
import { oneLine } from './one-line-text.ts'

/** Empty: none. */
export const connectionName = oneLine(CONNECTION_NAME)
